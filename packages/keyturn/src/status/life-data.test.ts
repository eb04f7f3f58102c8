import { expect, it } from "vitest";
import { lifeData } from "./life-data.ts";
import { lifeWith, nowMs, summary } from "./life.fixture.ts";

it("has every fact, with times that programs can read", () => {
  const life = lifeWith({ rotate: [summary({ next: { atMs: nowMs + 1000, what: "gets version 2" } })] });
  expect(lifeData(life)).toMatchObject({
    time: "2026-01-02T03:04:05.000Z",
    namespace: "shop",
    steps: [
      { step: "issue", controller: "eventing-auth", counts: { healthy: 0 } },
      {
        step: "rotate",
        counts: { attention: 0, unknown: 0, moving: 0, paused: 0, healthy: 1 },
        leases: [{ controller: "rotation", holder: "keyturn-0", state: "held" }],
        objects: [{ name: "a", since: "2026-01-02T02:59:05.000Z", next: { at: "2026-01-02T03:04:06.000Z", what: "gets version 2" }, about: ["a"] }],
      },
      {},
      {},
      {},
    ],
  });
});
