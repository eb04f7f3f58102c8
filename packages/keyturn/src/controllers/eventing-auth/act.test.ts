// What one run never does, whatever is planned.
import { expect, test } from "vitest";
import { carryOutAct, type StepContext } from "./act.ts";
import { IssuingWorld } from "./issuing-world.fixture.ts";

test("a run that has asked for an application asks for no other, and writes nothing", async () => {
  const used: string[] = [];
  const watched = (name: string): unknown => new Proxy({}, { get: (_target, key) => void used.push(`${name}.${String(key)}`) });
  const context = { provider: watched("provider"), run: watched("run"), shared: { hasAsked: true } } as unknown as StepContext;
  await expect(carryOutAct({ type: "create" }, new IssuingWorld().observe(), context)).rejects.toThrow("an application was asked for in this run");
  expect(used).toEqual([]);
});
