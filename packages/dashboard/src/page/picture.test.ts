import { expect, it } from "vitest";
import type { DashboardRecord, ObjectRecord } from "../contract/index.ts";
import { addToPicture, emptyPicture, joinChanges, type Picture } from "./picture.ts";

function issued(name: string, reason = "Ready"): ObjectRecord {
  const ref = {
    apiVersion: "operator.kyma-project.io/v1alpha1",
    kind: "EventingAuth",
    resource: "eventingauths.operator.kyma-project.io",
    namespace: "n",
    name,
  };
  return {
    type: "object",
    table: "issued",
    id: `issued/n/${name}`,
    step: "eventing-auth",
    ref,
    health: "healthy",
    reason,
    message: "",
    detail: "",
    about: [],
    conditions: [],
    facts: [],
    cells: {},
    texts: [],
  };
}

const part = (records: readonly DashboardRecord[], { first = false, last = false, id }: { first?: boolean; last?: boolean; id?: string } = {}) =>
  ({ name: "snapshot", id, data: { first, last, total: 3, records } }) as const;
const names = ({ tables }: Picture): readonly string[] => (tables.objects.get("eventing-auth/issued") ?? []).map(({ ref }) => ref.name);

it("a snapshot takes the place of what was known, when its last part is there and not before", () => {
  let picture = addToPicture(emptyPicture, part([issued("a"), issued("b")], { first: true, last: true, id: "x:1" }));
  expect(names(picture)).toEqual(["a", "b"]);
  expect(picture).toMatchObject({ complete: true, lastEventId: "x:1" });
  picture = addToPicture(picture, part([issued("d")], { first: true }));
  expect(names(picture)).toEqual(["a", "b"]);
  expect(picture.incoming).toMatchObject({ total: 3 });
  picture = addToPicture(picture, part([issued("c")], { last: true, id: "x:9" }));
  expect(names(picture)).toEqual(["c", "d"]);
  expect(picture).toMatchObject({ incoming: undefined, lastEventId: "x:9" });
});

it("a snapshot that was cut off leaves no trace", () => {
  let picture = addToPicture(emptyPicture, part([issued("a")], { first: true }));
  picture = addToPicture(picture, { name: "hello", id: undefined, data: { bootId: "y", nowMs: 5, mode: "snapshot", cluster: "c", stages: [] } });
  expect(names(addToPicture(picture, part([issued("b")], { first: true, last: true })))).toEqual(["b"]);
});

it("changes touch only the tables that they are about", () => {
  const before = addToPicture(emptyPicture, part([issued("a"), issued("b")], { first: true, last: true }));
  const after = addToPicture(before, {
    name: "changes",
    id: "x:2",
    data: { upserts: [issued("a", "InProgress")], removals: ["issued/n/b", "jwks/none"] },
  });
  expect(after.tables.objects.get("eventing-auth/issued")?.map(({ ref, reason }) => [ref.name, reason])).toEqual([["a", "InProgress"]]);
  expect(after.tables.stages).toBe(before.tables.stages);
  expect(after.lastEventId).toBe("x:2");
});

it("a tick keeps the place in the stream", () => {
  expect(addToPicture(emptyPicture, { name: "tick", id: "x:7", data: { nowMs: 1 } }).lastEventId).toBe("x:7");
});

it("changes that are joined come to the same as one after the other", () => {
  const begin = addToPicture(emptyPicture, part([issued("a"), issued("b"), issued("c")], { first: true, last: true }));
  const changes = (upserts: readonly DashboardRecord[], removals: readonly string[], id: string) =>
    ({ name: "changes", id, data: { upserts, removals } }) as const;
  const events = [
    changes([issued("a", "InProgress"), issued("d")], ["issued/n/b"], "x:2"),
    changes([issued("b", "Back")], ["issued/n/d"], "x:3"),
    { name: "tick", id: undefined, data: { nowMs: 1 } } as const,
    changes([issued("c", "Ready")], ["issued/n/a"], "x:4"),
    changes([issued("a", "Again")], [], "x:5"),
  ];
  const joined = joinChanges(events);
  expect(joined.map(({ name, id }) => [name, id])).toEqual([
    ["changes", "x:3"],
    ["tick", undefined],
    ["changes", "x:5"],
  ]);
  expect(joined.reduce(addToPicture, begin)).toEqual(events.reduce(addToPicture, begin));
});
