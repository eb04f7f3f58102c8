// The power fails before any step of a promotion, and what was not flushed is lost or not, name by name: one whole set or the other is served, always.
import { describe, expect, test } from "vitest";
import type { Disk } from "./disk.ts";
import { LossyDisk, PowerLossError } from "./lossy-disk.fixture.ts";
import { type AgentMemory, readMemory, writeMemory } from "./manifest.ts";
import { type Contents, manifestOf, reading } from "./snapshot.fixture.ts";
import { SnapshotStore } from "./snapshots.ts";

const now = 1_000_000;
const before: Contents = { "web-1": "old", "web-2": "same", "web-3": "going" };
const after: Contents = { "web-1": "new", "web-2": "same", "web-4": "coming" };

function storeOn(disk: Disk, shareAbove: number): SnapshotStore {
  return new SnapshotStore({ disk, folder: "/agent", namespace: "shop", shareAbove });
}

/** A disk with one set promoted and everything flushed; then the power may fail. */
async function promotedDisk(failAt: number, forgets?: RegExp): Promise<LossyDisk> {
  const disk = new LossyDisk();
  await disk.makeFolder("/agent");
  await disk.flush("/");
  await storeOn(disk, 1000).promote(manifestOf(before), { snapshot: undefined, isWhole: true }, reading(before));
  return disk.afterLoss(() => false).failingAt(failAt, forgets);
}

/** What a gateway reads through `current`. */
async function served(disk: Disk): Promise<Contents | undefined> {
  const target = await disk.readLink("/agent/current");
  if (target === undefined) return undefined;
  const contents: Record<string, string> = {};
  for (const name of (await disk.list(`/agent/${target}`)).toSorted()) {
    if (name === "manifest.json") continue;
    const certificate = (await disk.read(`/agent/${target}/${name}/tls.crt`)).toString().replace("certificate ", "");
    expect((await disk.read(`/agent/${target}/${name}/tls.key`)).toString()).toBe(`key ${certificate}`);
    contents[name] = certificate;
  }
  return contents;
}

/** Ways in which unflushed changes can get to the disk: none, all, and some, by a number that stands for the choice. */
const survivals: readonly (readonly [string, (path: string) => boolean])[] = [
  ["nothing", () => false],
  ["everything", () => true],
  ...Array.from({ length: 10 }, (_, seed) => [`choice ${seed}`, (path: string) => hashOf(`${seed} ${path}`) % 2 === 0] as const),
];

function hashOf(text: string): number {
  let hash = 2_166_136_261;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16_777_619) >>> 0;
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** Promotes `after`, with the power failing at each step, and looks at what is left. */
async function cutAtEachStep(
  shareAbove: number,
  look: (restored: LossyDisk, allowed: readonly (Contents | undefined)[], cut: string) => Promise<void>,
): Promise<number> {
  for (let at = 0; ; at++) {
    const disk = await promotedDisk(at);
    const store = storeOn(disk, shareAbove);
    const promoted = await store.recover(now).then(({ promoted: snapshot }) => snapshot);
    const finished = await store
      .promote(manifestOf(after), { snapshot: promoted, isWhole: true }, reading(after))
      .then((snapshot) => store.prune(snapshot))
      .then(
        () => true,
        (error: unknown) => {
          expect(error).toBeInstanceOf(PowerLossError);
          return false;
        },
      );
    for (const [name, survives] of survivals) await look(disk.afterLoss(survives), [before, after], `${at} (${disk.steps.at(-1)}), ${name} survives`);
    if (finished) return at;
  }
}

describe.each([
  { files: "copied", shareAbove: 1000 },
  { files: "shared", shareAbove: 0 },
])("with unchanged files $files", ({ shareAbove }) => {
  test("whatever survives, `current` is one set, whole, and the next promotion succeeds", async () => {
    const cuts = await cutAtEachStep(shareAbove, async (restored, allowed, cut) => {
      const atOnce = await served(restored);
      const store = storeOn(restored, shareAbove);
      const { promoted: snapshot, isWhole, damages } = await store.recover(now);
      const recovered = await served(restored);
      await store.promote(manifestOf(after), { snapshot, isWhole: true }, reading(after));
      const isOne = (set: Contents | undefined): boolean => allowed.some((each) => JSON.stringify(each) === JSON.stringify(set));
      const found = { cut, atOnce: isOne(atOnce), recovered: isOne(recovered), isWhole, damages, promoted: await served(restored) };
      expect(found).toEqual({ cut, atOnce: true, recovered: true, isWhole: true, damages: [], promoted: after });
    });
    expect(cuts).toBeGreaterThan(20);
  });

  test.each([
    ["folders of Secrets", /\/web-\d$/],
    ["the snapshot's folder", /\/\d+-[0-9a-f]{32}$/],
    ["the folder of snapshots", /\/generations$/],
  ])("a disk that does not flush %s is found out", async (_, forgotten) => {
    const found: string[] = [];
    for (let at = 0; at < 60; at++) {
      const disk = await promotedDisk(at, forgotten);
      const store = storeOn(disk, shareAbove);
      const { promoted } = await store.recover(now);
      await store.promote(manifestOf(after), { snapshot: promoted, isWhole: true }, reading(after)).catch(() => undefined);
      for (const [name, survives] of survivals) {
        const seen = await served(disk.afterLoss(survives)).catch(() => undefined);
        if (![before, after].some((set) => JSON.stringify(set) === JSON.stringify(seen))) found.push(`${at} ${name}`);
      }
    }
    expect(found).not.toEqual([]);
  });
});

test("the first promotion: nothing is served, or the whole set", async () => {
  for (let at = 0, isDone = false; !isDone; at++) {
    const empty = new LossyDisk();
    await empty.makeFolder("/agent");
    await empty.flush("/");
    const disk = empty.failingAt(at);
    isDone = await storeOn(disk, 1000)
      .promote(manifestOf(after), { snapshot: undefined, isWhole: true }, reading(after))
      .then(
        () => true,
        () => false,
      );
    for (const [, survives] of survivals) expect([undefined, after]).toContainEqual(await served(disk.afterLoss(survives)));
    if (isDone) expect(await served(disk.afterLoss(() => false))).toEqual(after);
  }
});

test("what the agent remembers is the old or the new, and the new once it was written", async () => {
  const [old, latest]: readonly AgentMemory[] = [{ notified: "1" }, { notified: "2" }];
  for (let at = 0, isDone = false; !isDone; at++) {
    const first = new LossyDisk();
    await first.makeFolder("/agent");
    await first.flush("/");
    await writeMemory(first, "/agent", old ?? {});
    const disk = first.afterLoss(() => false).failingAt(at);
    isDone = await writeMemory(disk, "/agent", latest ?? {}).then(
      () => true,
      () => false,
    );
    for (const [, survives] of survivals) expect([old, latest]).toContainEqual(await readMemory(disk.afterLoss(survives), "/agent"));
    if (isDone)
      expect(
        await readMemory(
          disk.afterLoss(() => false),
          "/agent",
        ),
      ).toEqual(latest);
  }
});
