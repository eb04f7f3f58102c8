// The operators that are installed, as their Deployments describe them: with which flags they run, and whether their pods are ready.
import { type Client, Deployment, type Stored } from "@keyturn/runtime";
import { fail, type Finding, keyturn, ok, warn } from "../feature/feature.ts";

const check = "operator";

/** An operator's Deployment. */
export interface InstalledOperator {
  readonly namespace: string;
  readonly name: string;
  readonly ready: number;
  readonly replicas: number;
  /** Texts by name, as in the arguments of its container. */
  readonly flags: Readonly<Record<string, string>>;
}

/** Those in a namespace, or in all. None where they cannot be listed: nothing is known of them then. */
export async function findInstalled(client: Client, namespace: string | undefined, signal: AbortSignal): Promise<readonly InstalledOperator[]> {
  try {
    const place = namespace === undefined ? {} : { namespace };
    const { items } = await client.list(Deployment, { ...place, labels: `app.kubernetes.io/name=${keyturn.name}` }, signal);
    return installedOperators(items);
  } catch {
    signal.throwIfAborted();
    return [];
  }
}

/** The Deployments that run `keyturn run`, and not an agent. */
export function installedOperators(deployments: readonly Stored<Deployment>[]): readonly InstalledOperator[] {
  return deployments.flatMap(({ metadata, spec, status }) => {
    const args = spec?.template?.spec?.containers?.map(({ args: given = [] }) => given).find(([command]) => command === "run");
    if (!args) return [];
    const flags = args.flatMap((text) => {
      const [, name, value = "true"] = /^--([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
      return name === undefined ? [] : [[name, value] as const];
    });
    const { namespace = "", name } = metadata;
    return [{ namespace, name, ready: status?.readyReplicas ?? 0, replicas: spec?.replicas ?? 1, flags: Object.fromEntries(flags) }];
  });
}

/** What they all run with: controllers may be split over several Deployments of one namespace. Of installations in several namespaces none is meant. */
export function installedFlags(operators: readonly InstalledOperator[]): Readonly<Record<string, string>> {
  if (new Set(operators.map(({ namespace }) => namespace)).size !== 1) return {};
  const controllers = [...new Set(operators.flatMap(({ flags }) => (flags["controllers"] ?? "all").split(",")))];
  return Object.assign({}, ...operators.map(({ flags }) => flags), { controllers: controllers.includes("all") ? "all" : controllers.join(",") });
}

/** Whether their pods are ready. */
export function installedFindings(operators: readonly InstalledOperator[]): readonly Finding[] {
  return operators.map(({ namespace, name, ready, replicas, flags }) => {
    const what = `Deployment ${namespace}/${name}: ${ready} of ${replicas} pods ready`;
    if (replicas === 0)
      return fail(check, `Deployment ${namespace}/${name} is scaled to 0`, `kubectl -n ${namespace} scale deployment/${name} --replicas=2`);
    if (ready === replicas) return ok(check, `${what}, with --controllers=${flags["controllers"] ?? "all"}`);
    return (ready === 0 ? fail : warn)(check, what, `kubectl -n ${namespace} describe pods; kubectl -n ${namespace} logs deployment/${name}`);
  });
}
