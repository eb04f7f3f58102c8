// A namespace in memory with one JWKSConfig in it: enough of an API server to carry plans out, crash between two writes, and look at what is published.
import {
  type ConfigMap,
  type Deployment,
  type Kind,
  keyOf,
  keyOfObject,
  type KubeObject,
  managedByLabel,
  type StatusPlan,
  resourceOf,
  type Service,
  type Stored,
} from "@keyturn/runtime";
import { JWKSConfig, revokeAnnotation } from "../src/controllers/jwks/api.ts";
import { type CertificateSecret, keepCertificateSecret } from "../src/controllers/jwks/certificates.ts";
import type { Rival } from "../src/controllers/jwks/name-claims.ts";
import type { Observation } from "../src/controllers/jwks/observe.ts";
import { planJwks } from "../src/controllers/jwks/plan.ts";
import { settingsOfJwksConfig } from "../src/controllers/jwks/settings.ts";

type Spec = JWKSConfig["spec"];

/** The spec that most tests want: the defaults, with nginx. */
export const defaultSpec: Spec = {
  certificateSecret: "tls",
  configMapName: "keys",
  nginxConfigMapName: "nginx",
  endpoint: "/jwks.json",
  updateStrategy: "rolling",
  keepOldKeys: true,
  oldKeysTTL: "720h",
  cleanupOnDelete: false,
  keyId: "Thumbprint",
};

/** The namespace. Tests change it freely between runs. */
export class JwksWorld {
  spec: Spec;
  revoked: readonly string[] = [];
  rivals: readonly Rival[] = [];
  status: JWKSConfig["status"];
  configMapIntervalMs = 60_000;
  readonly secrets = new Map<string, CertificateSecret>();
  readonly objects = new Map<string, Stored<KubeObject>>();
  generation = 1;

  constructor(spec: Partial<Spec> = {}) {
    this.spec = { ...defaultSpec, ...spec };
  }

  /** Puts a Secret in place; undefined deletes it. */
  putSecret(name: string, data: Record<string, string> | undefined): void {
    if (data) this.secrets.set(name, keepCertificateSecret({ data }));
    else this.secrets.delete(name);
  }

  get object(): Stored<JWKSConfig> {
    const annotations = this.revoked.length > 0 ? { [revokeAnnotation]: this.revoked.join(", ") } : {};
    return {
      metadata: {
        namespace: "shop",
        name: "site",
        uid: "u-1",
        resourceVersion: "1",
        generation: this.generation,
        creationTimestamp: "2026-01-01T00:00:00Z",
        annotations,
      },
      spec: this.spec,
      ...(this.status && { status: this.status }),
    };
  }

  observe(): Observation {
    const live = <T extends KubeObject>(plural: string, name: string | undefined) =>
      this.objects.get(`${plural}/shop/${name}`) as Stored<T> | undefined;
    return {
      kind: JWKSConfig,
      object: this.object,
      settings: settingsOfJwksConfig(this.object),
      secrets: this.secrets,
      live: {
        configMap: live<ConfigMap>("configmaps", this.spec.configMapName),
        nginxConfigMap: live<ConfigMap>("configmaps", this.spec.nginxConfigMapName),
        deployment: live<Deployment>("deployments.apps", "site"),
        service: live<Service>("services", "site"),
      },
      owned: [...this.objects].flatMap(([key, object]) =>
        object.metadata.annotations?.["keyturn.io/owner"] === owner
          ? [{ kind: kinds.get(key.slice(0, key.indexOf("/"))) ?? JWKSConfig, object }]
          : [],
      ),
      rivals: this.rivals,
      configMapIntervalMs: this.configMapIntervalMs,
    };
  }

  /** One run. `crashAfter` writes, the status counting as the last, it stops. */
  run(nowMs: number, crashAfter = Number.POSITIVE_INFINITY): StatusPlan<JWKSConfig["status"] & object> {
    const plan = planJwks(this.observe(), nowMs);
    for (const write of plan.writes.slice(0, crashAfter)) {
      kinds.set(resourceOf(write.kind), write.kind);
      if (write.verb === "remove") this.objects.delete(`${resourceOf(write.kind)}/${keyOf(write.name)}`);
      else this.objects.set(`${resourceOf(write.kind)}/${keyOfObject(write.object)}`, stored(write.object));
    }
    // A status is a document of its own in the API server, not a reference to what made it.
    if (crashAfter > plan.writes.length) this.status = structuredClone(plan.status);
    return plan;
  }

  get configMap(): Stored<ConfigMap> | undefined {
    return this.objects.get(`configmaps/shop/${this.spec.configMapName}`);
  }

  /** The published document, if there is one. */
  get document(): string | undefined {
    return this.configMap?.data?.["jwks.json"];
  }

  /** The kids of the published document, in their order. */
  get kids(): readonly string[] {
    const { keys } = JSON.parse(this.document ?? '{"keys":[]}') as { keys: readonly { kid: string }[] };
    return keys.map(({ kid }) => kid);
  }

  /** Changes the published ConfigMap as a user with kubectl would; undefined deletes it. */
  editConfigMap(edit: ((configMap: Stored<ConfigMap>) => Stored<ConfigMap>) | undefined): void {
    const key = `configmaps/shop/${this.spec.configMapName}`;
    if (!edit) this.objects.delete(key);
    else if (this.configMap) this.objects.set(key, edit(this.configMap));
  }

  /** What a condition says: `True Published`. */
  condition(type: string): string | undefined {
    const condition = this.status?.conditions?.find((each) => each.type === type);
    return condition && `${condition.status} ${condition.reason}`;
  }
}

const owner = "jwksconfigs.keyturn.io/shop/site";
const kinds = new Map<string, Kind>();

/** As the runtime's writer leaves it: marked as ours. */
function stored(object: KubeObject): Stored<KubeObject> {
  const { metadata } = object;
  return {
    ...object,
    metadata: {
      ...metadata,
      name: metadata.name ?? "",
      uid: "u-2",
      resourceVersion: "1",
      labels: { ...metadata.labels, [managedByLabel]: "keyturn" },
      annotations: { ...metadata.annotations, "keyturn.io/owner": owner },
    },
  };
}
