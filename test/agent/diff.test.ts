// `keyturn diff` on a real API server.
import { delayBy, startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, onTestFinished, test } from "vitest";
import { type KeyturnProcess, runKeyturn, startKeyturn } from "../support/keyturn-process.ts";
import { AgentNamespace, certificateFor } from "./agent-namespace.ts";

const cluster = useSharedCluster();

/** What it prints; it exits with 1 if something differs. */
async function diff(world: AgentNamespace, differs: boolean, ...args: readonly string[]): Promise<string> {
  const { code, out, err } = await runKeyturn("diff", "--kubeconfig", world.cluster.adminKubeconfig, "-n", world.namespace, ...args);
  expect(err).toBe("");
  expect(code).toBe(differs ? 1 : 0);
  return out;
}

test("names every Secret that differs, and its direction", async () => {
  const world = await AgentNamespace.make(cluster(), "diff");
  const set = { "web-1": certificateFor("one.test"), "web-2": certificateFor("two.test") };
  for (const [name, certificate] of Object.entries(set)) await world.put(name, certificate);
  expect(await diff(world, false)).toBe(`namespace ${world.namespace}: 2 Secrets count, and there is no checksum\n`);

  const first = await world.publish(set);
  expect(await diff(world, false)).toBe(`namespace ${world.namespace}: 2 Secrets, exactly as checksum ${first} says\n`);

  const second = await world.publish({ "web-1": certificateFor("one.test", 2), "web-7": certificateFor("seven.test") });
  await world.put("web-8", { ...certificateFor("eight.test"), privateKey: certificateFor("eight.test").privateKey });
  const text = await diff(world, true);
  expect(text).toContain(`3 Secrets differ from checksum ${second}; they match ${first}, which is older`);
  expect(text).toMatch(/changed {5}web-1 is 1-1-[0-9a-f]{40} and should be 1-2-[0-9a-f]{40}/);
  expect(text).toMatch(/unexpected {2}web-2 \(2-1-[0-9a-f]{40}\) is not in the checksum/);
  expect(text).toMatch(/missing {5}the Secret with number 7 \(7-1-[0-9a-f]{40}\) is missing/);
  expect(text).toContain("left out    web-8 does not count: KeyMismatch");
  expect(text).not.toContain("PRIVATE");

  const data = JSON.parse(await diff(world, true, "-o", "json", "--all-namespaces")) as readonly Record<string, unknown>[];
  expect(data.find(({ namespace }) => namespace === world.namespace)).toMatchObject({ checksum: second, matches: first, secrets: 2 });
});

/** `keyturn diff --watch`, which ends with the test at the latest. */
function follow({ namespace }: AgentNamespace, kubeconfig: string, ...args: readonly string[]): KeyturnProcess {
  const keyturn = startKeyturn(["diff", "--watch", "--kubeconfig", kubeconfig, "-n", namespace, ...args]);
  onTestFinished(() => keyturn.kill("SIGKILL"));
  return keyturn;
}

test("--watch prints the whole again after each change, and Ctrl-C ends it with exit code 0", async () => {
  const world = await AgentNamespace.make(cluster(), "diff-watch");
  await world.put("web-1", certificateFor("one.test"));
  const first = await world.publish();
  const keyturn = follow(world, cluster().adminKubeconfig);
  const place = `namespace ${world.namespace}:`;
  await soon(() => expect(keyturn.output.out).toBe(`${place} 1 Secrets, exactly as checksum ${first} says\n\n`));

  await world.put("web-2", certificateFor("two.test"));
  await soon(() =>
    expect(keyturn.output.out).toMatch(new RegExp(`1 Secrets differ from checksum ${first}\n  unexpected  web-2 \\(2-1-[0-9a-f]{40}\\) is not in`)),
  );
  const second = await world.publish();
  await soon(() => expect(keyturn.output.out).toContain(`${place} 2 Secrets, exactly as checksum ${second} says\n`));
  expect(keyturn.output.out.split(place)).toHaveLength(4);

  keyturn.kill("SIGINT");
  expect(await keyturn.exit).toBe(0);
  expect(keyturn.output.err).toBe("");
});

test("--watch -o json writes a line for each change", async () => {
  const world = await AgentNamespace.make(cluster(), "diff-lines");
  await world.put("web-1", certificateFor("one.test"));
  const keyturn = follow(world, cluster().adminKubeconfig, "-o", "json");
  const lines = (): readonly unknown[] => keyturn.output.out.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as unknown]));
  await soon(() => expect(lines()).toMatchObject([[{ namespace: world.namespace, secrets: 1 }]]));
  const checksum = await world.publish();
  await soon(() => expect(lines()).toMatchObject([[{ secrets: 1 }], [{ secrets: 1, checksum, matches: checksum, differences: [] }]]));
  keyturn.kill("SIGINT");
  expect(await keyturn.exit).toBe(0);
});

test("--watch ends well also when Ctrl-C comes while a question is under way", async () => {
  const world = await AgentNamespace.make(cluster(), "diff-slow");
  await using proxy = await startFaultProxy(cluster());
  const question = { path: /\/secretchecksums/, watch: false };
  using _slow = proxy.inject(delayBy(600_000, question));
  const keyturn = follow(world, proxy.through(cluster().adminKubeconfig));
  await soon(() => expect(proxy.underWay(question)).toBe(1));
  keyturn.kill("SIGINT");
  expect(await keyturn.exit).toBe(0);
  expect(keyturn.output).toEqual({ out: "", err: "" });
});
