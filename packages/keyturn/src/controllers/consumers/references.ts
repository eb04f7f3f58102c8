// What of Secrets, ConfigMaps and secret stores the pods of a template can see, and how. Pure.
import type { DeepReadonly, PodTemplateSpec } from "@keyturn/runtime";
import * as z from "zod";

/** Where content comes from. A `SecretProviderClass` stands for what its CSI driver mounts. */
export type SourceKind = "Secret" | "ConfigMap" | "SecretProviderClass";

/** One thing that pods see. */
export interface Reference {
  readonly kind: SourceKind;
  readonly name: string;
  /** Undefined: all keys. */
  readonly key: string | undefined;
  /** Pods start without it too. */
  readonly optional: boolean;
  /** `env` is fixed when a container starts, and so is a file that is mounted by its path; other files change by themselves. */
  readonly via: "env" | "file" | "pull" | "mount";
}

const keyed = z.object({ name: z.string().default(""), key: z.string(), optional: z.boolean().default(false) });
const whole = z.object({ name: z.string().default(""), optional: z.boolean().default(false) });
const items = z.array(z.object({ key: z.string(), path: z.string() })).optional();

const container = z.object({
  env: z.array(z.object({ valueFrom: z.object({ secretKeyRef: keyed.optional(), configMapKeyRef: keyed.optional() }).optional() })).default([]),
  envFrom: z.array(z.object({ secretRef: whole.optional(), configMapRef: whole.optional() })).default([]),
  volumeMounts: z.array(z.object({ name: z.string(), subPath: z.string().optional(), subPathExpr: z.string().optional() })).default([]),
});

const projection = z.object({
  secret: z.object({ name: z.string().default(""), optional: z.boolean().default(false), items }).optional(),
  configMap: z.object({ name: z.string().default(""), optional: z.boolean().default(false), items }).optional(),
});

const volume = z.object({
  name: z.string(),
  secret: z.object({ secretName: z.string().default(""), optional: z.boolean().default(false), items }).optional(),
  configMap: z.object({ name: z.string().default(""), optional: z.boolean().default(false), items }).optional(),
  projected: z.object({ sources: z.array(projection).default([]) }).optional(),
  csi: z
    .object({
      driver: z.string(),
      volumeAttributes: z.record(z.string(), z.string()).default({}),
      nodePublishSecretRef: z.object({ name: z.string().default("") }).optional(),
    })
    .optional(),
});

const podSpec = z.object({
  containers: z.array(container).default([]),
  initContainers: z.array(container).default([]),
  ephemeralContainers: z.array(container).default([]),
  volumes: z.array(volume).default([]),
  imagePullSecrets: z.array(z.object({ name: z.string().default("") })).default([]),
});

type Container = z.infer<typeof container>;
type Volume = z.infer<typeof volume>;

/** The driver whose volumes name a SecretProviderClass. */
const secretsStore = "secrets-store.csi.k8s.io";

/** Everything that pods of the template see, in its order; the same may be there several times. A volume that nothing mounts is not seen. */
export function referencesOf({ spec }: DeepReadonly<PodTemplateSpec>): readonly Reference[] {
  const { success, data } = podSpec.safeParse(spec ?? {});
  // The API server stores no other templates.
  if (!success) return [];
  const containers = [...data.initContainers, ...data.containers, ...data.ephemeralContainers];
  return [
    ...containers.flatMap(ofEnvironment),
    ...data.volumes.flatMap((each) => ofVolume(each, containers)),
    ...data.imagePullSecrets.map(({ name }): Reference => ({ kind: "Secret", name, key: undefined, optional: true, via: "pull" })),
  ].filter(({ name }) => name !== "");
}

function ofEnvironment({ env, envFrom }: Container): readonly Reference[] {
  const via = "env";
  return [
    ...env.flatMap(({ valueFrom }): readonly Reference[] => [
      ...(valueFrom?.secretKeyRef ? [{ kind: "Secret", ...valueFrom.secretKeyRef, via } as const] : []),
      ...(valueFrom?.configMapKeyRef ? [{ kind: "ConfigMap", ...valueFrom.configMapKeyRef, via } as const] : []),
    ]),
    ...envFrom.flatMap(({ secretRef, configMapRef }): readonly Reference[] => [
      ...(secretRef ? [{ kind: "Secret", ...secretRef, key: undefined, via } as const] : []),
      ...(configMapRef ? [{ kind: "ConfigMap", ...configMapRef, key: undefined, via } as const] : []),
    ]),
  ];
}

interface Projected {
  readonly kind: SourceKind;
  readonly name: string;
  readonly optional: boolean;
  readonly items: z.infer<typeof items>;
}

function ofVolume({ name, secret, configMap, projected, csi }: Volume, containers: readonly Container[]): readonly Reference[] {
  const mounts = containers.flatMap(({ volumeMounts }) => volumeMounts.filter((mount) => mount.name === name));
  if (mounts.length === 0) return [];
  const sources = [
    ...sourcesIn({ secret: secret && { ...secret, name: secret.secretName }, configMap }),
    ...(projected?.sources ?? []).flatMap(sourcesIn),
  ];
  const classOf = csi?.driver === secretsStore ? (csi.volumeAttributes["secretProviderClass"] ?? "") : "";
  return [
    ...sources.flatMap((source) => mounts.flatMap((mount) => ofMount(source, mount))),
    { kind: "SecretProviderClass", name: classOf, key: undefined, optional: false, via: "mount" },
    // Given to the driver when the volume is mounted, and never again.
    { kind: "Secret", name: csi?.nodePublishSecretRef?.name ?? "", key: undefined, optional: false, via: "env" },
  ];
}

function sourcesIn({ secret, configMap }: z.infer<typeof projection>): readonly Projected[] {
  const found: Projected[] = [];
  if (secret) found.push({ kind: "Secret", name: secret.name, optional: secret.optional, items: secret.items });
  if (configMap) found.push({ kind: "ConfigMap", name: configMap.name, optional: configMap.optional, items: configMap.items });
  return found;
}

/** A mount of the whole volume shows all its files, and follows them. One of a path shows that file, as it was when the container started. */
function ofMount({ kind, name, optional, items: chosen }: Projected, mount: Container["volumeMounts"][number]): readonly Reference[] {
  const isWhole = mount.subPath === undefined && mount.subPathExpr === undefined;
  const path = mount.subPath?.split("/")[0];
  const via = isWhole ? "file" : "env";
  if (chosen) {
    const seen = chosen.filter((item) => path === undefined || item.path === mount.subPath || item.path.split("/")[0] === path);
    return seen.map(({ key }) => ({ kind, name, key, optional, via }));
  }
  return [{ kind, name, key: path, optional, via }];
}
