// Two clusters, a tenant, and the controllers with exactly the rights that they declare: what tests of the issue step work with.
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import {
  type AccessRule,
  type Client,
  type Clock,
  type Condition,
  createClient,
  createHttpTransport,
  loadConfig,
  managerAccess,
  Namespace,
  policyRules,
  Secret,
  type Stored,
  systemClock,
} from "@keyturn/runtime";
import { type ClusterAccess, type RunningOperator, startOperator } from "@keyturn/runtime/testing";
import { expect } from "vitest";
import { soon } from "@keyturn/runtime/testing/vitest";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { askedAtAnnotation, EventingAuth, Kyma } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { eventingAuthFeature } from "../../packages/keyturn/src/controllers/eventing-auth/feature.ts";
import { type FlagReader, keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { type IasStandIn, startIasStandIn } from "../../packages/keyturn/src/dev/stand-ins/ias.ts";
import { conditionSays, eventSays } from "../support/operated-namespace.ts";

/** Flags by name. */
export type Flags = Readonly<Record<string, string>>;

/** How an operator under test is started. */
interface StartOptions {
  /** On top of those that tell it where this place is. */
  readonly flags?: Flags;
  /** Another kubeconfig than the ServiceAccount's own, such as one through a fault proxy. */
  readonly kubeconfig?: string;
  readonly dryRun?: boolean;
  /** Default true. Without it, several operators work on the same objects. */
  readonly leaderElection?: boolean;
}

/** The name of the Secret in the runtime's cluster; the predecessor's. */
const targetSecretName = "eventing-webhook-auth";

/** Two clusters and several operators on a busy machine take their time. */

/** What is made for a place besides the usual. */
interface PlaceOptions {
  /** Namespaces for Kymas and EventingAuths: that of the kubeconfigs, and others. Default one. */
  readonly namespaces?: number;
  /** Default: one of its own. */
  readonly tenant?: IasStandIn;
}

/** The cluster of the runtime: the given one, or the one whose kubeconfig the environment names, as the predecessor's documentation has it. */
async function openTarget(
  cluster: ClusterAccess,
): Promise<{ readonly client: Client; readonly kubeconfigIn: (namespace: string) => Promise<string> }> {
  const given = process.env["TEST_EVENTING_AUTH_TARGET_KUBECONFIG_PATH"];
  if (given) {
    const connection = await loadConfig({ kubeconfig: given, env: {} });
    return { client: createClient(createHttpTransport(connection)), kubeconfigIn: () => Promise.resolve(given) };
  }
  const secrets = { apiGroups: [""], resources: ["secrets"] };
  return {
    client: cluster.client,
    // The least that a runtime has to allow: one Secret, and creating it.
    kubeconfigIn: (namespace) =>
      cluster.kubeconfigFor({
        serviceAccount: { namespace, name: "eventing-auth" },
        namespacedRules: {
          [namespace]: [
            { ...secrets, verbs: ["create"] },
            { ...secrets, resourceNames: [targetSecretName], verbs: ["get", "list", "watch", "patch", "delete"] },
          ],
        },
      }),
  };
}

/** Makes the place. The operator does not run yet. */
export async function issuingPlace(controlPlane: ClusterAccess, targetCluster: ClusterAccess, options: PlaceOptions = {}): Promise<IssuingPlace> {
  await controlPlane.apply(renderCrds([eventingAuthFeature]));
  await controlPlane.apply(await readFile(new URL("../../examples/issue/kyma-crd.yaml", import.meta.url), "utf8"));
  const system = await controlPlane.namespace("kcp-system");
  const namespaces = [system];
  for (let count = options.namespaces ?? 1; count > 1; count--) namespaces.push(await controlPlane.namespace("elsewhere"));
  const target = await openTarget(targetCluster);
  const targetNamespace = `kyma-system-${randomUUID().slice(0, 8)}`;
  await target.client.create(Namespace, { metadata: { name: targetNamespace } });
  const place = new IssuingPlace({
    controlPlane,
    namespaces,
    system,
    target: target.client,
    targetNamespace,
    targetKubeconfig: await target.kubeconfigIn(targetNamespace),
    tenant: options.tenant ?? (await startIasStandIn()),
  });
  await place.putCredentials();
  return place;
}

/** The machine's clock, as a process sees it that is stopped and continued: timers that should have fired meanwhile have not. */
class StoppableClock implements Clock {
  #stoodStillMs = 0;

  now(): number {
    return systemClock.now() + this.#stoodStillMs;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#stoodStillMs;
  }

  setTimer(delayMs: number, fire: () => void): ReturnType<Clock["setTimer"]> {
    return systemClock.setTimer(delayMs, fire);
  }

  standStill(forMs: number): void {
    this.#stoodStillMs += forMs;
  }
}

interface Parts {
  readonly controlPlane: ClusterAccess;
  readonly namespaces: readonly string[];
  readonly system: string;
  readonly target: Client;
  readonly targetNamespace: string;
  readonly targetKubeconfig: string;
  readonly tenant: IasStandIn;
}

/** What is in the Secret of a runtime's cluster, in plain text. */
export type Credentials = Readonly<Record<"client_id" | "client_secret" | "token_url" | "certs_url", string | undefined>>;

/** The place. */
export class IssuingPlace implements AsyncDisposable {
  readonly parts: Parts;
  /** The runtime's id: the name of its Kyma, EventingAuth and application. */
  readonly runtime: string = randomUUID();
  readonly tenant: IasStandIn;
  readonly client: Client;
  /** Of all operators that work in this place. */
  readonly clock = new StoppableClock();
  /** Those that run, and how they were started. */
  readonly #operators = new Map<RunningOperator, StartOptions>();

  constructor(parts: Parts) {
    this.parts = parts;
    this.tenant = parts.tenant;
    this.client = parts.controlPlane.client;
  }

  get namespace(): string {
    return this.parts.system;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const operator of this.#operators.keys()) await operator.stop();
    await this.tenant.close();
  }

  /** The flags that tell an operator where this place is. */
  flags(more: Flags = {}): Flags {
    return {
      "eventing-auth.credentials-namespace": this.parts.system,
      "eventing-auth.kubeconfig-namespace": this.parts.system,
      "eventing-auth.target-namespace": this.parts.targetNamespace,
      "eventing-auth.allow-http": "true",
      ...more,
    };
  }

  /** A kubeconfig of a ServiceAccount with the rights that the controllers declare, and no others. */
  async kubeconfig(more: Flags = {}): Promise<string> {
    const { controlPlane, namespaces, system } = this.parts;
    const flags = this.flags(more);
    const declared = eventingAuthFeature.controllers((flag) => flag.parse(flags[flag.name])).flatMap(({ access }) => access);
    const manager = managerAccess({ operatorNamespace: system, controllerAccess: declared });
    const places = new Map<string, AccessRule[]>();
    const add = (namespace: string, rules: readonly AccessRule[]): void => void places.set(namespace, [...(places.get(namespace) ?? []), ...rules]);
    for (const rule of [...declared, ...manager.access]) {
      for (const namespace of rule.namespace === undefined ? namespaces : [rule.namespace]) add(namespace, [rule]);
    }
    for (const [namespace, rules] of Object.entries(manager.accessIn)) add(namespace, rules);
    const namespacedRules = Object.fromEntries(Array.from(places, ([namespace, rules]) => [namespace, policyRules(rules)]));
    return controlPlane.kubeconfigFor({ serviceAccount: { namespace: system, name: "operator" }, namespacedRules });
  }

  /** Starts an operator that works in this place alone. It is stopped with the test, or by itself before. */
  async startOperator(options: StartOptions = {}): Promise<RunningOperator> {
    const { flags = {}, kubeconfig, dryRun = false, leaderElection = true } = options;
    const all = this.flags(flags);
    const flag: FlagReader = (each) => each.parse(all[each.name]);
    const { namespaces, system } = this.parts;
    const operator = await startOperator({
      operator: keyturn,
      kubeconfig: kubeconfig ?? (await this.kubeconfig(flags)),
      controllers: eventingAuthFeature.controllers(flag),
      namespaces,
      leaderElection: { enabled: leaderElection, namespace: system },
      dryRun,
      clock: this.clock,
    });
    const running: RunningOperator = {
      ...operator,
      stop: () => {
        this.#operators.delete(running);
        return operator.stop();
      },
    };
    this.#operators.set(running, options);
    return running;
  }

  /** Writes the Secret with the tenant's credentials. */
  async putCredentials(change: Readonly<Record<string, string>> = {}): Promise<void> {
    const { url, username, password } = this.tenant;
    await this.putSecret("eventing-auth-ias-creds", { url, username, password, ...change });
  }

  /** Writes the Secret with the runtime's kubeconfig. */
  async putKubeconfig(text?: string, runtime = this.runtime): Promise<void> {
    await this.putSecret(`kubeconfig-${runtime}`, { config: text ?? (await readFile(this.parts.targetKubeconfig, "utf8")) });
  }

  async putSecret(name: string, texts: Readonly<Record<string, string>>): Promise<void> {
    const metadata = { namespace: this.parts.system, name };
    const data = Object.fromEntries(Object.entries(texts).map(([key, value]) => [key, Buffer.from(value).toString("base64")]));
    if (await this.client.get(Secret, metadata)) await this.client.replace(Secret, { metadata, type: "Opaque", data });
    else await this.client.create(Secret, { metadata, type: "Opaque", data });
  }

  async deleteSecret(name: string): Promise<void> {
    await this.client.delete(Secret, { namespace: this.parts.system, name });
  }

  async putKyma(namespace = this.namespace, runtime = this.runtime): Promise<void> {
    const kyma = {
      apiVersion: "operator.kyma-project.io/v1beta2",
      kind: "Kyma",
      metadata: { namespace, name: runtime },
      spec: { channel: "regular" },
    };
    await this.parts.controlPlane.apply(kyma);
  }

  async deleteKyma(namespace = this.namespace): Promise<void> {
    await this.client.delete(Kyma, { namespace, name: this.runtime });
  }

  /** A runtime with everything that it needs, ready. */
  async ready(options: StartOptions = {}): Promise<RunningOperator> {
    await this.putKubeconfig();
    await this.putKyma();
    const operator = await this.startOperator(options);
    await this.isReady();
    return operator;
  }

  async isReady(namespace = this.namespace): Promise<void> {
    await soon(async () => expect((await this.auth(namespace))?.status).toMatchObject({ state: "Ready" }));
  }

  auth(namespace = this.namespace): Promise<Stored<EventingAuth> | undefined> {
    return this.client.get(EventingAuth, { namespace, name: this.runtime });
  }

  async deleteAuth(namespace = this.namespace): Promise<void> {
    await this.client.delete(EventingAuth, { namespace, name: this.runtime });
  }

  /** Lets it be a minute later for what is known of when applications were asked for: by what is written, and by operators, which begin anew. */
  async skipMinute(): Promise<readonly RunningOperator[]> {
    const running = [...this.#operators];
    for (const [operator] of running) await operator.stop();
    const patch = { metadata: { annotations: { [askedAtAnnotation]: "2020-01-01T00:00:00Z" } } };
    for (const { metadata } of (await this.client.list(EventingAuth, { namespace: this.namespace })).items) {
      await this.client.mergePatch(EventingAuth, { namespace: this.namespace, name: metadata.name }, patch);
    }
    return Promise.all(running.map(([, options]) => this.startOperator(options)));
  }

  async isGone(namespace = this.namespace): Promise<void> {
    await soon(async () => expect(await this.auth(namespace)).toBeUndefined());
  }

  async condition(type: string, namespace = this.namespace): Promise<Condition | undefined> {
    return (await this.auth(namespace))?.status?.conditions?.find((condition) => condition.type === type);
  }

  /** Waits until a condition says this, such as `False SecretConflict`, and resolves to its message. */
  conditionSays(type: string, wanted: string, namespace = this.namespace): Promise<string> {
    return conditionSays(() => this.condition(type, namespace), wanted);
  }

  /** Waits for an Event of this reason about the EventingAuth, and resolves to what it says. */
  eventSays(reason: string, namespace = this.namespace): Promise<string> {
    return eventSays(this.client, { namespace, name: this.runtime }, reason);
  }

  get targetName(): { readonly namespace: string; readonly name: string } {
    return { namespace: this.parts.targetNamespace, name: targetSecretName };
  }

  targetSecret(): Promise<Stored<Secret> | undefined> {
    return this.parts.target.get(Secret, this.targetName);
  }

  /** What the runtime would log in with; undefined while there is no Secret. */
  async credentials(): Promise<Credentials | undefined> {
    const secret = await this.targetSecret();
    if (!secret) return undefined;
    const text = (key: string): string | undefined => {
      const encoded = secret.data?.[key];
      return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8");
    };
    return { client_id: text("client_id"), client_secret: text("client_secret"), token_url: text("token_url"), certs_url: text("certs_url") };
  }

  /** Fetches a token with what is in the runtime's cluster, as its workloads do, and resolves to the status of the answer. */
  async tokenStatus(credentials?: Credentials): Promise<number> {
    const { client_id = "", client_secret = "", token_url = "" } = credentials ?? (await this.credentials()) ?? {};
    const authorization = `Basic ${Buffer.from(`${encodeURIComponent(client_id)}:${encodeURIComponent(client_secret)}`).toString("base64")}`;
    const body = new URLSearchParams({ grant_type: "client_credentials" });
    return (await fetch(token_url, { method: "POST", headers: { authorization }, body })).status;
  }

  /** Exactly one application of the runtime's name, and the Secret in its cluster logs in as that. */
  async isWhole(): Promise<void> {
    await soon(async () => {
      const applications = this.tenant.applications(this.runtime);
      expect(applications).toHaveLength(1);
      const [application] = applications;
      const credentials = await this.credentials();
      expect(credentials?.client_id).toBe(application?.clientId);
      expect((await this.auth())?.status?.iasApplication).toEqual({ name: this.runtime, uuid: application?.id });
      expect(await this.tokenStatus(credentials)).toBe(200);
    });
  }
}
