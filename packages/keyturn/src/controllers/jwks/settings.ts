// What an object of either kind asks for, in one form, with every default filled in and every value read.
import { type DecodedObject, type KubeObject, parseStoredDuration } from "@keyturn/runtime";
import { isSignatureAlgorithm, type SignatureAlgorithm } from "../../public-key.ts";
import { algorithmAnnotation, type JWKS, type JWKSConfig, keyIdAnnotation } from "./api.ts";
import { type NginxInstallation, type Quantities, quantityOf } from "./flags.ts";
import { type KeyIdScheme, keyIdSchemes } from "./jwk.ts";
import type { HistoryRules } from "./key-history.ts";
import type { NginxAnswers, NginxPods } from "./nginx.ts";

/** Everything that the plan needs to know of a spec. */
export interface JwksSettings {
  /** Names of Secrets, the one whose key signs first; none twice. */
  readonly sources: readonly [string, ...string[]];
  /** Names of ConfigMaps of others whose keys are published too. */
  readonly mergedConfigMaps: readonly string[];
  readonly configMapName: string;
  readonly cleanupOnDelete: boolean;
  readonly oldKeys: HistoryRules["oldKeys"];
  readonly maxKeys: number | undefined;
  readonly keyId: KeyIdScheme;
  /** The algorithm that was asked for; undefined for the usual one of each kind of key. */
  readonly algorithm: SignatureAlgorithm | undefined;
  /** The usual one of RSA keys. */
  readonly rsaAlgorithm: SignatureAlgorithm;
  /** Whose keys these are, for those who look for them by OpenID Connect Discovery. */
  readonly issuer: string | undefined;
  /** For how long somebody may keep the document. */
  readonly cacheSeconds: number;
  readonly nginx: NginxSettings | undefined;
}

/** How the JWKS document is served. */
export interface NginxSettings {
  /** Of the Deployment and the Service. */
  readonly name: string;
  readonly configMapName: string;
  /** The Secret with the certificate of the server; undefined for plain HTTP. */
  readonly tlsSecret: string | undefined;
  readonly answers: NginxAnswers;
  readonly pods: NginxPods;
  /** What is asked for and not allowed in this installation; undefined if all is. */
  readonly notAllowed: string | undefined;
}

/** A spec that was read, or what is wrong with it. */
export type SettingsResult = { readonly ok: true; readonly settings: JwksSettings } | { readonly ok: false; readonly message: string };

/** What of a spec is about nginx. */
type NginxSpec = NonNullable<JWKSConfig["spec"]["nginx"]>;

/** The settings of a JWKSConfig. */
export function settingsOfJwksConfig({ metadata, spec }: JWKSConfig, installation: NginxInstallation): SettingsResult {
  return checked(
    { metadata, spec, nginx: spec.nginx ?? {}, installation },
    {
      sources: [spec.certificateSecret, ...new Set(spec.certificateSecrets?.filter((name) => name !== spec.certificateSecret))],
      mergedConfigMaps: spec.mergedConfigMaps ?? [],
      cleanupOnDelete: spec.cleanupOnDelete,
      maxKeys: spec.maxKeys,
      keyId: spec.keyId,
      algorithm: spec.algorithm,
      rsaAlgorithm: "RS256",
      issuer: spec.issuer,
    },
  );
}

/**
 * The settings of a JWKS. What is not in its schema is as rieset/jwks-operator does it, so that nothing changes for those who verify tokens:
 * `kid` from the certificate, RS512 for RSA, the ConfigMap left behind. Annotations change the first two.
 */
export function settingsOfJwks({ metadata, spec }: JWKS, installation: NginxInstallation): SettingsResult {
  const { [keyIdAnnotation]: keyId = "CertificateSHA1", [algorithmAnnotation]: algorithm } = metadata.annotations ?? {};
  const scheme = keyIdSchemes.find((known) => known === keyId);
  if (!scheme) return refused(`the annotation ${keyIdAnnotation} must be one of ${keyIdSchemes.join(", ")}`);
  if (algorithm !== undefined && !isSignatureAlgorithm(algorithm))
    return refused(`the annotation ${algorithmAnnotation} is not an algorithm such as RS256`);
  return checked(
    { metadata, spec, nginx: {}, installation },
    {
      sources: [spec.certificateSecret],
      mergedConfigMaps: [],
      cleanupOnDelete: false,
      maxKeys: undefined,
      keyId: scheme,
      algorithm,
      rsaAlgorithm: "RS512",
      issuer: undefined,
    },
  );
}

interface Asked {
  readonly metadata: JWKSConfig["metadata"];
  readonly spec: JWKSConfig["spec"] | JWKS["spec"];
  readonly nginx: NginxSpec;
  readonly installation: NginxInstallation;
}

