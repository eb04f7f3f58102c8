// A namespace in memory with one JWKSConfig in it: enough of an API server to carry plans out, refuse writes, crash between two of them, and look at what is published.
import { createPublicKey } from "node:crypto";
import {
  type Blocker,
  conditionEvents,
  ConfigMap,
  type Deployment,
  type Kind,
  keyOf,
  keyOfObject,
  type KubeObject,
  managedByLabel,
  type Moment,
  type PlannedEvent,
  resourceOf,
  statusAfter,
  type Stored,
  type Write,
} from "@keyturn/runtime";
import { JWKSConfig, revokeAnnotation } from "../src/controllers/jwks/api.ts";
import { type CertificateSecret, keepCertificateSecret, keyMembersOf, thumbprintOf } from "../src/public-key.ts";
import type { Passed } from "../src/controllers/jwks/sources.ts";
import { nginxInstallation } from "../src/controllers/jwks/flags.ts";
import type { Observation } from "../src/controllers/jwks/observe.ts";
import { type JwksPlan, planJwks } from "../src/controllers/jwks/plan.ts";
import { jwksReasons } from "../src/controllers/jwks/reasons.ts";
import { settingsOfJwksConfig } from "../src/controllers/jwks/settings.ts";
import type { TestCertificate } from "./certificates.ts";

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

/** nginx as an installation runs it that was given no other flags. */
export const defaultInstallation = nginxInstallation((flag) => flag.parse(flag.name === "jwks.serving" ? "true" : undefined));

/** Plans that were carried out, one after the other, until nothing more was to be done at once. */
interface WorldRun extends JwksPlan {
  /** Those that were made. */
  readonly writes: readonly Write[];
  /** All Events: those of its writes, then those of conditions. */
  readonly notices: readonly PlannedEvent[];
}

/** The namespace. Tests change it freely between runs. */
export class JwksWorld {
  spec: Spec;
  revoked: readonly string[] = [];
  status: JWKSConfig["status"];
  configMapIntervalMs = 60_000;
  clockSkew: Moment["clockSkew"];
  /** Pods are ready in the moment in which they are asked for. */
  podsAreReady = false;
  /** For how long what was refused is left alone. */
  refusalMs = 5000;
  /** What the API server has against a write. */
  refuse: (write: Write) => string | undefined = () => undefined;
  readonly secrets = new Map<string, CertificateSecret>();
  readonly merged = new Map<string, string>();
  readonly objects = new Map<string, Stored<KubeObject>>();
  generation = 1;
  /** What Secrets held since the last run that ended well, as the operator saw it. */
  #passed = new Map<string, CertificateSecret[]>();
  #passedMerged = new Map<string, string[]>();
  readonly #refused = new Map<string, Blocker & { readonly untilMs: number }>();

  constructor(spec: Partial<Spec> = {}) {
    this.spec = { ...defaultSpec, ...spec };
  }

  /** Puts a Secret in place; undefined deletes it. The operator sees it, unless it is `away`. */
  putSecret(name: string, data: Record<string, string> | undefined, options: { readonly away?: boolean } = {}): void {
    const before = this.secrets.get(name);
    if (before && !options.away) this.#passed.set(name, [...(this.#passed.get(name) ?? []), before]);
    if (data) this.secrets.set(name, keepCertificateSecret({ data }));
    else this.secrets.delete(name);
  }

  /** Puts a ConfigMap of others in place, as the operator sees it. */
  putMerged(name: string, document: string): void {
    const before = this.merged.get(name);
    if (before !== undefined) this.#passedMerged.set(name, [...(this.#passedMerged.get(name) ?? []), before]);
    this.merged.set(name, document);
  }

