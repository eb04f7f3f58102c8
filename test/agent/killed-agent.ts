// An agent in a process of its own that kills itself (SIGKILL) at a step of its work on the disk.
// Its one argument is the settings as JSON; it logs to standard output as the program does.
import { flushCompileCache } from "node:module";
import { createLogger, loadConfig } from "@keyturn/runtime";
import { runAgent } from "../../packages/keyturn/src/agent/run-agent.ts";
import { type Disk, systemDisk } from "../../packages/keyturn/src/agent/disk.ts";
import { policyFlags } from "../../packages/keyturn/src/agent/flags.ts";
import type { Policies } from "../../packages/keyturn/src/agent/alarm-policies.ts";
import { defaultVersionAnnotation } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { defaultLimits } from "../../packages/keyturn/src/controllers/checksum/blast-radius.ts";
import { secretSelection } from "../../packages/keyturn/src/controllers/checksum/member-kind.ts";

/** How it is started. */
export interface KilledAgentSettings {
  readonly namespace: string;
  readonly folder: string;
  readonly kubeconfig: string;
  readonly command: readonly [string, ...string[]];
  /** The step that is its last, counted from the first one that writes a snapshot. */
  readonly killAt: number;
}

// Agents that follow start sooner. One that is killed would write nothing.
flushCompileCache();

const settings = JSON.parse(process.argv[2] ?? "") as KilledAgentSettings;
let steps = 0;
let isPromoting = false;

const step = <Args extends readonly unknown[]>(act: (...args: Args) => Promise<void>): ((...args: Args) => Promise<void>) => {
  return async (...args) => {
    if (String(args[0]).includes("/generations/")) isPromoting = true;
    if (isPromoting && steps++ === settings.killAt) {
      process.kill(process.pid, "SIGKILL");
      // Nothing may happen between the signal's being sent and its arrival.
      await new Promise(() => undefined);
    }
    return act(...args);
  };
};
const disk: Disk = {
  ...systemDisk,
  makeFolder: step((path: string) => systemDisk.makeFolder(path)),
  writeNew: step((path: string, content: string | Uint8Array, mode: number) => systemDisk.writeNew(path, content, mode)),
  link: step((existing: string, path: string) => systemDisk.link(existing, path)),
  symlink: step((target: string, path: string) => systemDisk.symlink(target, path)),
  rename: step((from: string, to: string) => systemDisk.rename(from, to)),
  flush: step((path: string) => systemDisk.flush(path)),
  remove: step((path: string) => systemDisk.remove(path)),
};

const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
await runAgent(
  {
    namespace: settings.namespace,
    folder: settings.folder,
    identity: "killed",
    rules: {
      policies: Object.fromEntries(Object.keys(policyFlags).map((situation) => [situation, "keep"])) as Policies,
      staleAfterMs: 600_000,
      alarmAfterMs: 0,
      limits: defaultLimits,
      signedOnly: false,
    },
    members: { rules: { versionAnnotations: [defaultVersionAnnotation] }, selection: secretSelection("tls", undefined) },
    notice: { type: "command", words: settings.command, timeoutMs: 300_000 },
    // The next agent begins anew as soon as this one is dead: on a busy machine nginx takes its time to read what it was told of.
    pauseMs: 5000,
    maxStalenessMs: 0,
    verifyEveryMs: 600_000,
    shareAbove: 1000,
    lease: false,
    bindAddress: "0",
    connect: () => loadConfig({ kubeconfig: settings.kubeconfig, env: {} }),
    environment: { PATH: process.env["PATH"] },
    version: "test",
    disk,
    log: createLogger({ level: "info" }),
  },
  stop.signal,
);