/** Reads what both specs have, and checks what a schema may have let through: that of JWKS checks nothing. */
function checked(asked: Asked, rest: Omit<JwksSettings, "configMapName" | "oldKeys" | "cacheSeconds" | "nginx">): SettingsResult {
  const { spec } = asked;
  const { certificateSecret, configMapName, nginxConfigMapName = "" } = spec;
  if (!certificateSecret) return refused("certificateSecret is empty; name the Secret with the certificate");
  if (!configMapName) return refused("configMapName is empty; name the ConfigMap to publish in");
  if (nginxConfigMapName === configMapName) return refused("nginxConfigMapName and configMapName must differ");
  if (rest.mergedConfigMaps.some((name) => name === configMapName || name === nginxConfigMapName))
    return refused("mergedConfigMaps names a ConfigMap that this object writes itself");
  const ttlMs = readDuration(spec.oldKeysTTL);
  if (ttlMs === undefined) return refused(`oldKeysTTL "${spec.oldKeysTTL}" is not a duration such as 720h or 1h30m`);
  const keep = spec.updateStrategy === "rolling" && spec.keepOldKeys && ttlMs > 0;
  const oldKeys = keep ? ({ type: "keep", ttlMs } as const) : ({ type: "replace" } as const);
  const wantedSeconds = asked.nginx.cacheSeconds ?? asked.installation.cacheSeconds;
  // Nobody needs a document for longer than a key stays in it after it was replaced.
  const cacheSeconds = keep ? Math.min(wantedSeconds, Math.floor(ttlMs / 1000)) : wantedSeconds;
  return {
    ok: true,
    settings: {
      ...rest,
      configMapName,
      oldKeys,
      cacheSeconds,
      nginx: nginxConfigMapName
        ? nginxSettings(asked, { configMapName: nginxConfigMapName, cacheSeconds, hasIssuer: rest.issuer !== undefined })
        : undefined,
    },
  };
}

function nginxSettings(
  { metadata, nginx, installation }: Asked,
  { configMapName, cacheSeconds, hasIssuer }: { readonly configMapName: string; readonly cacheSeconds: number; readonly hasIssuer: boolean },
): NginxSettings {
  const { nodeSelector, tolerations, serviceType, ipFamily } = installation;
  return {
    name: `${metadata.name ?? ""}${installation.nameSuffix}`,
    configMapName,
    tlsSecret: nginx.tlsSecret,
    answers: {
      cacheSeconds,
      corsOrigins: nginx.corsOrigins ?? ["*"],
      discovery: hasIssuer,
      tls: nginx.tlsSecret !== undefined,
      ipFamily,
    },
    pods: {
      image: nginx.image ?? installation.image,
      replicas: nginx.replicas ?? installation.replicas,
      resources: nginx.resources ? withoutUndefined(nginx.resources) : installation.resources,
      nodeSelector,
      tolerations,
      serviceType,
    },
    notAllowed: notAllowed(nginx, installation),
  };
}

/** Whoever may write a JWKSConfig is not thereby allowed to run any image, in any number, with any device. */
function notAllowed({ image, replicas, resources }: NginxSpec, installation: NginxInstallation): string | undefined {
  const { serves, allowedImages, maxReplicas, maxResources } = installation;
  if (!serves)
    return "this installation publishes documents and does not serve them; switch that on with --jwks.serving (chart: controllers.jwks.serving), or leave nginxConfigMapName out";
  if (image !== undefined && ![installation.image, ...allowedImages].includes(image)) {
    return `the image ${image} is not allowed in this installation; ${[installation.image, ...allowedImages].join(", ")} are (--jwks.nginx-allowed-images)`;
  }
  if (replicas !== undefined && replicas > maxReplicas) return `${replicas} replicas are more than the ${maxReplicas} that are allowed`;
  for (const [resource, quantity] of [...Object.entries(resources?.requests ?? {}), ...Object.entries(resources?.limits ?? {})]) {
    const most = Object.hasOwn(maxResources, resource) ? maxResources[resource] : undefined;
    if (most === undefined) return `the resource ${resource} may not be asked for; ${Object.keys(maxResources).join(", ")} may`;
    const isTooMuch = (quantityOf(quantity) ?? Number.POSITIVE_INFINITY) > (quantityOf(most) ?? 0);
    if (isTooMuch) return `${resource} ${quantity} is more than the ${most} that is allowed`;
  }
  return undefined;
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

/** Leaves out members that are undefined, which the types of objects to be written do not allow. */
function withoutUndefined({ requests, limits }: NonNullable<NginxSpec["resources"]>): NginxPods["resources"] {
  return { ...(requests && { requests }), ...(limits && { limits }) } satisfies { requests?: Quantities; limits?: Quantities };
}

/** Reads an object that the API server may have checked against an older CRD, with defaults filled in. */
export function decoded<T>(
  decode: (object: KubeObject) => DecodedObject<T>,
  read: (object: T, installation: NginxInstallation) => SettingsResult,
  installation: NginxInstallation,
): (object: KubeObject) => SettingsResult {
  // A cache hands out the same object until it changes, and an object is looked at several times for each change.
  const known = new WeakMap<KubeObject, SettingsResult>();
  const settingsOf = (object: KubeObject): SettingsResult => {
    const result = decode(object);
    return result.ok ? read(result.object, installation) : { ok: false, message: result.problems.join("; ") };
  };
  return (object) => {
    const settings = known.get(object) ?? settingsOf(object);
    known.set(object, settings);
    return settings;
  };
}
