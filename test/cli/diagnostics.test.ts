// A look into a running process: asked for by a signal, written where the flag says, for nobody else to read.
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { soon, temporaryFolder, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, onTestFinished, test } from "vitest";
import { type KeyturnProcess, startKeyturn } from "../support/keyturn-process.ts";

const cluster = useSharedCluster();
const servers = ["--controllers=rotation", "--leader-elect=false", "--dry-run", "--metrics-bind-address=0", "--health-probe-bind-address=0"];

async function startRun(flags: readonly string[]): Promise<KeyturnProcess> {
  const keyturn = startKeyturn(["run", ...servers, ...flags], { KUBECONFIG: cluster().adminKubeconfig });
  onTestFinished(() => keyturn.kill("SIGKILL"));
  // Its listeners are there once the controllers are.
  await soon(() => expect(keyturn.output.out).toContain("controller state"));
  return keyturn;
}

test("SIGUSR2 writes a CPU profile and a heap snapshot, which only the owner can read, and the process goes on", async () => {
  const folder = await temporaryFolder();
  const keyturn = await startRun([`--diagnostics-dir=${folder}`]);
  keyturn.kill("SIGUSR2");
  await soon(() => expect(keyturn.output.out).toContain("diagnostics are written"));
  const files = (await readdir(folder)).toSorted();
  expect(files.map((file) => file.replace(/^keyturn-.*Z-\d+/, ""))).toEqual([".cpuprofile", ".heapsnapshot"]);
  for (const file of files) expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
  const [profile, snapshot] = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  expect(JSON.parse(profile ?? "")).toHaveProperty("nodes");
  expect(JSON.parse(snapshot ?? "")).toHaveProperty("snapshot.meta");
  keyturn.kill("SIGTERM");
  expect(await keyturn.exit).toBe(0);
});

test("without the flag nothing is written, and the process goes on", async () => {
  const keyturn = await startRun([]);
  keyturn.kill("SIGUSR2");
  await soon(() => expect(keyturn.output.out).toContain("--diagnostics-dir"));
  keyturn.kill("SIGTERM");
  expect(await keyturn.exit).toBe(0);
});
