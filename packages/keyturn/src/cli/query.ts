// Commands that answer a question about a cluster: how they are connected, and how the answer is printed.
import { createClient, createHttpTransport, systemClock, systemRandom } from "@keyturn/runtime";
import { stringify } from "yaml";
import type { Query, Report } from "../controllers/report.ts";
import { choiceFlag, readFlags, switchFlag, textFlag } from "../flags/flag.ts";
import { operatorFlags } from "../flags/operator-flags.ts";
import { connect } from "./connection.ts";
import type { Console } from "./console.ts";

const flags = {
  namespace: textFlag({ name: "namespace", short: "n", placeholder: "NAMESPACE", help: "where to look; otherwise the kubeconfig's namespace" }),
  output: choiceFlag({ name: "output", short: "o", choices: ["table", "json", "yaml"], default: "table", help: "how to print the answer" }),
  kubeconfig: operatorFlags.kubeconfig,
  context: operatorFlags.context,
};

/** For commands that can look everywhere at once. */
export const allNamespacesFlag = switchFlag({ name: "all-namespaces", short: "A", default: false, help: "look in every namespace" });

/** The flags that every such command takes. */
export const queryFlags = Object.values(flags);

/** Asks with the person's own kubeconfig and rights, and prints the answer. Rejects with a `UsageError` for a kubeconfig that cannot be used. */
export async function answerQuery(
  given: Readonly<Record<string, string | undefined>>,
  console: Console,
  answer: (query: Query) => Promise<Report>,
): Promise<void> {
  const { output, ...where } = readFlags(flags, given, console.environment);
  const connection = await connect(where, console.environment);
  const transport = createHttpTransport({ ...connection, env: console.environment, userAgent: "keyturn", clock: systemClock });
  try {
    const client = createClient(transport, { clock: systemClock, random: systemRandom });
    const namespace = where.namespace ?? connection.namespace ?? "default";
    console.out(`${printed(await answer({ client, namespace, nowMs: systemClock.now(), signal: console.signal }), output)}\n`);
  } finally {
    transport.close();
  }
}

function printed({ text, data }: Report, output: "table" | "json" | "yaml"): string {
  if (output === "table") return text;
  return output === "json" ? JSON.stringify(data, undefined, 2) : stringify(data).trimEnd();
}
