// The goal table as it is printed.
import { expect, test } from "vitest";
import { goalTable } from "./results-page.ts";

test("goals are shown with what was wanted and reached", () => {
  const reached = { median: 0.714, lowest: 0.6, highest: 0.8, rounds: 3 };
  const ratio = { text: "digest: time", contestant: "a", metric: "ms", type: "ratio", of: "b", atMost: 1.1 } as const;
  const limit = { text: "hold, ms", contestant: "a", metric: "hold", type: "limit", below: 25, over: "worst" } as const;
  const table = goalTable([
    { goal: ratio, reached, met: true },
    { goal: limit, reached: { median: 12, lowest: 9, highest: 131.4, rounds: 3 }, met: false },
  ]);
  expect(table).toMatchInlineSnapshot(`
    "| goal         |              wanted |           reached |            |
    | ------------ | ------------------: | ----------------: | ---------: |
    | digest: time |              ≤ 1.1× | 0.71× (0.60–0.80) |        met |
    | hold, ms     | < 25 in every round |    12.0 (9.0–131) | **missed** |"
  `);
});
