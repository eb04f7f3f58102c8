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
import { originPattern } from "./nginx.ts";
import { keyIdSchemes, signatureAlgorithms } from "./jwk.ts";

/** Revokes keys: their `kid`s, separated by commas. On either kind. */
export const revokeAnnotation = "keyturn.io/revoke";

/** On a JWKS, whose schema has no fields for them: `keyId` and `algorithm` of a JWKSConfig. */
export const keyIdAnnotation = "keyturn.io/key-id";
export const algorithmAnnotation = "keyturn.io/algorithm";

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
      .describe("An nginx image that runs as a user other than root. Default: a pinned nginx-unprivileged."),
    replicas: z.int().min(0).max(100).optional().describe("How many pods serve the document. Default 1."),
    resources: z
      .object({ requests: resourceAmounts.optional(), limits: resourceAmounts.optional() })
      .optional()
      .describe("The container's resources. Default: requests 50m and 64Mi, limits 200m and 128Mi."),
    cacheSeconds: z.int().min(0).max(31_536_000).optional().describe("How long clients may keep the document. Default 3600."),
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
  })
  .describe("How the document is served.");

const jwksConfigSpec = z
  .object({
    certificateSecret: objectName().describe("The Secret with the certificate (tls.crt) of the key that signs."),
    certificateSecrets: z
      .array(objectName())
      .max(64)
      .optional()
      .meta({ listType: "set" })
      .describe("More Secrets whose keys are published too, such as the next certificate before it signs."),
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
      .describe("The alg of the keys. Default: RS256 for RSA, ES256, ES384 or ES512 for EC by curve, EdDSA for Ed25519."),
    keyId: z
      .enum(keyIdSchemes)
      .default("Thumbprint")
      .describe("Thumbprint: the kid is the key's RFC 7638 thumbprint. CertificateSHA1: the first 16 hex digits of the certificate's SHA-1."),
    maxKeys: z.int().min(1).max(1000).optional().describe("Beyond so many keys, those that were replaced first go before their time."),
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

/** What is reported about one key. With its certificates it is also the second copy of the history, from which a lost ConfigMap is rebuilt. */
export const keyStatusSchema = z.object({
  kid: z.string().describe("The key's identifier in the document."),
  state: z.enum(["Active", "Retiring"]).describe("Active: a Secret holds it. Retiring: it was replaced and is kept for tokens that it signed."),
  source: z.string().describe("The Secret that it came from."),
  since: dateTime().describe("When it was first published."),
  replacedAt: dateTime().optional().describe("When it was replaced."),
  removeAt: dateTime().optional().describe("When it goes."),
  certificateExpires: dateTime().describe("When its certificate expires."),
  algorithm: z.enum(signatureAlgorithms).describe("Its alg."),
  certificates: z.array(z.string()).min(1).meta({ listType: "atomic" }).describe("Its certificate and chain, as in x5c."),
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
  revision: z.int().optional().describe("Counts the changes of the published keys."),
  keys: z.array(keyStatusSchema).optional().meta({ listType: "atomic" }).describe("Every key that is published."),
});

/** What rieset/jwks-operator reports besides. It cannot be taken out of a status that it wrote, so it is passed on. */
const riesetStatus = status.extend({ jwksVerified: dateTime().optional().describe("Kept for those who read it; not set.") });

/** What both kinds report. */
export type JwksStatus = DeepReadonly<z.infer<typeof riesetStatus>>;

export const JWKSConfig = defineCustomKind({
  group: "keyturn.io",
  kind: "JWKSConfig",
  plural: "jwksconfigs",
  shortNames: ["jwkc"],
  scope: "Namespaced",
  categories: ["keyturn"],
  versions: [
    {
      name: "v1alpha1",
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
