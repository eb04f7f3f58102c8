// The kinds that this controller serves: JWKSConfig, and JWKS as rieset/jwks-operator defined it.
import {
  ageColumn,
  conditionColumn,
  conditionsSchema,
  dateTime,
  type DeepReadonly,
  defineCustomKind,
  duration,
  looseDuration,
  objectName,
  type ObjectOf,
  quantity,
  reasonColumn,
} from "@keyturn/runtime";
import * as z from "zod";
import { jwksConfigKind } from "../../key-publication.ts";
import { signatureAlgorithms } from "../../public-key.ts";
import { keyIdSchemes } from "./jwk.ts";

/** Revokes keys, separated by commas: their `kid`s, thumbprints, or the fingerprints of their certificates. On either kind. */
export const revokeAnnotation = "keyturn.io/revoke";

/** On a JWKS, whose schema has no fields for them: `keyId` and `algorithm` of a JWKSConfig. */
export const keyIdAnnotation = "keyturn.io/key-id";
export const algorithmAnnotation = "keyturn.io/algorithm";

/** What a ConfigMap of others must be labelled with, to be merged: `"true"`. */
export const mergedLabel = "keyturn.io/jwks-source";

/** An origin (RFC 6454) as browsers send it. Nothing that it allows has a meaning in an nginx string. */
export const originPattern = /^https?:\/\/[A-Za-z0-9.-]+(:[0-9]{1,5})?$/;

const updateStrategy = z
  .enum(["rolling", "immediate"])
  .default("rolling")
  .describe("rolling adds a new key and keeps the replaced one for oldKeysTTL; immediate does not keep it. Keys that are retiring keep their date.");
const keepOldKeys = z.boolean().default(true).describe("Whether a rolling update keeps the replaced key. Keys that are retiring keep their date.");
const endpoint = z
  .string()
  .max(1024)
  .default("/jwks.json")
  .describe("The path that clients are told to use. For information only: the document is served on every path.");

const resourceAmounts = z.record(z.string(), quantity());

const nginx = z
  .object({
    image: z
      .string()
      .min(1)
      .max(1024)
      .optional()
      .describe("An nginx image that runs as a user other than root, one of those that the installation allows. Default: the installation's."),
    replicas: z
      .int()
      .min(0)
      .max(100)
      .optional()
      .describe("How many pods serve the document, up to the installation's limit. Default 1, or the installation's."),
    resources: z
      .object({ requests: resourceAmounts.optional(), limits: resourceAmounts.optional() })
      .optional()
      .describe(
        "The container's resources, up to the installation's limits. Default: requests 50m and 64Mi, limits 200m and 128Mi, or the installation's.",
      ),
    cacheSeconds: z
      .int()
      .min(0)
      .max(31_536_000)
      .optional()
      .describe(
        "How long clients may keep the document, and oldKeysTTL at most; without nginx, how long whoever reads the ConfigMap does. Default 3600, or the installation's.",
      ),
    corsOrigins: z
      .array(
        z
          .string()
          .max(300)
          .regex(new RegExp(`^[*]$|${originPattern.source}`)),
      )
      .max(64)
      .optional()
      .describe("Origins whose pages may read the document; case does not matter. Default: all (*)."),
    tlsSecret: objectName()
      .optional()
      .describe(
        "The Secret with the server's certificate (tls.crt, tls.key): the document is served by HTTPS, on port 443 of the Service. Default: HTTP, on port 80.",
      ),
  })
  .describe("How the document is served.");

