// What is observed of a set is of one moment, whatever others write while it is read.
import { isConflict, type ObjectKey, Secret } from "@keyturn/runtime";
import { expect, test } from "vitest";
import type { RotationAnnotations, TargetSettings } from "./annotations.ts";
import { createReadMemory, type Observed, observeSet } from "./observe.ts";
import type { Looked } from "./watches.ts";

const live: TargetSettings = {
  set: "keys",
  uid: "uid of live",
  generation: 1,
  isLeaving: false,
  isSelected: true,
  paused: undefined,
  givenUp: [],
  order: 1,
  delayMs: 0,
  deletionMode: "keep",
  whenUnfilled: "Backfill",
  changePolicy: "Settled",
  targetName: undefined,
  publishBefore: undefined,
  promote: undefined,
  statusDigest: undefined,
  reportedSeq: undefined,
};

/** A cache as what `found` says at the moment; resourceVersions are given by `versions`. */
function looked<V>(
  found: (index: string) => readonly ObjectKey[],
  { get, versions = new Map() }: { readonly get: (key: ObjectKey) => V | undefined; readonly versions?: ReadonlyMap<ObjectKey, string> },
): Looked<V> {
  return {
    get,
    byIndex: (index) => found(index),
    entries: () => [],
    identity: (key) => (versions.has(key) ? { uid: `uid of ${key}`, resourceVersion: versions.get(key) ?? "" } : undefined),
  };
}

/** Observes the set; `meanwhile` happens while its source is read. */
function observe(
  meanwhile: (history: { readonly records: ObjectKey[]; readonly versions: Map<ObjectKey, string> }) => void,
): Promise<Observed | undefined> {
  const [records, versions] = [
    ["shop/keys-1"],
    new Map<ObjectKey, string>([
      ["shop/source", "1"],
      ["shop/keys-1", "1"],
    ]),
  ];
  const targets = looked<TargetSettings | undefined>((index) => (index === "set" ? ["shop/live"] : []), {
    get: (key) => (key === "shop/live" ? live : undefined),
  });
  const source: RotationAnnotations = { source: { set: "keys", watchPath: undefined, rotatePath: undefined } };
  const secrets = looked<RotationAnnotations>((index) => (index === "source" ? ["shop/source"] : index === "record" ? records : []), {
    get: (key) => (key === "shop/source" ? source : undefined),
    versions,
  });
  return observeSet("shop/keys", {
    watches: { targets, objects: new Map([["secrets", secrets]]), publishers: undefined, isWatched: () => true },
    kinds: [Secret],
    memory: createReadMemory(),
    nowMs: 0,
    run: {
      client: {
        get: () => {
          meanwhile({ records, versions });
          return Promise.resolve(undefined);
        },
      },
      signal: new AbortController().signal,
    },
  });
}

test("a set that nobody touches while it is read is observed", async () => {
  expect(await observe(() => {})).toMatchObject({ observation: { set: "keys" } });
});

test.each<readonly [string, Parameters<typeof observe>[0]]>([
  ["a record is made", ({ records }) => records.push("shop/keys-2")],
  ["a record goes", ({ records }) => records.pop()],
  ["a record is noted on", ({ versions }) => versions.set("shop/keys-1", "2")],
  ["the source changes", ({ versions }) => versions.set("shop/source", "2")],
])("it is looked at again if %s meanwhile", async (_, meanwhile) => {
  const thrown: unknown = await observe(meanwhile).catch((error: unknown) => error);
  expect(isConflict(thrown)).toBe(true);
});
