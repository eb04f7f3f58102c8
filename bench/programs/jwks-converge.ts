// The JWKS controller over all objects of one namespace, from nothing until every one is published and its nginx objects are there.
import { type Change, createLogger, loadConfig, runOperator, type Stored } from "@keyturn/runtime";
import { JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { jwksFeature, jwksFlags } from "../../packages/keyturn/src/controllers/jwks/feature.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { endWithInput, report } from "./contestant-line.ts";

const [namespace = "", wanted = "0"] = process.argv.slice(2);

endWithInput();
const [controller] = jwksFeature.controllers((flag) =>
  // The limits would only be waited for: the loop that this is compared with has none.
  [jwksFlags.reconcileInterval.name, jwksFlags.configMapInterval.name].includes(flag.name) ? flag.parse("0s") : flag.parse(flag.default),
);
if (!controller) throw new Error("the feature has no controller");

const published = new Set<string>();
const startedNs = process.hrtime.bigint();
await runOperator(
  {
    operator: keyturn,
    connection: await loadConfig({ kubeconfig: process.env["BENCH_KUBECONFIG"] ?? "", env: {} }),
    controllers: [
      {
        ...controller,
        setup(scope) {
          const reconcile = controller.setup(scope);
          scope.watch<JWKSConfig>(JWKSConfig, { namespace }).subscribe(count);
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

function count(change: Change<Stored<JWKSConfig>>): void {
  if (!("value" in change) || !change.value.status?.conditions?.some(({ type, status }) => type === "Published" && status === "True")) return;
  published.add(change.key);
  if (published.size === Number(wanted)) report({ type: "done", ms: Number(process.hrtime.bigint() - startedNs) / 1e6 });
}