const jwksConfigSpec = z
  .object({
    certificateSecret: objectName().describe(
      "The Secret with the certificate of the key that signs, in tls.crt; or with a public key in tls.pub or public.pem, or a certificate in ca.crt.",
    ),
    certificateSecrets: z
      .array(objectName())
      .max(64)
      .optional()
      .meta({ listType: "set" })
      .describe("More Secrets whose keys are published too, such as the next certificate before it signs."),
    mergedConfigMaps: z
      .array(objectName())
      .max(16)
      .optional()
      .meta({ listType: "set" })
      .describe('ConfigMaps of others with a JWKS under jwks.json whose keys are published too. They need the label keyturn.io/jwks-source: "true".'),
    configMapName: objectName().describe("The ConfigMap to publish in, under the key jwks.json."),
    nginxConfigMapName: objectName()
      .optional()
      .describe("The ConfigMap for nginx's configuration. Given: the document is served by nginx; absent: it is not."),
    endpoint,
    updateStrategy,
    keepOldKeys,
    oldKeysTTL: duration()
      .default("720h")
      .describe("How long a key stays published after it was replaced. Counts for keys that are replaced from then on. At most 876000h (100 years)."),
    cleanupOnDelete: z.boolean().default(false).describe("Whether the published ConfigMap goes when this object is deleted."),
    algorithm: z
      .enum(signatureAlgorithms)
      .optional()
      .describe(
        "The alg of the keys. Default: RS256 for RSA, PS256 for RSA-PSS, ES256, ES384 or ES512 for EC by curve, EdDSA for Ed25519. " +
          "A change counts as a new key: the entry with the old one stays for oldKeysTTL.",
      ),
    issuer: z
      .string()
      .max(512)
      .regex(/^https?:\/\/[A-Za-z0-9.-]+(:[0-9]{1,5})?(\/[A-Za-z0-9._~-]+)*$/)
      .optional()
      .describe("The issuer of the tokens, as an address: an OpenID discovery document is served at /.well-known/openid-configuration."),
    keyId: z
      .enum(keyIdSchemes)
      .default("Thumbprint")
      .describe("Thumbprint: the kid is the key's RFC 7638 thumbprint. CertificateSHA1: the first 16 hex digits of the certificate's SHA-1."),
    maxKeys: z.int().min(1).max(1000).optional().describe("When a new key comes: beyond so many keys, those that were replaced first go before their time."),
    nginx: nginx.optional(),
  })
  .meta({
    cel: [
      {
        rule: "!has(self.nginxConfigMapName) || self.nginxConfigMapName != self.configMapName",
        message: "nginxConfigMapName and configMapName must differ",
      },
    ],
  });

/** The schema of rieset/jwks-operator: no validation of names and durations but that oldKeysTTL has a longest, and three intervals that nothing needs any more, because Secrets are watched. */
const jwksSpec = z.object({
  certificateSecret: z.string().describe("The Secret with the certificate."),
  configMapName: z.string().describe("The ConfigMap to publish in."),
  nginxConfigMapName: z.string().optional().describe("The ConfigMap for nginx's configuration."),
  endpoint,
  updateStrategy,
  keepOldKeys,
  oldKeysTTL: looseDuration()
    .default("720h")
    .describe("How long a key stays published after it was replaced. Counts for keys that are replaced from then on. At most 876000h (100 years)."),
  reconcileInterval: z.string().optional().describe("Accepted and not needed: changes are seen at once."),
  jwksUpdateInterval: z.string().optional().describe("Accepted and not needed: changes are seen at once."),
  jwksVerificationInterval: z.string().optional().describe("Accepted and not needed: what is published is checked before."),
});

/**
 * What is reported about one key. The status is where the history of keys is kept: the ConfigMap is made from it, and a key that is to be published is here
 * before it is there.
 */
export const keyStatusSchema = z.object({
  kid: z.string().describe("The key's identifier in the document."),
  state: z
    .enum(["Active", "Retiring", "Pending"])
    .describe("Active: a source holds it. Retiring: it was replaced and is kept for tokens that it signed. Pending: it is published next."),
  source: z.string().describe("The Secret that it came from."),
  since: dateTime().describe("When it was first published; of one that is Pending, when it was first seen."),
  availableSince: dateTime()
    .optional()
    .describe(
      "Since when whoever asks gets it: from the ConfigMap and, if nginx was asked for, from every pod. Absent if that is not so, or not known.",
    ),
  replacedAt: dateTime().optional().describe("When it was replaced."),
  removeAt: dateTime().optional().describe("When it goes."),
  certificateExpires: dateTime().optional().describe("When its certificate expires. Absent if it has none."),
  algorithm: z.string().optional().describe("Its alg. Absent if the document that it was taken over from gave none."),
  thumbprint: z.string().optional().describe("The RFC 7638 thumbprint of the key itself."),
  certificates: z.array(z.string()).min(1).optional().meta({ listType: "atomic" }).describe("Its certificate and chain, as in x5c."),
  publicKey: z
    .object({
      kty: z.string(),
      n: z.string().optional(),
      e: z.string().optional(),
      crv: z.string().optional(),
      x: z.string().optional(),
      y: z.string().optional(),
    })
    .optional()
    .describe("The key as a JWK, if it has no certificate."),
});

