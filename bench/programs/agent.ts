// The agent on one namespace and one folder, as `keyturn agent` runs it.
import { createLogger, loadConfig } from "@keyturn/runtime";
import { agentFlags, policyFlags } from "../../packages/keyturn/src/agent/flags.ts";
import { runAgent } from "../../packages/keyturn/src/agent/run-agent.ts";
import { readFlags } from "../../packages/keyturn/src/feature/flag.ts";
import { endWithInput, report } from "./contestant-line.ts";

const [namespace = "", folder = "", ...command] = process.argv.slice(2);

endWithInput();
const flags = readFlags(agentFlags, {}, {});
const startedNs = process.hrtime.bigint();
await runAgent(
  {
    namespace,
    folder,
    identity: "bench",
    rules: { policies: readFlags(policyFlags, {}, {}), staleAfterMs: flags.staleAfter, alarmAfterMs: flags.alarmAfter },
    members: { rules: { versionAnnotations: flags.versionAnnotations }, labels: undefined, types: flags.secretTypes },
    notice: { type: "command", words: [command[0] ?? "true", ...command.slice(1)], timeoutMs: 120_000 },
    pauseMs: 0,
    maxStalenessMs: flags.maxStaleness,
    verifyEveryMs: flags.verifyEvery,
    shareAbove: flags.shareAbove,
    lease: true,
    bindAddress: "127.0.0.1:0",
    connect: () => loadConfig({ kubeconfig: process.env["BENCH_KUBECONFIG"] ?? "", env: {} }),
    environment: process.env,
    version: "bench",
    log: createLogger({ level: "warn", destination: process.stderr }),
    onStarted: (url) => report({ type: "started", url, ms: Number(process.hrtime.bigint() - startedNs) / 1e6 }),
  },
  new AbortController().signal,
);
