// The small worlds that are explored: each has its targets, its past, and what may happen to it.
import {
  allDeleted,
  clockActions,
  forgeries,
  givesUp,
  objectActions,
  operatorActions,
  publicationActions,
  recordActions,
  settingActions,
  sourceActions,
  stillActions,
  targetActions,
  unreadableActions,
  type Action,
} from "./actions.ts";
import type { Exploration } from "./explorer.ts";

type Small = Omit<Exploration, "decisions" | "depth"> & {
  /** How many actions there are by default. */
  readonly depth: number;
};

const alike = { deletionMode: "keep", whenUnfilled: "Backfill" } as const;
const live = { ...alike, order: 2, delay: 6 };
const fallback = { ...alike, order: 3, delay: 2 };
const canary = { ...alike, order: 1, delay: 4 };
const oldest = { ...alike, order: 4, delay: 1 };
const two = { live, fallback };
const three = { ...two, oldest };

const cascading = { live: { ...live, deletionMode: "cascade" }, fallback: { ...fallback, deletionMode: "cascade" } } as const;

const [change, back] = sourceActions;
const changes: readonly Action[] = change ? [change] : [];
const flaps: readonly Action[] = back ? [...changes, back] : changes;
const named = (actions: readonly Action[], pattern: RegExp): readonly Action[] => actions.filter(({ name }) => pattern.test(name));
const comesAndGoes = /deleted|created/;

/** By name. */
export const worlds: Readonly<Record<string, Small>> = {
  "targets that are deleted, made again, joined and renumbered": {
    targets: two,
    versions: 2,
    actions: [
      ...changes,
      ...named(targetActions(two), comesAndGoes),
      ...named(targetActions(two), /order [234]/),
      ...named(targetActions({ canary }), comesAndGoes),
    ],
    depth: 2,
    waits: [1, 7],
  },
  "targets that are all deleted, and come back one by one": {
    targets: two,
    versions: 2,
    actions: [...changes, allDeleted, ...named(targetActions(two), comesAndGoes)],
    depth: 3,
    waits: [7],
  },
  "targets that go with their objects": {
    targets: cascading,
    versions: 2,
    actions: [...changes, ...named(targetActions(cascading), comesAndGoes)],
    depth: 3,
    waits: [7],
  },
  "three targets": { targets: three, versions: 3, actions: [...changes, ...targetActions(three)], depth: 1, waits: [3, 10] },
  "delays and modes": { targets: two, versions: 2, actions: [...changes, ...settingActions(Object.keys(two))], depth: 2, waits: [1, 7] },
  "records that are lost and edited": { targets: two, versions: 2, actions: [...flaps, ...recordActions], depth: 2, waits: [1, 7] },
  "objects that are lost, edited, forged and taken": {
    targets: two,
    versions: 2,
    actions: [...changes, ...objectActions(Object.keys(two))],
    depth: 2,
    waits: [1, 7],
  },
  "records and objects that are lost": {
    targets: two,
    versions: 2,
    actions: [...changes, ...named(recordActions, /record [23] is deleted|all/), ...named(objectActions(["live"]), /deleted/)],
    depth: 3,
    waits: [7],
  },
  "an operator with other flags, whose writes are refused": {
    targets: two,
    versions: 2,
    actions: [...changes, ...operatorActions(Object.keys(two)), ...named(targetActions(two), /live is/)],
    depth: 2,
    waits: [1, 7],
  },
  "targets that wait until keys are published": {
    targets: two,
    waiting: ["live", "fallback"],
    versions: 2,
    actions: [...changes, ...publicationActions, ...named(targetActions(two), comesAndGoes)],
    depth: 3,
    waits: [1, 7],
  },
  "a new set that waits until keys are published": {
    targets: two,
    waiting: ["live"],
    versions: 0,
    actions: [...changes, ...publicationActions, ...named(operatorActions([]), /windows/)],
    depth: 3,
    waits: [1, 7],
  },
  "a source that flaps, goes and comes back": {
    targets: { live, fallback: { ...fallback, deletionMode: "cascade" } },
    versions: 2,
    actions: sourceActions,
    depth: 2,
    waits: [1, 7],
  },
  "a source that is another while nobody looks": {
    targets: two,
    versions: 2,
    actions: flaps,
    depth: 3,
    waits: [3, 7],
  },
  "a first fill that is cut, and whose objects are edited": {
    targets: { live },
    versions: 0,
    actions: [...changes, ...named(objectActions(["live"]), /unlabelled|claims/), ...named(targetActions({ fallback }), comesAndGoes)],
    depth: 3,
    waits: [7],
  },
  "targets that are renumbered again and again": {
    targets: two,
    versions: 2,
    actions: [...changes, ...named(targetActions(two), /live gets order [34]/)],
    depth: 3,
    waits: [3],
  },
  "a set that is new": {
    targets: two,
    versions: 0,
    actions: [...changes, ...named(operatorActions([]), /windows/), ...named(targetActions({ fallback }), comesAndGoes)],
    depth: 3,
    waits: [7],
  },
  "records that are made up and edited, and a key that is lost": {
    targets: two,
    versions: 2,
    actions: [...changes, ...forgeries, ...named(recordActions, /record [34] is deleted/)],
    depth: 3,
    waits: [1, 7],
  },
  "objects that are lost right after they were written": {
    targets: two,
    versions: 2,
    actions: [...changes, ...named(objectActions(["live"]), /deleted|unlabelled/)],
    cutsStatuses: true,
    depth: 3,
    waits: [2],
  },
  "two leaders, and writes that fail": {
    targets: two,
    versions: 2,
    actions: [...sourceActions, ...named(objectActions(["live"]), /deleted|edited/)],
    leaders: 2,
    fails: true,
    depth: 2,
    waits: [2, 7],
  },
  "leaders whose clocks are off": {
    targets: two,
    versions: 2,
    actions: [...flaps, ...clockActions, ...named(targetActions(two), /live is|live gets order 4/)],
    depth: 2,
    waits: [1, 7],
  },
  "versions that are lost and given up": {
    targets: two,
    versions: 2,
    actions: [...changes, givesUp, ...named(recordActions, /record [23] is deleted/), ...named(objectActions(["live"]), /deleted/)],
    depth: 4,
    waits: [7],
  },
  "sets and targets that are paused": {
    targets: two,
    versions: 2,
    actions: [...changes, ...stillActions(Object.keys(two)), ...named(targetActions(two), /live is|live gets order 4/)],
    depth: 3,
    waits: [1, 7],
  },
  "sources that contradict each other, or say nothing": {
    targets: two,
    versions: 2,
    actions: [...flaps, ...unreadableActions],
    depth: 3,
    waits: [3, 7],
  },
  "targets that may be absent": {
    targets: { live, fallback: { ...fallback, whenUnfilled: "Absent" } },
    versions: 1,
    actions: [...changes, ...named(targetActions(two), comesAndGoes), ...named(targetActions(two), /fallback gets order [12]/)],
    depth: 3,
    waits: [7],
  },
  "three targets that come, go and are renumbered": {
    targets: three,
    versions: 3,
    actions: [...changes, ...named(targetActions(three), comesAndGoes), ...named(targetActions(three), /(live|oldest) gets order [134]/)],
    depth: 2,
    waits: [10],
  },
};