export type KeyStatus = DeepReadonly<z.infer<typeof keyStatusSchema>>;

const status = z.object({
  observedGeneration: z.int().optional().describe("The generation that this status is about."),
  conditions: conditionsSchema.optional(),
  lastUpdateTime: dateTime().optional().describe("When the ConfigMap was last changed."),
  lastKeyID: z.string().optional().describe("The kid of the key that signs."),
  keyCount: z.int().optional().describe("How many keys are published."),
  nextRemoval: dateTime().optional().describe("When the next key goes."),
  nginxConfigUpdated: dateTime().optional().describe("When nginx's configuration was last changed."),
  cacheSeconds: z
    .int()
    .optional()
    .describe("For how long somebody may keep an older document. One that was longer counts until all that was handed out with it is over."),
  revision: z.int().optional().describe("Counts the changes of the published keys."),
  keys: z.array(keyStatusSchema).optional().meta({ listType: "atomic" }).describe("Every key that is published, and those that are about to be."),
  revoked: z
    .array(
      z.object({
        name: z.string().describe("What the annotation keyturn.io/revoke names."),
        thumbprint: z.string().describe("The RFC 7638 thumbprint of the key that it means."),
      }),
    )
    .optional()
    .meta({ listType: "atomic" })
    .describe("Which keys are revoked."),
});

/** What rieset/jwks-operator reports besides. It cannot be taken out of a status that it wrote, so it is passed on. */
const riesetStatus = status.extend({ jwksVerified: dateTime().optional().describe("Kept for those who read it; not set.") });

/** What both kinds report. */
export type JwksStatus = DeepReadonly<z.infer<typeof riesetStatus>>;

export const JWKSConfig = defineCustomKind({
  group: jwksConfigKind.group,
  kind: jwksConfigKind.kind,
  plural: jwksConfigKind.plural,
  shortNames: ["jwkc"],
  scope: "Namespaced",
  categories: ["keyturn"],
  versions: [
    {
      name: jwksConfigKind.version,
      description: "Publishes the public keys of certificates as a JWKS, and keeps replaced keys for as long as tokens need them.",
      spec: jwksConfigSpec,
      status,
      columns: [
        conditionColumn("Ready"),
        { name: "Keys", type: "integer", jsonPath: ".status.keyCount", description: "Keys that are published" },
        // A column of type date shows how long ago something was, and "<invalid>" for what is still to come.
        { name: "Next removal", type: "string", jsonPath: ".status.nextRemoval", description: "When the next key goes" },
        reasonColumn("Ready"),
        { name: "Key ID", type: "string", jsonPath: ".status.lastKeyID", description: "The key that signs", priority: 1 },
        { name: "ConfigMap", type: "string", jsonPath: ".spec.configMapName", description: "Where the keys are published", priority: 1 },
        ageColumn,
      ],
    },
  ],
});
export type JWKSConfig = ObjectOf<typeof JWKSConfig>;

export const JWKS = defineCustomKind({
  group: "rieset.io",
  kind: "JWKS",
  plural: "jwks",
  singular: "jwks",
  shortNames: ["jwks"],
  scope: "Namespaced",
  categories: ["keyturn"],
  versions: [
    {
      name: "v1alpha1",
      description: "The kind of rieset/jwks-operator, served as it is.",
      spec: jwksSpec,
      status: riesetStatus,
      columns: [
        { name: "Secret", type: "string", jsonPath: ".spec.certificateSecret" },
        { name: "ConfigMap", type: "string", jsonPath: ".spec.configMapName" },
        conditionColumn("Ready"),
        reasonColumn("Ready", { priority: 1 }),
        { name: "Next removal", type: "string", jsonPath: ".status.nextRemoval", description: "When the next key goes", priority: 1 },
        ageColumn,
      ],
    },
  ],
});
export type JWKS = ObjectOf<typeof JWKS>;
