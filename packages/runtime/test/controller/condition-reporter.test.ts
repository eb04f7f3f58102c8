// How users hear of a reconcile that did not succeed: the condition Ready and an Event, on a real API server.
import { expect, it } from "vitest";
import * as z from "zod";
import {
  conditionsSchema,
  defineCustomKind,
  Event,
  findCondition,
  type ObjectOf,
  TerminalError,
  TransientError,
  WaitingError,
} from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { startFailing } from "../observe/failing-operator.ts";

const Task = defineCustomKind({
  group: "reporting.example",
  kind: "Task",
  scope: "Namespaced",
  versions: [{ name: "v1", spec: z.object({}), status: z.object({ note: z.string().optional(), conditions: conditionsSchema.optional() }) }],
});
type Task = ObjectOf<typeof Task>;

const cluster = useSharedCluster();

const errors: Readonly<Record<string, Error>> = {
  terminal: new TerminalError("the colour is not one that exists", { reason: "UnknownColour" }),
  transient: new TransientError("the paint shop is closed", { reason: "ShopClosed" }),
  waiting: new WaitingError("the brush has not arrived", { reason: "BrushMissing" }),
  unforeseen: new Error("token=very-secret-token"),
};

it("each kind of failure lands in Ready and in an Event, and leaves the rest of the status alone", async () => {
  const { client } = cluster();
  const runs = Object.fromEntries(Object.entries(errors).map(([name, error]) => [name, () => Promise.reject(error)]));
  await using failing = await startFailing(cluster(), Task, { object: { spec: {}, status: { note: "ours" } }, runs });
  const { namespace, operator } = failing;
  const readyOf = async (name: string) => findCondition((await client.get<Task>(Task, { namespace, name }))?.status?.conditions, "Ready");
  const expected = {
    terminal: { status: "False", reason: "UnknownColour", message: "the colour is not one that exists", observedGeneration: 1 },
    transient: { status: "False", reason: "ShopClosed", message: "the paint shop is closed" },
    waiting: { status: "False", reason: "BrushMissing", message: "the brush has not arrived" },
    unforeseen: { status: "False", reason: "InternalError" },
  };
  for (const [name, condition] of Object.entries(expected)) await soon(async () => expect(await readyOf(name)).toMatchObject(condition));
  expect((await client.get<Task>(Task, { namespace, name: "terminal" }))?.status?.note).toBe("ours");

  const eventsSeen = async () =>
    (await client.list(Event, { namespace })).items.map(({ type, reason, regarding }) => `${type} ${reason} ${regarding?.kind} ${regarding?.name}`);
  await soon(async () =>
    expect(await eventsSeen()).toEqual(
      expect.arrayContaining([
        "Warning UnknownColour Task terminal",
        "Warning ShopClosed Task transient",
        "Normal BrushMissing Task waiting",
        "Warning InternalError Task unforeseen",
      ]),
    ),
  );

  // What nobody foresaw may quote anything, so its message goes nowhere.
  const everything = JSON.stringify([operator.logLines, await eventsSeen(), await readyOf("unforeseen"), await operator.metrics()]);
  expect(everything).not.toContain("very-secret-token");

  // The same failure again is no news for the condition.
  const before = (await client.get<Task>(Task, { namespace, name: "transient" }))?.metadata.resourceVersion;
  const retries = () => operator.logLines.filter(({ key, reason }) => key === `${namespace}/transient` && reason === "ShopClosed").length;
  const seen = retries();
  await soon(() => expect(retries()).toBeGreaterThan(seen));
  expect((await client.get<Task>(Task, { namespace, name: "transient" }))?.metadata.resourceVersion).toBe(before);
});
