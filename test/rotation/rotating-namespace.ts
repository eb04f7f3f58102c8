// A namespace of the shared cluster in which the rotation controller runs with exactly the rights that it declares, and what tests do and look at there.
import { Buffer } from "node:buffer";
import { type Clock, type Condition, Secret, type Stored, type Transport } from "@keyturn/runtime";
import type { ClusterAccess, RunningOperator } from "@keyturn/runtime/testing";
import { expect } from "vitest";
import { soon } from "@keyturn/runtime/testing/vitest";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import type { FlagReader } from "../../packages/keyturn/src/feature/feature.ts";
import {
  RotationTarget,
  rotationSetAnnotation,
  sourceAnnotation,
  versionAnnotation,
  versionRecordType,
} from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { rotationFeature } from "../../packages/keyturn/src/controllers/rotation/feature.ts";
import { conditionSays, OperatedNamespace, operatorKubeconfig } from "../support/operated-namespace.ts";

/** How an operator under test is started. */
interface StartOptions {
  readonly flags?: Readonly<Record<string, string>>;
  /** Another kubeconfig than the ServiceAccount's own, such as one through a fault proxy. */
  readonly kubeconfig?: string;
  /** Where it works. Default this namespace alone. */
  readonly namespaces?: readonly string[];
  /** Without election every operator acts. Default true. */
  readonly elects?: boolean;
  /** Stands in for HTTP. */
  readonly transport?: Transport;
  /** Default the machine's. */
  readonly clock?: Clock;
}

/** Makes a namespace with the CRD served and the operator's ServiceAccount in place. The operator does not run yet. */
export async function rotatingNamespace(
  cluster: ClusterAccess,
  prefix: string,
  flags: Readonly<Record<string, string>> = {},
): Promise<RotatingNamespace> {
  await cluster.apply(renderCrds([rotationFeature]));
  const namespace = await cluster.namespace(prefix);
  const access = rotationFeature.controllers(readerOf(flags)).flatMap((controller) => controller.access);
  const kubeconfig = await operatorKubeconfig(cluster, namespace, access);
  return new RotatingNamespace(cluster, { namespace, kubeconfig, flags });
}

function readerOf(flags: Readonly<Record<string, string>>): FlagReader {
  return (flag) => flag.parse(flags[flag.name]);
}

/** The namespace. The set is `my-key`, its source the Secret `key-latest` with one key, unless a test says otherwise. */
export class RotatingNamespace extends OperatedNamespace {
  readonly kubeconfig: string;
  readonly #flags: Readonly<Record<string, string>>;

  constructor(
    cluster: ClusterAccess,
    options: { readonly namespace: string; readonly kubeconfig: string; readonly flags: Readonly<Record<string, string>> },
  ) {
    super(cluster, options.namespace);
    this.kubeconfig = options.kubeconfig;
    this.#flags = options.flags;
  }

  /** Starts an operator. It is stopped with the test, or by itself before. */
  startOperator({
    flags = this.#flags,
    kubeconfig = this.kubeconfig,
    namespaces = [this.namespace],
    elects = true,
    transport,
    clock,
  }: StartOptions = {}): Promise<RunningOperator> {
    return this.start({
      kubeconfig,
      controllers: rotationFeature.controllers(readerOf(flags)),
      namespaces,
      leaderElection: { namespace: this.namespace, enabled: elects },
      ...(transport && { transport }),
      ...(clock && { clock }),
    });
  }

  /** Creates the source or gives it another value, as whatever renews it would. */
  async putSource(value: string, more: Readonly<Record<string, string>> = {}): Promise<void> {
    const annotations = { [rotationSetAnnotation]: "my-key", [sourceAnnotation]: "true", ...more };
    const source = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace: this.namespace, name: "key-latest", annotations },
      data: { someKey: Buffer.from(value).toString("base64") },
    };
    await this.cluster.apply(source);
  }

  async deleteSource(): Promise<void> {
    await this.cluster.client.delete(Secret, { namespace: this.namespace, name: "key-latest" });
  }

  /** Creates a RotationTarget of set `my-key`, or changes it to this spec. */
  async putTarget(name: string, spec: Readonly<Record<string, unknown>>): Promise<void> {
    const target = {
      apiVersion: "rotator.k8s.telekom.com/v1",
      kind: "RotationTarget",
      metadata: { namespace: this.namespace, name },
      spec: { rotationSet: "my-key", ...spec },
    };
    await this.cluster.apply(target);
  }

  /** Creates targets of these delays: `t1`, `t2`, …, in this order. */
  async putTargets(delays: readonly string[], spec: Readonly<Record<string, unknown>> = {}): Promise<void> {
    for (const [index, rotationDelay] of delays.entries())
      await this.putTarget(`t${index + 1}`, { rotationOrder: index + 1, rotationDelay, ...spec });
  }

  /** What a target's Secret holds under the source's key; `-` while there is none. */
  async held(name: string): Promise<string> {
    const secret = await this.get(Secret, name);
    return secret ? valueIn(secret) : "-";
  }

  /** Waits until these Secrets hold exactly this, and resolves to when each was written. */
  async holds(contents: Readonly<Record<string, string>>, timeoutMs?: number): Promise<void> {
    const names = Object.keys(contents);
    await soon(
      async () => expect(Object.fromEntries(await Promise.all(names.map(async (name) => [name, await this.held(name)])))).toEqual(contents),
      timeoutMs,
    );
  }

  /** The version records of the namespace, oldest first. */
  async records(): Promise<readonly Stored<Secret>[]> {
    const { items } = await this.cluster.client.list(Secret, { namespace: this.namespace, fields: `type=${versionRecordType}` });
    const seqOf = ({ metadata: { name } }: Stored<Secret>): number => Number(name.slice(name.lastIndexOf("-") + 1));
    return items.toSorted((a, b) => seqOf(a) - seqOf(b));
  }

  /** Which version each target's object is written with. */
  async versionOf(name: string): Promise<number> {
    return Number((await this.get(Secret, name))?.metadata.annotations?.[versionAnnotation]);
  }

  async status(name: string): Promise<NonNullable<RotationTarget["status"]>> {
    return (await this.get<RotationTarget>(RotationTarget, name))?.status ?? {};
  }

  /** Waits until a run has seen these targets as they are declared now, and has ended: a status is written after everything else. */
  async seen(...names: readonly string[]): Promise<void> {
    for (const name of names)
      await soon(async () => {
        const { metadata, status } = (await this.get<RotationTarget>(RotationTarget, name)) ?? {};
        expect(status?.observedGeneration).toBe(metadata?.generation);
      });
  }

  /** Waits until the statuses of these targets say that they hold these versions: a status is written after everything else. */
  async says(versions: Readonly<Record<string, number>>): Promise<void> {
    for (const [name, seq] of Object.entries(versions)) await soon(async () => expect((await this.status(name)).currentVersion?.seq).toBe(seq));
  }

  async condition(name: string, type: string): Promise<Condition | undefined> {
    const { conditions = [] } = await this.status(name);
    return conditions.find((condition) => condition.type === type);
  }

  /** Waits until a condition says this, such as `False NameConflict`, and resolves to its message. */
  conditionSays(name: string, type: string, wanted: string): Promise<string> {
    return conditionSays(() => this.condition(name, type), wanted);
  }
}

/** The one value of a source or of a target's object. */
export function valueIn({ data = {} }: Pick<Secret, "data">): string {
  return Buffer.from(data["someKey"] ?? "", "base64").toString();
}
