// The controllers of one feature in their world: they work until there is nothing to do, and then tell how many requests they have made whenever they are asked.
import { createHttpTransport, createLogger, loadConfig, runOperator } from "@keyturn/runtime";
import * as z from "zod";
import { chooseFeatures, controllersOf } from "../../packages/keyturn/src/registry.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { endWithInput, report } from "./contestant-line.ts";
import { countedTransport } from "./counted-transport.ts";
import { whenQuiet } from "./quiet.ts";

const wishes = z.object({ feature: z.string(), namespaces: z.array(z.string()), flags: z.record(z.string(), z.string()) });
const { feature, namespaces, flags } = wishes.parse(JSON.parse(process.argv[2] ?? ""));

endWithInput();
let requests = 0;
process.stdin.on("data", () => report({ type: "count", requests }));
void whenQuiet(() => requests).then(() => report({ type: "quiet" }));
const connection = await loadConfig({ kubeconfig: process.env["BENCH_KUBECONFIG"] ?? "", env: {} });
await runOperator(
  {
    operator: keyturn,
    connection,
    controllers: controllersOf(chooseFeatures(feature), flags, {}),
    namespaces,
    leaderElection: { enabled: false },
    log: createLogger({ level: "error", destination: process.stderr }),
    transport: countedTransport(createHttpTransport(connection), () => (requests += 1)),
  },
  new AbortController().signal,
);
