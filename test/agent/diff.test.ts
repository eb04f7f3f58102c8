// `keyturn diff` on a real API server.
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { runKeyturn } from "../cli/keyturn-process.ts";
import { AgentNamespace, certificateFor } from "./agent-namespace.ts";

const cluster = useSharedCluster();

async function diff(world: AgentNamespace, ...args: readonly string[]): Promise<string> {
  const { code, out, err } = await runKeyturn("diff", "--kubeconfig", world.cluster.adminKubeconfig, "-n", world.namespace, ...args);
  expect(err).toBe("");
  expect(code).toBe(0);
  return out;
}

test("names every Secret that differs, and its direction", async () => {
  const world = await AgentNamespace.make(cluster(), "diff");
  const set = { "web-1": certificateFor("one.test"), "web-2": certificateFor("two.test") };
  for (const [name, certificate] of Object.entries(set)) await world.put(name, certificate);
  expect(await diff(world)).toBe(`namespace ${world.namespace}: 2 Secrets count, and there is no checksum\n`);

  const first = await world.publish(set);
  expect(await diff(world)).toBe(`namespace ${world.namespace}: 2 Secrets, exactly as checksum ${first} says\n`);

  const second = await world.publish({ "web-1": certificateFor("one.test", 2), "web-7": certificateFor("seven.test") });
  await world.put("web-8", { ...certificateFor("eight.test"), privateKey: certificateFor("eight.test").privateKey });
  const text = await diff(world);
  expect(text).toContain(`3 Secrets differ from checksum ${second}; they match ${first}, which is older`);
  expect(text).toMatch(/changed {5}web-1 is 1-1-[0-9a-f]{40} and should be 1-2-[0-9a-f]{40}/);
  expect(text).toMatch(/unexpected {2}web-2 \(2-1-[0-9a-f]{40}\) is not in the checksum/);
  expect(text).toMatch(/missing {5}the Secret with number 7 \(7-1-[0-9a-f]{40}\) is missing/);
  expect(text).toContain("left out    web-8 does not count: KeyMismatch");
  expect(text).not.toContain("PRIVATE");

  const data = JSON.parse(await diff(world, "-o", "json", "--all-namespaces")) as readonly Record<string, unknown>[];
  expect(data.find(({ namespace }) => namespace === world.namespace)).toMatchObject({ checksum: second, matches: first, secrets: 2 });
});
