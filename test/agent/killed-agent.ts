// An agent in a process of its own that kills itself (SIGKILL) at a step of its work on the disk.
// Arguments: the settings as JSON. Prints one line of JSON per status, and a line `steps` with what it has done to the disk when it is verified.
import { createLogger, loadConfig } from "@keyturn/runtime";
import { runAgent } from "../../packages/keyturn/src/agent/run-agent.ts";
import { type Disk, systemDisk } from "../../packages/keyturn/src/agent/disk.ts";
import { policyFlags } from "../../packages/keyturn/src/agent/flags.ts";
import type { Policies } from "../../packages/keyturn/src/agent/situations.ts";
import { defaultVersionAnnotation } from "../../packages/keyturn/src/controllers/checksum/object-id.ts";

/** How it is started. */
export interface KilledAgentSettings {
  readonly namespace: string;
  readonly folder: string;
  readonly kubeconfig: string;
  readonly command: readonly [string, ...string[]];
  /** The step that is its last, counted from the first one that writes a generation. */
  readonly killAt: number;
}

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
const { makeFolder, writeNew, link, symlink, rename, flushFolder, remove } = systemDisk;
const disk: Disk = {
  ...systemDisk,
  makeFolder: step(makeFolder),
  writeNew: step(writeNew),
  link: step(link),
  symlink: step(symlink),
  rename: step(rename),
  flushFolder: step(flushFolder),
  remove: step(remove),
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
    },
    members: { rules: { versionAnnotations: [defaultVersionAnnotation] }, labels: undefined, types: "tls" },
    notice: { type: "command", words: settings.command, timeoutMs: 30_000 },
    pauseMs: 1000,
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
