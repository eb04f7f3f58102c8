// The agent on one namespace and one folder, as `keyturn agent` runs it with its default flags.
import { createLogger } from "@keyturn/runtime";
import { agentFlags, policyFlags } from "../../packages/keyturn/src/agent/flags.ts";
import { runAgent } from "../../packages/keyturn/src/agent/run-agent.ts";
import { readFlags } from "../../packages/keyturn/src/feature/flag.ts";
import { benchConnection, endWithInput, report } from "./contestant.ts";
import { defaultLimits } from "../../packages/keyturn/src/controllers/checksum/blast-radius.ts";
import { secretSelection } from "../../packages/keyturn/src/controllers/checksum/member-kind.ts";

const [namespace = "", folder = ""] = process.argv.slice(2);

endWithInput();
const flags = readFlags(agentFlags, {}, {});
const startedMs = performance.now();
await runAgent(
  {
    namespace,
    folder,
    identity: "bench",
    rules: {
      policies: readFlags(policyFlags, {}, {}),
      staleAfterMs: flags.staleAfter,
      alarmAfterMs: flags.alarmAfter,
      limits: defaultLimits,
      signedOnly: false,
    },
    members: { rules: { versionAnnotations: flags.versionAnnotations }, selection: secretSelection(flags.secretTypes, undefined) },
    notice: undefined,
    pauseMs: 0,
    maxStalenessMs: flags.maxStaleness,
    verifyEveryMs: flags.verifyEvery,
    shareAbove: flags.shareAbove,
    lease: true,
    bindAddress: "127.0.0.1:0",
    connect: benchConnection,
    environment: process.env,
    version: "bench",
    log: createLogger({ level: "warn", destination: process.stderr }),
    // By then what is on the disk is verified and served.
    onStarted: (url) => report({ type: "started", url, ms: performance.now() - startedMs }),
  },
  new AbortController().signal,
);