  /** The operator's process ends: all that it knows is what is in the cluster. */
  restart(): void {
    this.#passed = new Map();
    this.#passedMerged = new Map();
    this.#refused.clear();
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
    const owned = [...this.objects].flatMap(([key, object]) =>
      object.metadata.labels?.[managedByLabel] === "keyturn" ? [{ kind: kinds.get(key.slice(0, key.indexOf("/"))) ?? JWKSConfig, object }] : [],
    );
    const settings = settingsOfJwksConfig(this.object, defaultInstallation);
    const { secrets, configMapIntervalMs } = this;
    return {
      kind: JWKSConfig,
      object: this.object,
      settings,
      secrets,
      passed: passedStates(this.#passed),
      merged: this.merged,
      passedMerged: passedStates(this.#passedMerged),
      owned,
      pods: undefined,
      configMapIntervalMs,
    };
  }

  /** One run, and those that follow at once. `crashAfter` writes, each status counting as one, it stops, and the process with it. */
  run(nowMs: number, crashAfter = Number.POSITIVE_INFINITY): WorldRun {
    const writes: Write[] = [];
    const notices: PlannedEvent[] = [];
    let left = crashAfter;
    let isLooked = false;
    for (let round = 0; round < 8; round++) {
      for (const [part, { untilMs }] of this.#refused) if (untilMs <= nowMs) this.#refused.delete(part);
      const plan = planJwks(this.observe(), { nowMs, refused: this.#refused, ...(this.clockSkew && { clockSkew: this.clockSkew }) });
      const isRefused = plan.steps.some((write) => {
        if (left <= 0) return false;
        const refusal = this.#refusalOf(write);
        if (refusal) {
          this.#refused.set(write.part ?? "", { ...refusal, untilMs: nowMs + this.refusalMs });
          if (write.part === undefined) throw new Error(`a write without a part was refused: ${refusal.message}`);
          return true;
        }
        if (this.#write(write)) {
          left -= 1;
          writes.push(write);
          notices.push(...(write.events ?? []));
        }
        return false;
      });
      if (isRefused) continue;
      if (left <= 0) {
        this.restart();
        return { ...plan, writes, notices };
      }
      const [report] = plan.status;
      if (report) {
        notices.push(...(plan.events ?? []), ...conditionEvents(this.status, report, jwksReasons));
        // A status is a document of its own in the API server, not a reference to what made it.
        this.status = structuredClone({ ...report.fields, conditions: statusAfter(report, this.status, nowMs).conditions });
      }
      left -= 1;
      this.#passed = new Map();
      this.#passedMerged = new Map();
      const isRollout: boolean = this.podsAreReady && !isLooked && plan.steps.some(({ kind }) => kind.kind === "Deployment");
      isLooked ||= isRollout;
      if (isRollout) continue;
      const isUnfinished = this.condition("Published") === "False Publishing" || this.status?.keys?.some(({ state }) => state === "Pending");
      if (left <= 0 || !isUnfinished || this.#refused.has("document") || (plan.nextAtMs ?? 0) > nowMs + 20) return { ...plan, writes, notices };
    }
    throw new Error("the plan came to no end");
  }

  #refusalOf(write: Write): Blocker | undefined {
    const message = this.refuse(write);
    if (message !== undefined) return { reason: "Forbidden", message };
    const live = this.#live(write);
    if (!live || write.verb === "delete") return undefined;
    const isOurs = live.metadata.labels?.[managedByLabel] === "keyturn" && live.metadata.annotations?.["keyturn.io/owner"] === owner;
    return isOurs
      ? undefined
      : { reason: "Conflict", message: `${write.kind.kind} ${live.metadata.name} exists and it was not made by this operator` };
  }

  #live(write: Write): Stored<KubeObject> | undefined {
    return this.objects.get(keyOfWrite(write));
  }

  /** True if it changed something. */
  #write(write: Write): boolean {
    kinds.set(resourceOf(write.kind), write.kind);
    const live = this.#live(write);
    if (write.verb === "delete") return this.objects.delete(keyOfWrite(write));
    const isReady = this.podsAreReady && write.kind.kind === "Deployment";
    const next = {
      ...stored(write.object, live),
      ...(live && isImmutable(live) && { immutable: true }),
      ...(isReady && { status: available }),
    };
    if (JSON.stringify(next) === JSON.stringify(live)) return false;
    if (live && isImmutable(live) && JSON.stringify(contentOf(next)) !== JSON.stringify(contentOf(live)))
      throw new Error("the API server takes no change of an immutable ConfigMap");
    this.objects.set(keyOfWrite(write), next);
    return true;
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

  get deployment(): Stored<Deployment> | undefined {
    return this.objects.get(deploymentKey);
  }

  /** As the controllers of the cluster say it, when all pods that were asked for are ready. */
  makePodsAvailable(): void {
    if (this.deployment) this.objects.set(deploymentKey, Object.assign({}, this.deployment, { status: available }));
  }

  /** What a condition says: `True Published`. */
  condition(type: string): string | undefined {
    const condition = this.status?.conditions?.find((each) => each.type === type);
    return condition && `${condition.status} ${condition.reason}`;
  }
}

function passedStates<V>(passed: ReadonlyMap<string, readonly V[]>): ReadonlyMap<string, Passed<V>> {
  return new Map([...passed].map(([name, states]) => [name, { states, missed: 0, upTo: 0 }]));
}

/** What was written, in words: `apply ConfigMap keys`. */
export function writesOf({ writes }: Pick<WorldRun, "writes">): readonly string[] {
  return writes.map((write) => `${write.verb} ${write.kind.kind} ${write.verb === "apply" ? write.object.metadata.name : write.name.name}`);
}

/** The kid under which the key of a certificate is published. */
export function kidOfCertificate({ privateKey }: Pick<TestCertificate, "privateKey">): string {
  const members = keyMembersOf(createPublicKey(privateKey));
  return members ? thumbprintOf(members) : "";
}

const deploymentKey = "deployments.apps/shop/site";
const available = { replicas: 1, updatedReplicas: 1, availableReplicas: 1 };
const owner = "jwksconfigs.keyturn.io/shop/site";
const kinds = new Map<string, Kind>([["configmaps", ConfigMap]]);

function isImmutable(object: ConfigMap): boolean {
  return object.immutable === true;
}

function contentOf({ data, binaryData }: ConfigMap): readonly unknown[] {
  return [data, binaryData];
}

function keyOfWrite(write: Write): string {
  return `${resourceOf(write.kind)}/${write.verb === "delete" ? keyOf(write.name) : keyOfObject(write.object)}`;
}

/** As the runtime's writer leaves it: marked as ours. What others have added stays. */
function stored(object: KubeObject, live: Stored<KubeObject> | undefined): Stored<KubeObject> {
  const { metadata } = object;
  return {
    ...object,
    ...(live && "status" in live && { status: live.status }),
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
