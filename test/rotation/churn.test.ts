// A source that changes ten times a second for a minute, while connections are cut again and again.
import { setTimeout as wait } from "node:timers/promises";
import { startFaultProxy } from "@keyturn/runtime/testing";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { rotatingNamespace, soon } from "./rotating-namespace.ts";
import { Witness } from "./witness.ts";

const cluster = useSharedCluster();
const churnMs = 60_000;

test(
  "a minute of churn with cut connections: nothing unsettled is ever live, nothing that was live is lost, and little is kept",
  { timeout: 240_000 },
  async () => {
    await using place = await rotatingNamespace(cluster(), "churn");
    await using proxy = await startFaultProxy(cluster());
    const operator = await place.startOperator({ kubeconfig: proxy.through(place.kubeconfig), elects: false });
    await place.putTargets(["10s", "2s", "1s"]);
    await place.putSource("calm");
    await place.holds({ t1: "calm", t2: "calm", t3: "calm" });
    using witness = await Witness.of(place);

    const endAtMs = Date.now() + churnMs;
    let changes = 0;
    let maxRecords = 0;
    let unstable = "";
    const cutting = (async () => {
      while (Date.now() < endAtMs) {
        // Every other time only the watches, so that writes come through too.
        proxy.cut(changes % 2 === 0 ? { watch: true } : {});
        await wait(700);
        maxRecords = Math.max(maxRecords, (await place.records()).length);
        const progressing = await place.condition("t1", "Progressing");
        if (progressing?.reason === "SourceUnstable") unstable = progressing.message ?? "";
      }
    })();
    while (Date.now() < endAtMs) {
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
    // What is held, the newest, and what was on its way out when it was looked at.
    expect(maxRecords).toBeLessThanOrEqual(10);
    await soon(async () => expect(await place.records()).toHaveLength(2));
    expect(changes).toBeGreaterThan(100);
    expect(operator.logLines.filter(({ level }) => level === "fatal")).toEqual([]);
  },
);
