// What an object of either kind asks for, in one form, with every default filled in and every value read.
import { parseStoredDuration } from "@keyturn/runtime";
import { algorithmAnnotation, type JWKS, type JWKSConfig, keyIdAnnotation, revokeAnnotation } from "./api.ts";
import type { HistoryRules } from "./key-history.ts";
import type { NginxAnswers, NginxPods } from "./nginx.ts";
import { isSignatureAlgorithm, type KeyIdScheme, keyIdSchemes, type SignatureAlgorithm } from "./jwk.ts";

/** Everything that the plan needs to know of a spec. */
export interface JwksSettings {
  /** Names of Secrets, the one whose key signs first; none twice. */
  readonly sources: readonly [string, ...string[]];
  readonly configMapName: string;
  readonly cleanupOnDelete: boolean;
  readonly oldKeys: HistoryRules["oldKeys"];
  readonly maxKeys: number | undefined;
  readonly revoked: ReadonlySet<string>;
  readonly keyId: KeyIdScheme;
  /** The algorithm that was asked for; undefined for the usual one of each kind of key. */
  readonly algorithm: SignatureAlgorithm | undefined;
  /** The usual one of RSA keys. */
  readonly rsaAlgorithm: SignatureAlgorithm;
  readonly nginx: NginxSettings | undefined;
}

/** How the JWKS document is served. */
interface NginxSettings extends NginxAnswers {
  readonly configMapName: string;
  readonly pods: NginxPods;
}

/** A spec that was read, or what is wrong with it. */
export type SettingsResult = { readonly ok: true; readonly settings: JwksSettings } | { readonly ok: false; readonly message: string };

/** The image when none is asked for. Its user is not root and its port is 8080. */
const defaultImage = "docker.io/nginxinc/nginx-unprivileged:1.30.5-alpine";

const defaultPods: NginxPods = {
  image: defaultImage,
  replicas: 1,
  resources: { requests: { cpu: "50m", memory: "64Mi" }, limits: { cpu: "200m", memory: "128Mi" } },
};
const defaultAnswers: NginxAnswers = { cacheSeconds: 3600, corsOrigins: ["*"] };

/** The settings of a JWKSConfig. */
export function settingsOfJwksConfig({ metadata, spec }: JWKSConfig): SettingsResult {
  const { cacheSeconds, corsOrigins, image, replicas, resources } = spec.nginx ?? {};
  return checked(spec, {
    sources: [spec.certificateSecret, ...new Set(spec.certificateSecrets?.filter((name) => name !== spec.certificateSecret))],
    cleanupOnDelete: spec.cleanupOnDelete,
    maxKeys: spec.maxKeys,
    revoked: revokedKids(metadata.annotations?.[revokeAnnotation]),
    keyId: spec.keyId,
    algorithm: spec.algorithm,
    rsaAlgorithm: "RS256",
    nginx: {
      cacheSeconds: cacheSeconds ?? defaultAnswers.cacheSeconds,
      corsOrigins: corsOrigins ?? defaultAnswers.corsOrigins,
      pods: {
        image: image ?? defaultPods.image,
        replicas: replicas ?? defaultPods.replicas,
        resources: resources ? withoutUndefined(resources) : defaultPods.resources,
      },
    },
  });
}

/**
 * The settings of a JWKS. What is not in its schema is as rieset/jwks-operator does it, so that nothing changes for those who verify tokens:
 * `kid` from the certificate, RS512 for RSA, the ConfigMap left behind. Annotations change the first two.
 */
export function settingsOfJwks({ metadata, spec }: JWKS): SettingsResult {
  const { [keyIdAnnotation]: keyId = "CertificateSHA1", [algorithmAnnotation]: algorithm, [revokeAnnotation]: revoked } = metadata.annotations ?? {};
  const scheme = keyIdSchemes.find((known) => known === keyId);
  if (!scheme) return refused(`the annotation ${keyIdAnnotation} must be one of ${keyIdSchemes.join(", ")}`);
  if (algorithm !== undefined && !isSignatureAlgorithm(algorithm))
    return refused(`the annotation ${algorithmAnnotation} is not an algorithm such as RS256`);
  return checked(spec, {
    sources: [spec.certificateSecret],
    cleanupOnDelete: false,
    maxKeys: undefined,
    revoked: revokedKids(revoked),
    keyId: scheme,
    algorithm,
    rsaAlgorithm: "RS512",
    nginx: { ...defaultAnswers, pods: defaultPods },
  });
}

/** Reads what both specs have, and checks what a schema may have let through: that of JWKS checks nothing. */
function checked(
  spec: JWKSConfig["spec"] | JWKS["spec"],
  rest: Omit<JwksSettings, "configMapName" | "oldKeys" | "nginx"> & { readonly nginx: Omit<NginxSettings, "configMapName"> },
): SettingsResult {
  const { certificateSecret, configMapName, nginxConfigMapName = "" } = spec;
  if (!certificateSecret) return refused("certificateSecret is empty; name the Secret with the certificate");
  if (!configMapName) return refused("configMapName is empty; name the ConfigMap to publish in");
  if (nginxConfigMapName === configMapName) return refused("nginxConfigMapName and configMapName must differ");
  const ttlMs = readDuration(spec.oldKeysTTL);
  if (ttlMs === undefined) return refused(`oldKeysTTL "${spec.oldKeysTTL}" is not a duration such as 720h or 1h30m`);
  const keep = spec.updateStrategy === "rolling" && spec.keepOldKeys && ttlMs > 0;
  return {
    ok: true,
    settings: {
      ...rest,
      configMapName,
      oldKeys: keep ? { type: "keep", ttlMs } : { type: "replace" },
      nginx: nginxConfigMapName ? { ...rest.nginx, configMapName: nginxConfigMapName } : undefined,
    },
  };
}

function refused(message: string): SettingsResult {
  return { ok: false, message };
}

function readDuration(text: string): number | undefined {
  try {
    return parseStoredDuration(text);
  } catch {
    // What is wrong with it is said in the words of this controller.
    return undefined;
  }
}

/** The kids in the annotation that revokes keys. */
export function revokedKids(annotation = ""): ReadonlySet<string> {
  const kids = annotation.split(",").map((kid) => kid.trim());
  return new Set(kids.filter((kid) => kid !== ""));
}

/** Leaves out members that are undefined, which the types of objects to be written do not allow. */
function withoutUndefined({ requests, limits }: { requests?: Resources | undefined; limits?: Resources | undefined }): NginxPods["resources"] {
  return { ...(requests && { requests }), ...(limits && { limits }) };
}

type Resources = Readonly<Record<string, string | number>>;
