// What a JWKSConfig's status says of the keys that it publishes, and from when on no cache is without one. The controller jwks writes it; whoever lets a key sign reads it.
import type { Condition, KubeObject } from "@keyturn/runtime";
import * as z from "zod";

/** How the kind is called, for whoever only reads it. */
export const jwksConfigKind = { group: "keyturn.io", version: "v1alpha1", kind: "JWKSConfig", plural: "jwksconfigs" } as const;

const condition = z.object({ type: z.string(), status: z.string(), reason: z.string(), message: z.string() });

const publisher = z.object({
  metadata: z.object({ generation: z.int().optional(), deletionTimestamp: z.string().optional() }),
  spec: z.object({ keyId: z.string().optional(), nginxConfigMapName: z.string().optional() }),
  status: z
    .object({
      observedGeneration: z.int().optional(),
      cacheSeconds: z.int().min(0).optional(),
      conditions: z.array(condition).optional(),
      revoked: z.array(z.object({ thumbprint: z.string() })).optional(),
      keys: z
        .array(
          z.object({
            kid: z.string(),
            state: z.enum(["Active", "Retiring", "Pending"]),
            thumbprint: z.string().optional(),
            availableSince: z.iso.datetime().optional(),
          }),
        )
        .optional(),
    })
    .optional(),
});

type Said = Pick<Condition, "status" | "reason" | "message">;

/** A JWKSConfig as far as others wait for it. */
export interface KeyPublisher {
  /** The status is about the spec as it is, and the object is there to stay. */
  readonly isCurrent: boolean;
  readonly isLeaving: boolean;
  /** Keys are called after their certificates, so that a renewed one is another entry. */
  readonly isByCertificate: boolean;
  /** nginx is to serve the document. */
  readonly serves: boolean;
  /** For how long somebody may keep an older document; undefined if it does not say yet. */
  readonly cacheMs: number | undefined;
  readonly keys: readonly { readonly thumbprint: string; readonly kid: string; readonly availableSinceMs: number | undefined }[];
  /** Thumbprints. */
  readonly revoked: readonly string[];
  readonly published: Said | undefined;
  readonly served: Said | undefined;
}

/** For a watch of JWKSConfigs; undefined for one that cannot be read. */
export function keepPublisher(object: KubeObject): KeyPublisher | undefined {
  const { data } = publisher.safeParse(object);
  if (!data) return undefined;
  const { metadata, spec, status = {} } = data;
  const said = (type: string): Said | undefined => {
    const found = status.conditions?.find((each) => each.type === type);
    return found && { status: found.status === "True" ? "True" : "False", reason: found.reason, message: found.message };
  };
  return {
    isCurrent: status.observedGeneration !== undefined && status.observedGeneration === metadata.generation,
    isLeaving: metadata.deletionTimestamp !== undefined,
    isByCertificate: spec.keyId === "CertificateSHA1",
    serves: spec.nginxConfigMapName !== undefined && spec.nginxConfigMapName !== "",
    cacheMs: status.cacheSeconds === undefined ? undefined : status.cacheSeconds * 1000,
    keys: (status.keys ?? []).flatMap(({ state, kid, thumbprint, availableSince }) =>
      state === "Pending" || thumbprint === undefined
        ? []
        : [{ thumbprint, kid, availableSinceMs: availableSince === undefined ? undefined : Date.parse(availableSince) }],
    ),
    revoked: (status.revoked ?? []).map(({ thumbprint }) => thumbprint),
    published: said("Published"),
    served: said("Served"),
  };
}

/** A key, by what a document calls it. */
export interface NamedKey {
  readonly thumbprint: string;
  /** Made of its certificate; undefined if it has none. */
  readonly certificateKeyId: string | undefined;
}

/** From when on no cache is without a key; or why nobody knows, and whether that lasts until somebody does something. */
export type Publication = { readonly fromMs: number } | { readonly message: string; readonly isLasting: boolean };

/** A pod of nginx that was told to end may answer for so long: Kubernetes' own grace period. */
const endingPodsMs = 30_000;

/** From when on a key may sign: for longer than its cache time everybody who asked was given it. */
export function publicationOf(key: NamedKey, name: string, config: KeyPublisher | undefined): Publication {
  const waits = (what: string, isLasting: boolean): Publication => ({ message: `JWKSConfig ${name} ${what}`, isLasting });
  if (!config) return waits("does not exist, or cannot be read", true);
  const { published, served, cacheMs } = config;
  if (config.isLeaving) return waits("is being deleted", true);
  if (config.revoked.includes(key.thumbprint)) return waits("has revoked the key", true);
  if (!config.isCurrent || cacheMs === undefined) return waits("has not been looked at since it was changed", false);
  if (published?.reason === "InvalidSpec") return waits(`cannot be used: ${published.message}`, true);
  const entry = config.keys.find(
    ({ thumbprint, kid }) =>
      thumbprint === key.thumbprint && (!config.isByCertificate || key.certificateKeyId === undefined || kid === key.certificateKeyId),
  );
  const why = published?.status === "False" ? `: ${published.message}` : "";
  if (!entry) return waits(`has not published the key yet${why}`, false);
  if (config.serves && served?.status !== "True")
    return waits(
      `does not serve the key everywhere yet: ${served?.message ?? "nothing is known"}`,
      served !== undefined && served.reason !== "PodsNotAvailable" && served.reason !== "RollingOut",
    );
  if (entry.availableSinceMs === undefined) return waits(`has the key, and not where everybody reads it${why}`, false);
  return { fromMs: entry.availableSinceMs + cacheMs + (config.serves ? endingPodsMs : 0) };
}
