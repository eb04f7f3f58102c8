// The page as it is written: what is behind first, then all goals, then the figures.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "@keyturn/runtime/testing/vitest";
import { type BenchRun, goalTable, readRun, resultsPage, withNewer, writeRun } from "./results.ts";

const ratio = { text: "digest: time", contestant: "a", metric: "ms", type: "ratio", of: "b", atMost: 1.1 } as const;
const limit = { text: "hold, ms", contestant: "a", metric: "hold", type: "limit", below: 25, over: "worst" } as const;
const growth = { text: "CPU against Secrets", metric: "ms", type: "growth", sizes: { a: 1 }, resolution: 1, atMost: 1.1 } as const;

test("goals are shown with what was wanted and reached", () => {
  const reached = { median: 0.714, lowest: 0.6, highest: 0.8, rounds: 3 };
  const table = goalTable([
    { goal: ratio, reached, met: true },
    { goal: ratio, reached: { median: 0.0034, lowest: 0.003, highest: 0.004, rounds: 3 }, met: true },
    { goal: limit, reached: { median: 12, lowest: 9, highest: 131.4, rounds: 3 }, met: false },
    { goal: growth, reached, met: true },
    { goal: ratio, reached: undefined, met: true },
    { goal: ratio, reached: undefined, met: false },
  ]);
  expect(table).toMatchInlineSnapshot(`
    "| goal                |              wanted |                  reached |                                |
    | ------------------- | ------------------: | -----------------------: | -----------------------------: |
    | digest: time        |              ≤ 1.1× |        0.71× (0.60–0.80) |                            met |
    | digest: time        |              ≤ 1.1× |     0.003× (0.003–0.004) |                            met |
    | hold, ms            | < 25 in every round |           12.0 (9.0–131) | **missed**, not in every round |
    | CPU against Secrets |   ≤ 1.1× of N log N |        0.71× (0.60–0.80) |                            met |
    | digest: time        |              ≤ 1.1× | the other did not finish |                            met |
    | digest: time        |              ≤ 1.1× |           did not finish |                     **missed** |"
  `);
});

const contestant = (id: string, label: string) => ({ id, label, settings: `${label} 1.0`, command: { file: `/home/me/${id}`, args: [] } });
const run: BenchRun = {
  command: "make bench",
  date: "2026-11-15",
  facts: ["2 cores"],
  failures: [{ scenario: "recovery", message: "no peer came back" }],
  results: [
    {
      scenario: {
        id: "race",
        title: "A race",
        method: "They run.",
        contestants: [],
        metrics: [
          { id: "ms", label: "time", unit: "ms" },
          { id: "hold", label: "hold", unit: "ms" },
        ],
        goals: [ratio, limit],
      },
      results: [
        { contestant: contestant("a", "Keyturn"), samples: [{ ms: 100, hold: 30.123_456_789 }] },
        { contestant: contestant("b", "a peer"), samples: [{ ms: 200 }] },
      ],
      rounds: 1,
      tookMs: 61_000,
    },
  ],
};

test("the page tells what was missed and what was not measured before anything else", () => {
  expect(resultsPage(run)).toMatchInlineSnapshot(`
    "# Results

    Written by \`make bench\` on 2026-11-15, in 1 minutes; how it was measured is in [README.md](README.md), and every round of it in [results.json](results.json). Ratios are what counts: both sides of a ratio ran in the same round on the same machine. Each figure is the median of its rounds, with the lowest and the highest behind it; where nothing is behind it, there was one round.

    - 2 cores

    ## Not measured

    - recovery: no peer came back

    ## Where it is behind

    1 of 2 goals were missed, 1 of them in every round. Two more that were missed are no longer measured: [README.md](README.md#not-met).

    | goal     |              wanted | reached |            |
    | -------- | ------------------: | ------: | ---------: |
    | hold, ms | < 25 in every round |    30.1 | **missed** |

    ## Goals

    | goal         |              wanted | reached |            |
    | ------------ | ------------------: | ------: | ---------: |
    | digest: time |              ≤ 1.1× |   0.50× |        met |
    | hold, ms     | < 25 in every round |    30.1 | **missed** |

    ## Who took part

    - Keyturn 1.0
    - a peer 1.0

    ## A race

    They run.

    | contestant | time, ms | hold, ms |
    | ---------- | -------: | -------: |
    | Keyturn    |      100 |     30.1 |
    | a peer     |      200 |          |

    \`race\`: 1 round in 61 s.

    "
  `);
});

test("a run is kept without what belongs to the machine, and its page can be written again from what was kept", async () => {
  const kept = join(await temporaryFolder(), "results.json");
  writeRun(run, kept);
  expect(readFileSync(kept, "utf8")).not.toContain("/home/me");
  expect(resultsPage(readRun(kept))).toBe(resultsPage(run));
});

test("what is measured later by itself takes its place in the run, with its date and what differs of the machine", () => {
  const [race] = run.results;
  if (!race) throw new Error("the run has a result");
  const later = (id: string): BenchRun => ({
    ...run,
    date: "2026-11-18",
    facts: ["2 cores", "Linux 7"],
    results: [{ ...race, scenario: { ...race.scenario, id, title: id }, rounds: 5 }],
  });
  const ids = ["race", "walk"];
  const both = withNewer(run, later("walk"), ids);
  expect(both.results.map(({ scenario, rounds }) => [scenario.id, rounds])).toEqual([
    ["race", 1],
    ["walk", 5],
  ]);
  expect(resultsPage(both)).toContain("`walk`: 5 rounds in 61 s, measured by itself: 2026-11-18; Linux 7.");
  expect(withNewer(both, later("race"), ids).results.map(({ scenario, rounds }) => [scenario.id, rounds])).toEqual([
    ["race", 5],
    ["walk", 5],
  ]);
});
