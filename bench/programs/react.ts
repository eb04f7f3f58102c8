// A whole operator with one controller that says when the reconcile that answers a change begins.
import { type ControllerDefinition, createLogger, runOperator, Secret, sleep, type StartedOperator, systemClock } from "@keyturn/runtime";
import { benchConnection, endWithInput, report } from "./contestant.ts";

const sequenceOf = (secret: Secret): string => secret.metadata.annotations?.["bench/sequence"] ?? "";

const reactor: ControllerDefinition = {
  name: "react",
  access: [{ kind: Secret, verbs: ["list", "watch"], why: "it answers their changes" }],
  setup(scope) {
    const sequences = scope.watch(Secret, { labels: "bench=react", keep: sequenceOf });
    scope.trigger(sequences);
    return async ({ key }) => {
      const atNs = String(process.hrtime.bigint());
      report({ type: "reconciled", sequence: sequences.get(key) ?? "", atNs });
    };
  },
};

endWithInput();
const connection = await benchConnection();
await runOperator(
  {
    operator: { name: "bench", domain: "bench.keyturn.io" },
    connection,
    controllers: [reactor],
    // As the peer: without election and without a port that another process may hold.
    leaderElection: { enabled: false },
    metricsBindAddress: "0",
    healthBindAddress: "0",
    log: createLogger({ destination: process.stderr }),
    onStarted: (operator) => void reportReady(operator),
  },
  new AbortController().signal,
);

async function reportReady(operator: StartedOperator): Promise<void> {
  while (!operator.controllers().every(({ ready }) => ready)) await sleep(systemClock, 20);
  report({ type: "ready" });
}
