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

// What a look at a damaged disk mends, with the power failing before any step of it.

const stamp = (timestampMs: number) => ({ timestampMs, createdMs: timestampMs });

/** A disk on which two sets were promoted, one after the other, and then something happened to it. */
async function damagedDisk(damage: (disk: LossyDisk, current: string) => Promise<void>): Promise<LossyDisk> {
  const disk = new LossyDisk();
  await disk.makeFolder("/agent");
  await disk.flush("/");
  const first = await storeOn(disk, 1000).promote(manifestOf(before, { stamp: stamp(1) }), { snapshot: undefined, isWhole: true }, reading(before));
  const second = manifestOf(after, { stamp: stamp(2), promotedAtMs: 2 });
  const { name } = await storeOn(disk, 1000).promote(second, { snapshot: first, isWhole: true }, reading(after));
  await damage(disk, `/agent/generations/${name}`);
  return disk.afterLoss(() => true);
}

/** Leaves other content in a file. */
async function overwrite(disk: Disk, path: string): Promise<void> {
  await disk.remove(path);
  await disk.writeNew(path, "torn", 0o600);
}

test.each<readonly [string, (disk: LossyDisk, current: string) => Promise<void>, Contents]>([
  ["a file is torn", (disk, current) => overwrite(disk, `${current}/web-2/tls.crt`), after],
  [
    "a file is torn of which there is only an older one",
    (disk, current) => overwrite(disk, `${current}/web-1/tls.key`),
    { ...after, "web-1": "old" },
  ],
  ["`current` is gone", (disk) => disk.remove("/agent/current"), after],
  [
    "`current` is a folder",
    async (disk, current) => {
      await disk.remove("/agent/current");
      await disk.rename(current, "/agent/current");
    },
    after,
  ],
  [
    "there is what does not belong there",
    async (disk, current) => {
      await disk.makeFolder(`${current}/web-9`);
      await disk.writeNew(`${current}/web-9/tls.key`, "planted", 0o600);
      await disk.writeNew(`${current}/web-1/extra`, "planted", 0o600);
    },
    after,
  ],
])("%s, and the power fails while that is mended: the next look mends it all the same", async (_, damage, mended) => {
  for (let at = 0, isDone = false; !isDone; at++) {
    const disk = (await damagedDisk(damage)).failingAt(at);
    isDone = await storeOn(disk, 1000)
      .recover(now)
      .then(
        () => true,
        () => false,
      );
    for (const [name, survives] of survivals) {
      const restored = disk.afterLoss(survives);
      const { isWhole, promoted } = await storeOn(restored, 1000).recover(now);
      const found = { isWhole, served: await served(restored), secrets: Object.keys(promoted?.manifest.secrets ?? {}).toSorted() };
      expect({ at, name, ...found }).toEqual({ at, name, isWhole: true, served: mended, secrets: Object.keys(mended).toSorted() });
    }
  }
});

test(
  "20,000 certificates get to a slow disk although the process is killed again and again, and hardly one is read twice",
  { timeout: 900_000 },
  async () => {
    const contents = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`web-${index}`, `${index}`]));
    const manifest = manifestOf(contents);
    let disk = new LossyDisk();
    await disk.makeFolder("/agent");
    let [reads, lives] = [0, 0];
    const readingOnce: typeof reading = (all) =>
      async function* read(names) {
        for await (const secret of reading(all)(names)) {
          reads++;
          yield secret;
        }
      };
    for (let isDone = false; !isDone; lives++) {
      disk = disk.afterLoss(() => true).failingAt(100_000);
      isDone = await storeOn(disk, 1000)
        .promote(manifest, { snapshot: undefined, isWhole: true }, readingOnce(contents))
        .then(
          () => true,
          () => false,
        );
    }
    expect(lives).toBeGreaterThan(2);
    expect(reads).toBeLessThan(20_000 + 20 * lives);
    expect(await served(disk)).toEqual(contents);
  },
);

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
