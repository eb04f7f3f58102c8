// An operator whose reconciles fail on purpose, each in a way of its own: what tests look at to see how people hear of it.
import { apiVersionOf, type Client, crdOf, type CustomKind, type Kind, nameOf } from "@keyturn/runtime";
import { type ClusterAccess, type RunningOperator, startOperator } from "@keyturn/runtime/testing";

/** What fails. */
interface FailingOptions {
  /** Of every object, besides its metadata. */
  readonly object: { readonly spec: object; readonly status?: object };
  /** By the name of the object: what its reconciles do. */
  readonly runs: Readonly<Record<string, (client: Client, namespace: string) => Promise<unknown>>>;
}

/** The operator, and the namespace that it works in. */
interface FailingOperator extends AsyncDisposable {
  readonly namespace: string;
  readonly operator: RunningOperator;
}

/** Makes an object of the kind for each name in a namespace of their own, and starts the operator there. */
export async function startFailing(
  cluster: ClusterAccess,
  kind: Kind & Pick<CustomKind, "definition">,
  { object, runs }: FailingOptions,
): Promise<FailingOperator> {
  await cluster.apply(crdOf(kind));
  const namespace = await cluster.namespace("failing");
  const { status, ...content } = object;
  for (const name of Object.keys(runs)) {
    await cluster.apply({ apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { namespace, name }, ...content });
    if (status) await cluster.client.mergePatch(kind, { namespace, name }, { status }, { subresource: "status" });
  }
  const operator = await startOperator({
    kubeconfig: cluster.adminKubeconfig,
    namespaces: [namespace],
    leaderElection: { namespace },
    controllers: [
      {
        name: kind.plural,
        primary: kind,
        access: [],
        setup({ watch, trigger }) {
          trigger(watch(kind));
          return async ({ key, client }) => void (await runs[nameOf(key).name]?.(client, namespace));
        },
      },
    ],
  });
  return { namespace, operator, [Symbol.asyncDispose]: () => operator.stop() };
}
