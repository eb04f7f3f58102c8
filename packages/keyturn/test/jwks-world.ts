// A namespace in memory with one JWKSConfig in it: enough of an API server to carry plans out, crash between two writes, and look at what is published.
import {
  conditionEvents,
  type ConfigMap,
  type Deployment,
  type Kind,
  keyOf,
  keyOfObject,
  type KubeObject,
  managedByLabel,
  type PlannedEvent,
  resourceOf,
  type Service,
  statusAfter,
  type Stored,
  type Write,
} from "@keyturn/runtime";
import { JWKSConfig, revokeAnnotation } from "../src/controllers/jwks/api.ts";
import { type CertificateSecret, keepCertificateSecret } from "../src/controllers/jwks/certificates.ts";
import type { Rival } from "../src/controllers/jwks/name-claims.ts";
import type { Observation } from "../src/controllers/jwks/observe.ts";
import { type JwksPlan, planJwks } from "../src/controllers/jwks/plan.ts";
import { jwksReasons } from "../src/controllers/jwks/reasons.ts";
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

/** A plan that was carried out. */
interface WorldRun extends JwksPlan {
  readonly writes: readonly Write[];
  /** All Events: those of its writes, then those of conditions. */
  readonly notices: readonly PlannedEvent[];
}

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
  run(nowMs: number, crashAfter = Number.POSITIVE_INFINITY): WorldRun {
    const plan = planJwks(this.observe(), { nowMs, refused: new Map() });
    const writes = plan.steps;
    for (const write of writes.slice(0, crashAfter)) {
      kinds.set(resourceOf(write.kind), write.kind);
      if (write.verb === "delete") this.objects.delete(`${resourceOf(write.kind)}/${keyOf(write.name)}`);
      else this.objects.set(`${resourceOf(write.kind)}/${keyOfObject(write.object)}`, stored(write.object));
    }
    const [report] = plan.status;
    const conditions = report ? conditionEvents(this.status, report, jwksReasons) : [];
    // A status is a document of its own in the API server, not a reference to what made it.
    if (report && crashAfter > writes.length)
      this.status = structuredClone({ ...report.fields, conditions: statusAfter(report, this.status, nowMs).conditions });
    return { ...plan, writes, notices: [...writes.flatMap(({ events = [] }) => events), ...conditions] };
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
