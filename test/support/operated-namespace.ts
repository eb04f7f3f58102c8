// A namespace of a shared cluster in which an operator runs with exactly the rights that it declares, and what is told there about objects.
import {
  type AccessRule,
  type Client,
  type Condition,
  Event,
  type Kind,
  type KubeObject,
  managerAccess,
  type PolicyRule,
  policyRules,
  type Stored,
} from "@keyturn/runtime";
import { type ClusterAccess, type RunningOperator, startOperator } from "@keyturn/runtime/testing";
import { soon } from "@keyturn/runtime/testing/vitest";
import { expect } from "vitest";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";

/** What an operator may do in a namespace in which it works and has its Leases, if its controllers declare this. */
export function operatorRules(namespace: string, access: readonly AccessRule[]): readonly PolicyRule[] {
  const manager = managerAccess({ operatorNamespace: namespace, controllerAccess: access });
  return policyRules([...access, ...manager.access, ...(manager.accessIn[namespace] ?? [])]);
}

/** For a new ServiceAccount that may do that and nothing else. */
export function operatorKubeconfig(cluster: ClusterAccess, namespace: string, access: readonly AccessRule[]): Promise<string> {
  const namespacedRules = { [namespace]: operatorRules(namespace, access) };
  return cluster.kubeconfigFor({ serviceAccount: { namespace, name: "operator" }, namespacedRules });
}

type StartOptions = Omit<Parameters<typeof startOperator>[0], "operator">;

/** The namespace. */
export abstract class OperatedNamespace implements AsyncDisposable {
  readonly cluster: ClusterAccess;
  readonly namespace: string;
  readonly #operators: RunningOperator[] = [];

  constructor(cluster: ClusterAccess, namespace: string) {
    this.cluster = cluster;
    this.namespace = namespace;
  }

  /** Those that were started, in their order. */
  get operators(): readonly RunningOperator[] {
    return this.#operators;
  }

  /** Starts an operator that works in this namespace alone, unless told otherwise. It is stopped with the test, or by itself before. */
  protected async start(options: StartOptions): Promise<RunningOperator> {
    const { namespace } = this;
    const operator = await startOperator({ operator: keyturn, namespaces: [namespace], leaderElection: { namespace }, ...options });
    this.#operators.push(operator);
    return operator;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const operator of this.#operators) await operator.stop();
  }

  get<T extends KubeObject>(kind: Kind<T>, name: string): Promise<Stored<T> | undefined> {
    return this.cluster.client.get(kind, { namespace: this.namespace, name });
  }

  /** Waits for an Event of this reason about the object, and resolves to what it says. */
  eventSays(name: string, reason: string): Promise<string> {
    return eventSays(this.cluster.client, { namespace: this.namespace, name }, reason);
  }
}

/** Waits for an Event of this reason about the object, and resolves to what it says. */
export function eventSays(
  client: Client,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  reason: string,
): Promise<string> {
  return soon(async () => {
    const { items } = await client.list(Event, { namespace, fields: `reason=${reason},regarding.name=${name}` });
    expect(items).not.toHaveLength(0);
    return items[0]?.note ?? "";
  });
}

/** Waits until a condition says this, such as `False Conflict`, and resolves to its message. */
export function conditionSays(read: () => Promise<Condition | undefined>, wanted: string): Promise<string> {
  return soon(async () => {
    const condition = await read();
    expect(condition && `${condition.status} ${condition.reason}`).toBe(wanted);
    return condition?.message ?? "";
  });
}
