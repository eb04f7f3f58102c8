// `keyturn version`: of this program, of the cluster, and of the operators that run in it.
import { Deployment, isApiError } from "@keyturn/runtime";
import * as z from "zod";
import { keyturn, type Report } from "../feature/feature.ts";
import { type Flag, readFlags, switchFlag } from "../feature/flag.ts";
import { operatorFlags } from "../operator-flags.ts";
import { renderRows } from "../text.ts";
import { type Console, version } from "./command-line.ts";
import { outputFlag, printed } from "./output.ts";
import { inSession, type Session } from "./session.ts";

const flags = {
  output: outputFlag,
  client: switchFlag({ name: "client", default: false, help: "only the version of this program; no cluster is asked" }),
};

/** The flags of `keyturn version`. */
export const versionFlags: readonly Flag[] = [...Object.values(flags), operatorFlags.kubeconfig, operatorFlags.context];

/** An operator that was found. */
interface FoundOperator {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
  readonly ready: number;
  readonly replicas: number;
}

/** Prints what is known. Rejects if the cluster was to be asked and does not answer. */
export async function versionCommand(given: Readonly<Record<string, string | undefined>>, console: Console): Promise<void> {
  const { output, client } = readFlags(flags, given, console.environment);
  const say = (report: Report): void => console.out(`${printed(report, output)}\n`);
  const own = { text: `keyturn ${version}`, data: { client: { version, node: process.version } } };
  if (client) return say(own);
  await inSession(given, console, async (session) => {
    const server = await serverVersion(session).catch((error: unknown) => {
      // What is known is said all the same, as kubectl does it.
      say(own);
      throw error;
    });
    const operators = await findOperators(session);
    const rows = [
      ["keyturn", version],
      ["kubernetes", server],
      ...(operators === "forbidden"
        ? [["operator", "not known: you may not list Deployments in all namespaces"]]
        : operators.map(({ namespace, name, image, ready, replicas }) => [
            "operator",
            `${image} (${ready} of ${replicas} ready, ${namespace}/${name})`,
          ])),
      ...(operators.length === 0 ? [["operator", "none found"]] : []),
    ];
    say({ text: renderRows(rows), data: { ...own.data, server: { version: server }, operators: operators === "forbidden" ? null : operators } });
  });
}

async function serverVersion({ client, signal }: Session): Promise<string> {
  return z.object({ gitVersion: z.string() }).parse(await client.request({ method: "GET", path: "/version" }, signal)).gitVersion;
}

/** The Deployments that the chart and the manifests label as ours. */
async function findOperators({ client, signal }: Session): Promise<readonly FoundOperator[] | "forbidden"> {
  try {
    const { items } = await client.list(Deployment, { labels: `app.kubernetes.io/name=${keyturn.name}` }, signal);
    return items.map(({ metadata, spec, status }) => ({
      namespace: metadata.namespace ?? "",
      name: metadata.name,
      image: spec?.template?.spec?.containers?.find(({ name }) => name === keyturn.name)?.image ?? "unknown image",
      ready: status?.readyReplicas ?? 0,
      replicas: spec?.replicas ?? 1,
    }));
  } catch (error) {
    if (isApiError(error, "Forbidden")) return "forbidden";
    throw error;
  }
}
