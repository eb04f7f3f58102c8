// The smallest controller with a child and a status: at most 40 lines, its name once, and it works, in virtual time.
import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { ConfigMap, isConditionTrue } from "@keyturn/runtime";
import { startVirtualCluster } from "@keyturn/runtime/testing";
import { Echo, echo, operator } from "../../examples/echo.ts";

const name = { namespace: "default", name: "hello" };

it("takes at most 40 lines, and the controller is named once", async () => {
  const code = await readFile(new URL("../../examples/echo.ts", import.meta.url), "utf8");
  const [, controller = ""] = code.split(/^(?=export const echo)/m);
  expect(controller.match(/"echo"/g)).toHaveLength(1);
  expect(controller.trimEnd().split("\n").length).toBeLessThanOrEqual(40);
});

it("keeps a child, repairs it, lets it go with its owner, and says so", async () => {
  await using cluster = startVirtualCluster({ operator, controllers: [echo], kinds: [Echo] });
  const { client } = cluster;
  await client.create(Echo, { metadata: name, spec: { message: "good morning" } });
  await cluster.settled();
  expect((await client.get(ConfigMap, name))?.data).toEqual({ message: "good morning" });
  expect(isConditionTrue((await client.get(Echo, name))?.status?.conditions, "Ready")).toBe(true);

  await client.delete(ConfigMap, name);
  await cluster.settled();
  expect((await client.get(ConfigMap, name))?.data).toEqual({ message: "good morning" });

  await client.delete(Echo, name);
  await cluster.settled();
  expect(await client.get(ConfigMap, name)).toBeUndefined();
});
