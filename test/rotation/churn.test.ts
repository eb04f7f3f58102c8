// A source that changes ten times a second, hundreds of times, while connections are cut again and again.
import { setTimeout as wait } from "node:timers/promises";
import { startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { rotatingNamespace } from "./rotating-namespace.ts";
import { Witness } from "./witness.ts";

const cluster = useSharedCluster();
/** About a minute; how long it takes decides nothing. */
const enough = { changes: 300, cuts: 60 };

test("churn with cut connections: nothing unsettled is ever live, nothing that was live is lost, and little is kept", async () => {
  await using place = await rotatingNamespace(cluster(), "churn");
  await using proxy = await startFaultProxy(cluster());
  const operator = await place.startOperator({ kubeconfig: proxy.through(place.kubeconfig), elects: false });
  await place.putTargets(["10s", "2s", "1s"]);
  await place.putSource("calm");
  await place.holds({ t1: "calm", t2: "calm", t3: "calm" });
  using witness = await Witness.of(place);

  let changes = 0;
  let cuts = 0;
  let maxRecords = 0;
  let unstable = "";
  const goesOn = (): boolean => changes < enough.changes || cuts < enough.cuts || unstable === "";
  const cutting = (async () => {
    while (goesOn()) {
      cuts += 1;
      // Every other time only the watches, so that writes come through too.
      proxy.cut(changes % 2 === 0 ? { watch: true } : {});
      await wait(700);
      maxRecords = Math.max(maxRecords, (await place.records()).length);
      const progressing = await place.condition("t1", "Progressing");
      if (progressing?.reason === "SourceUnstable") unstable = progressing.message ?? "";
    }
  })();
  while (goesOn()) {
    changes += 1;
    await Promise.all([place.putSource(`v${changes}`), wait(100)]);
  }
  await cutting;
  expect(unstable).toContain("without ever staying");
  await place.eventSays("t1", "SourceUnstable");

  await place.holds({ t1: `v${changes}`, t2: "calm", t3: "calm" });
  await place.conditionSays("t1", "Progressing", "True Progressing");
  await witness.caughtUp();
  expect(witness.valuesOf("t1")).toEqual([`v${changes}`]);
  witness.expectOrder(["t1", "t2", "t3"]);
  // What is held, the newest, and what was on its way out when it was looked at: a run that is cut leaves that to the next.
  expect(maxRecords).toBeLessThanOrEqual(enough.changes / 10);
  await soon(async () => expect(await place.records()).toHaveLength(2));
  expect(operator.logLines.filter(({ level }) => level === "fatal")).toEqual([]);
});
