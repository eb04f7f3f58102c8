// Two agents on one folder, as real processes: the second says who holds it and ends; one that was killed is in nobody's way.
import { existsSync } from "node:fs";
import { readdir, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { soon, temporaryFolder } from "@keyturn/runtime/testing/vitest";
import { type KeyturnProcess, startKeyturn } from "../support/keyturn-process.ts";

/** A kubeconfig whose API server does not answer: an agent then keeps what it has. */
const kubeconfig = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "away", cluster: { server: "https://127.0.0.1:1" } }],
  users: [{ name: "nobody", user: { token: "none" } }],
  contexts: [{ name: "away", context: { cluster: "away", user: "nobody" } }],
  "current-context": "away",
});

/** Starts agents on one folder. */
async function agentsOf(folder: string): Promise<(identity: string) => KeyturnProcess> {
  const file = join(await temporaryFolder(), "kubeconfig");
  await writeFile(file, kubeconfig, { mode: 0o600 });
  return (identity) => {
    const settings = ["--namespace", "shop", "--dir", folder, "--identity", identity, "--kubeconfig", file, "--bind-address", "0", "--lease=false"];
    const agent = startKeyturn(["agent", ...settings]);
    onTestFinished(async () => {
      agent.kill("SIGKILL");
      await agent.exit;
    });
    return agent;
  };
}

/** Waits until an agent has taken the folder and said how it fares there. */
async function serves(folder: string): Promise<void> {
  await soon(() => expect(existsSync(join(folder, "status.json"))).toBe(true));
}

async function socketsIn(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith(".sock"));
}

test("a second agent says who holds the folder and ends with 1; the first goes on, and leaves nothing behind when it is stopped", async () => {
  const folder = await temporaryFolder();
  const start = await agentsOf(folder);
  const first = start("web-1");
  await serves(folder);
  const second = start("web-2");
  expect(await second.exit).toBe(1);
  expect(second.output.err).toMatch(
    new RegExp(`^keyturn: ${folder} is held by the agent web-1 \\(process \\d+ on ${hostname()}, since 2.*Z\\): stop that one, or give`),
  );
  first.kill("SIGTERM");
  expect(await first.exit).toBe(0);
  expect(await socketsIn(folder)).toEqual([]);
});

test("an agent that was killed is followed by the next one at once, again and again", async () => {
  const folder = await temporaryFolder();
  const start = await agentsOf(folder);
  for (const identity of ["web-1", "web-2", "web-3"]) {
    const agent = start(identity);
    await serves(folder);
    expect(await socketsIn(folder)).toHaveLength(1);
    agent.kill("SIGKILL");
    expect(await agent.exit).toBe("SIGKILL");
    expect(agent.output.err).toBe("");
    // It has left its socket; what tells that the next one serves is made by that one.
    expect(await socketsIn(folder)).toHaveLength(1);
    await rm(join(folder, "status.json"));
  }
});

test("an agent that is stopped, and not gone, still holds its folder", async () => {
  const folder = await temporaryFolder();
  const start = await agentsOf(folder);
  const first = start("web-1");
  await serves(folder);
  first.kill("SIGSTOP");
  const second = start("web-2");
  expect(await second.exit).toBe(1);
  expect(second.output.err).toContain(`${folder} is held by another agent (it does not answer): stop that one, or give another --dir`);
});
