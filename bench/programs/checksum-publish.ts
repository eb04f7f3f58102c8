// The checksum controller over one namespace: says when each checksum is published.
import { createLogger, loadConfig, runOperator } from "@keyturn/runtime";
import { checksumFeature } from "../../packages/keyturn/src/controllers/checksum/feature.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { endWithInput, report } from "./contestant-line.ts";

const [namespace = ""] = process.argv.slice(2);

endWithInput();
const flags: Readonly<Record<string, string>> = {
  "checksum.kinds": "secrets",
  "checksum.namespaces": namespace,
  "checksum.keep": "1",
  // What is waited for on purpose would only hide what is worked.
  "checksum.settle": "0s",
};
const startedMs = performance.now();
await runOperator(
  {
    operator: keyturn,
    connection: await loadConfig({ kubeconfig: process.env["BENCH_KUBECONFIG"] ?? "", env: {} }),
    controllers: checksumFeature.controllers((flag) => flag.parse(flags[flag.name])),
    namespaces: [namespace],
    leaderElection: { enabled: false },
    // The controller's own word: a watch of the checksums would be work that is not its own.
    log: createLogger({
      level: "info",
      destination: {
        write: (line) => void (line.includes('"published a checksum"') && report({ type: "published", ms: performance.now() - startedMs })),
      },
    }),
  },
  new AbortController().signal,
);
