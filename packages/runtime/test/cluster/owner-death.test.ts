// However the process that owns a cluster ends, its servers and files go with it.
import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { soon, temporaryFolder } from "@keyturn/runtime/testing/vitest";
import { isRunning } from "../../src/testing/cluster/server-process.ts";

const owner = (ending: string): string => `
import { startCluster } from "@keyturn/runtime/testing";
const cluster = await startCluster();
await cluster.etcd.pause();
console.log(JSON.stringify({ folder: cluster.folder, pids: cluster.servers.map(({ pid }) => pid) }));
${ending}
`;
const waits = "await new Promise((resolve) => setTimeout(resolve, 600_000));";

const endings: readonly { readonly how: string; readonly script: string; readonly signal?: NodeJS.Signals }[] = [
  { how: "is killed with SIGKILL", script: waits, signal: "SIGKILL" },
  { how: "is ended with SIGTERM", script: waits, signal: "SIGTERM" },
  { how: "is interrupted with SIGINT", script: waits, signal: "SIGINT" },
  { how: "throws", script: 'throw new Error("on purpose");' },
  { how: "simply ends", script: "" },
];

describe("when its owner", () => {
  it.concurrent.for(endings)("$how, a cluster leaves no process and no folder", async ({ script, signal }) => {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", owner(script)], {
      cwd: import.meta.dirname,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const exited = once(child, "exit");
    const [line]: unknown[] = await once(child.stdout, "data");
    const { folder, pids } = JSON.parse(String(line)) as { readonly folder: string; readonly pids: readonly number[] };
    expect(pids).toHaveLength(2);
    if (signal) child.kill(signal);
    await exited;
    await soon(() => {
      expect(pids.filter(isRunning)).toEqual([]);
      expect(existsSync(folder)).toBe(false);
    });
  });

  it("is killed while the cluster is starting, there is nothing left either", async () => {
    // A place of its own: elsewhere on this machine others start clusters, too.
    const place = await temporaryFolder();
    const env = { ...process.env, TMPDIR: place };
    const child = spawn(process.execPath, ["--input-type=module", "--eval", owner(waits)], { cwd: import.meta.dirname, env, stdio: "ignore" });
    const exited = once(child, "exit");
    const mine = (): string[] => readdirSync(place).filter((name) => existsSync(join(place, name, "pids/etcd")));
    // Looked for all the time: a cluster is starting only for a moment.
    await vi.waitFor(() => expect(mine()).not.toEqual([]), { timeout: 300_000, interval: 1 });
    const [name = ""] = mine();
    child.kill("SIGKILL");
    await exited;
    await soon(() => expect(existsSync(join(place, name))).toBe(false));
  });
});
