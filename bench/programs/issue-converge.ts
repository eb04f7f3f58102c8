// The issuing controllers over all Kymas of one namespace, from nothing until every runtime that can be reached has its credentials.
import { type Change, createLogger, loadConfig, runOperator, type Stored } from "@keyturn/runtime";
import { EventingAuth } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { eventingAuthFeature } from "../../packages/keyturn/src/controllers/eventing-auth/feature.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { endWithInput, report } from "./contestant-line.ts";

const [namespace = "", system = "", wanted = "0"] = process.argv.slice(2);

endWithInput();
const flags: Readonly<Record<string, string>> = {
  "eventing-auth.credentials-namespace": system,
  "eventing-auth.kubeconfig-namespace": system,
  "eventing-auth.allow-http": "true",
};
const [first, ...others] = eventingAuthFeature.controllers((flag) => flag.parse(flags[flag.name] ?? flag.default));
if (!first) throw new Error("the feature has no controller");

const ready = new Set<string>();
const startedNs = process.hrtime.bigint();
await runOperator(
  {
    operator: keyturn,
    connection: await loadConfig({ kubeconfig: process.env["BENCH_KUBECONFIG"] ?? "", env: {} }),
    controllers: [
      {
        ...first,
        setup(scope) {
          const reconcile = first.setup(scope);
          scope.watch<EventingAuth>(EventingAuth, { namespace }).subscribe(count);
          return reconcile;
        },
      },
      ...others,
    ],
    namespaces: [namespace],
    leaderElection: { enabled: false },
    log: createLogger({ level: "error", destination: process.stderr }),
  },
  new AbortController().signal,
);

function count(change: Change<Stored<EventingAuth>>): void {
  if (!("value" in change) || change.value.status?.state !== "Ready") return;
  ready.add(change.key);
  if (ready.size === Number(wanted)) report({ type: "done", ms: Number(process.hrtime.bigint() - startedNs) / 1e6 });
}
