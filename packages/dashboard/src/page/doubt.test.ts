import { describe, expect, it } from "vitest";
import { countHealth, type StageRecord } from "../contract/index.ts";
import { believedTable, type Connection, firstConnection } from "./live-picture.ts";
import { doubtsOn, healthOn, limitText, namespacesText, sharedDoubts, shownNamespaces } from "./doubt.ts";
import { recordFixture } from "./record.fixture.ts";

const live: Connection = { state: "live", sinceMs: 0, attempt: 0 };
const cut: Connection = { state: "cut", attempt: 0, cutAtMs: 7, retryAtMs: 8, why: "the server does not answer" };

function step(changes: Partial<StageRecord> = {}): StageRecord {
  const leader = { state: "led", message: "" } as const;
  return {
    type: "step",
    id: "step/jwks",
    step: "jwks",
    summary: "",
    state: "on",
    resources: ["jwks.a"],
    hidden: [],
    troubles: [],
    leader,
    ...changes,
  };
}
const trouble = (state: StageRecord["troubles"][number]["state"]): StageRecord["troubles"] => [{ resource: "jwks.a", state, message: "why" }];
const ok = countHealth([{ health: "healthy" }]);

it("a step that is known in full is as well as its objects", () => {
  expect(doubtsOn(live, step())).toEqual([]);
  expect(healthOn(live, step(), ok)).toBe("healthy");
  // One of two kinds that is not installed has no objects.
  expect(healthOn(live, step({ state: "limited", troubles: trouble("missing") }), ok)).toBe("healthy");
});

describe("a step is unknown, however well its objects looked last,", () => {
  it.each<readonly [string, StageRecord | undefined, Connection, readonly object[]]>([
    ["while the page is cut off", step(), cut, [{ about: "page", asOfMs: 7 }]],
    ["while the page connects again", step(), { state: "connecting", attempt: 1, cutAtMs: 7 }, [{ about: "page", asOfMs: 7 }]],
    ["before anything was read", undefined, firstConnection, [{ about: "loading" }]],
    [
      "while the API server does not answer",
      step({ troubles: trouble("retrying"), asOfMs: 5 }),
      live,
      [{ about: "server", message: "no answer: why", asOfMs: 5 }],
    ],
    [
      "if it may not be listed",
      step({ state: "limited", troubles: trouble("forbidden") }),
      live,
      [{ about: "rights", message: "no right to list jwks.a" }],
    ],
    ["if this viewer may not see it", step({ hidden: ["jwks.a"] }), live, [{ about: "rights", message: "no right to list jwks.a" }]],
    ["if nobody leads", step({ leader: { state: "none", message: "why" } }), live, [{ about: "leader", message: "no leader: why" }]],
    ["if it is not known who leads", step({ leader: { state: "unknown", message: "why" } }), live, [{ about: "leader" }]],
    ["while it is listed for the first time", step({ troubles: trouble("syncing") }), live, [{ about: "loading" }]],
  ])("%s", (_when, record, connection, doubts) => {
    expect(doubtsOn(connection, record)).toMatchObject(doubts);
    expect(healthOn(connection, record, ok)).toBe("unknown");
  });
});

it("a step of which only some namespaces can be seen is not well, but what is wrong there is", () => {
  const limited = step({ shownIn: ["shop"] });
  expect(doubtsOn(live, limited)).toEqual([]);
  expect(healthOn(live, limited, ok)).toBe("unknown");
  expect(healthOn(live, limited, countHealth([{ health: "failed" }, { health: "healthy" }]))).toBe("failed");
  expect(shownNamespaces([step(), limited, step({ shownIn: ["a", "shop"] })])).toEqual(["a", "shop"]);
  expect(shownNamespaces([step(), step({ state: "off", shownIn: ["shop"] })])).toBeUndefined();
  expect(limitText(["shop"])).toBe("shown: namespace shop; others are not visible to you");
  expect(namespacesText(["a", "b", "c", "d", "e", "f"])).toBe("namespaces a, b, c, d, e and 1 more");
});

it.each(["off", "absent"] as const)("a step that is %s is not well, and nothing is doubtful about it", (state) => {
  const record = step({ state, leader: { state: "none", message: "why" } });
  expect(doubtsOn(live, record)).toEqual([]);
  expect(healthOn(live, record, countHealth([]))).toBe("unknown");
});

it("steps share a doubt, and say apart what is not the same", () => {
  const down = doubtsOn(live, step({ troubles: trouble("retrying"), asOfMs: 5 }));
  const older = doubtsOn(
    live,
    step({ troubles: [{ resource: "jwks.b", state: "retrying", message: "another why" }], asOfMs: 3, leader: { state: "none", message: "why" } }),
  );
  const other = doubtsOn(live, step({ leader: { state: "none", message: "another reason" } }));
  const shared = sharedDoubts([
    { name: "Issue", doubts: down },
    { name: "Rotate", doubts: older },
    { name: "Publish", doubts: other },
    { name: "Verify", doubts: [] },
  ]);
  expect(shared).toEqual([
    { about: "server", steps: ["Issue", "Rotate"], messages: ["no answer: why"], asOfMs: 3 },
    {
      about: "leader",
      steps: ["Rotate", "Publish"],
      messages: ["Rotate: no leader: why", "Publish: no leader: another reason"],
      asOfMs: undefined,
    },
  ]);
});

it("what was well is unknown while its step is outdated, and says what it said last; what was wrong stays wrong", () => {
  const unled = step({ leader: { state: "none", message: "why" } });
  const table = [
    recordFixture({}),
    recordFixture({ health: "progressing" }),
    recordFixture({ health: "paused" }),
    recordFixture({ health: "failed" }),
  ];
  const shown = believedTable(table, [unled], live);
  expect(shown.map(({ health }) => health)).toEqual(["unknown", "unknown", "paused", "failed"]);
  expect(shown[0]).toMatchObject({ reason: "NotLed", message: "no leader: why; last reported: Ready: all is well" });
  expect(believedTable(table, [step()], cut).map(({ reason }) => reason)).toEqual(["NotHeard", "NotHeard", "Ready", "Ready"]);
  expect(believedTable(table, [step()], live)).toBe(table);
  // Who may not read who leads sees what was reported; the step itself is unknown.
  expect(believedTable(table, [step({ leader: { state: "unknown", message: "why" } })], live)).toBe(table);
});
