// `keyturn agent`: verified certificates on disk, for a gateway beside it.
import { resolve } from "node:path";
import { createLogger } from "@keyturn/runtime";
import type { ChangeNotice } from "../agent/gateway.ts";
import { agentFlags, identityOf, policyFlags } from "../agent/flags.ts";
import { runAgent } from "../agent/run-agent.ts";
import { readAnnouncementKeys } from "../controllers/checksum/flags.ts";
import { secretSelection } from "../controllers/checksum/member-kind.ts";
import { scopeChoiceIn } from "../controllers/checksum/scopes.ts";
import { readFlags, UsageError, type ValuesOf } from "../feature/flag.ts";
import { connect } from "./session.ts";
import { type Console, version } from "./command-line.ts";

/** The flags of `keyturn agent`. */
export const agentCommandFlags = [...Object.values(agentFlags), ...Object.values(policyFlags)];

/** Runs until asked to stop. Rejects with a `UsageError` for flags that cannot be used. */
export async function agentCommand(given: Readonly<Record<string, string | undefined>>, console: Console): Promise<void> {
  const { environment, signal } = console;
  const flags = readFlags(agentFlags, given, environment);
  const policies = readFlags(policyFlags, given, environment);
  const { namespace, dir } = flags;
  if (!namespace) throw new UsageError("--namespace: name the namespace whose certificates are to be served");
  if (!dir) throw new UsageError("--dir: name the folder to keep certificates in");
  const log = createLogger({ level: flags.logLevel, format: flags.logFormat });
  log.info({ version, namespace, dir }, "keyturn agent starts");
  await runAgent(
    {
      namespace,
      folder: resolve(dir),
      identity: identityOf(flags.identity),
      rules: {
        policies,
        staleAfterMs: flags.staleAfter,
        alarmAfterMs: flags.alarmAfter,
        limits: { vanishing: flags.maxVanishing, changing: flags.maxChanging },
        signedOnly: flags.announcementKeys !== undefined,
      },
      members: { rules: { versionAnnotations: flags.versionAnnotations }, selection: secretSelection(flags.secretTypes, flags.secretSelector) },
      scopeChoice: scopeChoiceIn(namespace, (flag) => readFlags({ flag }, given, environment).flag),
      keys: flags.announcementKeys === undefined ? undefined : readAnnouncementKeys(flags.announcementKeys),
      notice: noticeOf(flags),
      pauseMs: flags.pause,
      maxStalenessMs: flags.maxStaleness,
      verifyEveryMs: flags.verifyEvery,
      shareAbove: flags.shareAbove,
      lease: flags.lease,
      bindAddress: flags.bindAddress,
      connect: () => connect(flags, environment),
      environment,
      version,
      log,
    },
    signal,
  );
  log.info({}, "keyturn agent has stopped; what it promoted stays");
}

function noticeOf({ onChange, onChangeTimeout, signalPidFile, signal }: ValuesOf<typeof agentFlags>): ChangeNotice | undefined {
  if (onChange && signalPidFile) throw new UsageError("--on-change and --signal-pid-file: give one of them");
  if (onChange) return { type: "command", words: onChange, timeoutMs: onChangeTimeout };
  return signalPidFile ? { type: "signal", pidFile: signalPidFile, signal } : undefined;
}
