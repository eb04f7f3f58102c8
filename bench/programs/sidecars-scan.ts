// The sidecars controller over the fleet of one namespace, from nothing until it knows about every workload. It restarts none.
import { type ControllerScope, createLogger, loadConfig, runOperator } from "@keyturn/runtime";
import { sidecarsFeature } from "../../packages/keyturn/src/controllers/sidecars/feature.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { endWithInput, report } from "./contestant-line.ts";
import { probeLoopIfAsked } from "./loop-probe.ts";

const [wanted = "0", namespace = ""] = process.argv.slice(2);
const expected = Number(wanted);
/** How often it is looked whether all is known. */
const lookEveryMs = 10;
const given: Readonly<Record<string, string>> = {
  "sidecars.dry-run": "true",
  "sidecars.istiod-config-read-delay": "0",
  "sidecars.max-rollouts": "0",
};

endWithInput();
const [controller] = sidecarsFeature.controllers((flag) => flag.parse(given[flag.name]));
if (!controller) throw new Error("the feature has no controller");

const connection = await loadConfig({ kubeconfig: process.env["BENCH_KUBECONFIG"] ?? "", env: {} });
const endProbe = probeLoopIfAsked();
// As the loop that this is compared with: from here on.
const startedMs = performance.now();
await runOperator(
  {
    operator: keyturn,
    connection,
    controllers: [
      {
        ...controller,
        setup(scope) {
          const reconcile = controller.setup(scope);
          lookOut(scope);
          return reconcile;
        },
      },
    ],
    namespaces: [namespace],
    leaderElection: { enabled: false },
    log: createLogger({ level: "warn", destination: process.stderr }),
  },
  new AbortController().signal,
);

function lookOut({ metrics }: ControllerScope): void {
  const sum = async (name: string): Promise<number> =>
    (await metrics.registry.getSingleMetricAsString(name))
      .split("\n")
      .filter((line) => line.startsWith(`${name}{`))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(" "))), 0);
  const look = async (): Promise<void> => {
    const outdated = await sum("keyturn_sidecars_outdated_workloads");
    if (outdated < expected || (await sum("keyturn_sidecars_unknown_workloads")) > 0) return;
    clearInterval(looking);
    report({ type: "done", ms: performance.now() - startedMs, outdated, hold: endProbe?.() });
  };
  const looking = setInterval(() => void look(), lookEveryMs);
}
