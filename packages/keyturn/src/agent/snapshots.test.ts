// Snapshots on a real disk: through every crash, full disk and damage, `current` is a set that was promoted as a whole.
import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { systemDisk } from "./disk.ts";
import { type Fault, faultyDisk, KilledError } from "./faulty-disk.fixture.ts";
import { type Contents, manifestOf, reading, servedContents, testFolder } from "./snapshot.fixture.ts";
import { readManifest, renderManifest } from "./manifest.ts";
import type { Snapshot } from "./snapshot-folder.ts";
import { ChangedMeanwhileError, SnapshotStore } from "./snapshots.ts";

const before: Contents = { "web-1": "old", "web-2": "same", "web-3": "going" };
const after: Contents = { "web-1": "new", "web-2": "same", "web-4": "coming" };

const now = 1_000_000;
const nothing = { snapshot: undefined, isWhole: true };

function storeIn(folder: string, options: { readonly disk?: typeof systemDisk; readonly shareAbove?: number } = {}): SnapshotStore {
  return new SnapshotStore({ disk: systemDisk, namespace: "shop", shareAbove: 1000, folder, ...options });
}

/** A folder in which a set is promoted. */
async function promotedFolder(contents = before): Promise<{ readonly folder: string; readonly snapshot: Snapshot }> {
  const folder = await testFolder();
  return { folder, snapshot: await storeIn(folder).promote(manifestOf(contents), nothing, reading(contents)) };
}

/** Every step of promoting `after` over `before`. */
async function stepsOfPromotion(shareAbove: number): Promise<readonly string[]> {
  const { folder, snapshot } = await promotedFolder();
  const disk = faultyDisk();
  const store = storeIn(folder, { disk, shareAbove });
  await store.prune(await store.promote(manifestOf(after), { snapshot, isWhole: true }, reading(after)));
  return disk.steps;
}

describe.each([
  { files: "copied", shareAbove: 1000 },
  { files: "shared", shareAbove: 0 },
])("with unchanged files $files", ({ shareAbove }) => {
  test("a promotion replaces the whole set at once", async () => {
    const { folder, snapshot } = await promotedFolder();
    await storeIn(folder, { shareAbove }).promote(manifestOf(after), { snapshot, isWhole: true }, reading(after));
    expect(await servedContents(folder)).toEqual(after);
  });

  test.each([{ type: "killed" }, { type: "torn" }] satisfies Fault[])(
    "$type at any step: a restart serves one set or the other, whole",
    async (fault) => {
      const steps = await stepsOfPromotion(shareAbove);
      expect(steps.length).toBeGreaterThan(15);
      for (let at = 0; at < steps.length; at++) {
        const { folder, snapshot } = await promotedFolder();
        const store = storeIn(folder, { disk: faultyDisk(at, fault), shareAbove });
        const promotion = store.promote(manifestOf(after), { snapshot, isWhole: true }, reading(after)).then((promoted) => store.prune(promoted));
        await expect(promotion).rejects.toThrow(KilledError);
        // What a gateway sees that reads its files just now.
        expect([before, after]).toContainEqual(await servedContents(folder));

        const restarted = storeIn(folder);
        const { promoted, damages } = await restarted.recover(now);
        expect(damages).toEqual([]);
        expect([before, after]).toContainEqual(await servedContents(folder));
        expect(promoted && (await restarted.check(promoted))).toMatchObject({ isWhole: true, damages: [] });
        await restarted.promote(manifestOf(after), { snapshot: promoted, isWhole: true }, reading(after));
        expect(await servedContents(folder)).toEqual(after);
      }
    },
  );

  test.each([
    { code: "ENOSPC", steps: 1 },
    { code: "EROFS", steps: Infinity },
  ])("$code at any step ($steps in a row): what was served is served, and the next try succeeds", async ({ code, steps: count }) => {
    const steps = await stepsOfPromotion(shareAbove);
    for (let at = 0; at < steps.length; at++) {
      const { folder, snapshot } = await promotedFolder();
      const store = storeIn(folder, { disk: faultyDisk(at, { type: "fails", code, steps: count }), shareAbove });
      await store
        .promote(manifestOf(after), { snapshot, isWhole: true }, reading(after))
        .then((promoted) => store.prune(promoted))
        .catch((error: unknown) => expect(error).toMatchObject({ code }));
      expect([before, after]).toContainEqual(await servedContents(folder));

      const { promoted, damages } = await storeIn(folder).recover(now);
      expect(damages).toEqual([]);
      await storeIn(folder).promote(manifestOf(after), { snapshot: promoted, isWhole: true }, reading(after));
      expect(await servedContents(folder)).toEqual(after);
    }
  });
});

describe("the first promotion", () => {
  test("killed at any step: a restart serves nothing or the whole set", async () => {
    const folder = await testFolder();
    const disk = faultyDisk();
    await storeIn(folder, { disk }).promote(manifestOf(after), nothing, reading(after));
    for (const at of disk.steps.keys()) {
      const fresh = await testFolder();
      const promotion = storeIn(fresh, { disk: faultyDisk(at) }).promote(manifestOf(after), nothing, reading(after));
      await expect(promotion).rejects.toThrow(KilledError);
      const { damages } = await storeIn(fresh).recover(now);
      expect(damages).toEqual([]);
      expect([undefined, after]).toContainEqual(await servedContents(fresh));
    }
  });
});

describe("what is read for a promotion", () => {
  test("is only what has changed", async () => {
    const { folder, snapshot } = await promotedFolder();
    const asked: string[] = [];
    await storeIn(folder).promote(manifestOf(after), { snapshot, isWhole: true }, (names) => {
      asked.push(...names);
      return reading(after)(names);
    });
    expect(asked.toSorted()).toEqual(["web-1", "web-4"]);
  });

  test("is refused if it is not what was matched", async () => {
    const { folder, snapshot } = await promotedFolder();
    const promotion = storeIn(folder).promote(manifestOf(after), { snapshot, isWhole: true }, reading({ ...after, "web-4": "something else" }));
    await expect(promotion).rejects.toThrow(ChangedMeanwhileError);
    expect(await servedContents(folder)).toEqual(before);
  });

  test("is refused if a Secret is gone", async () => {
    const { folder, snapshot } = await promotedFolder();
    const promotion = storeIn(folder).promote(manifestOf(after), { snapshot, isWhole: true }, reading({ "web-1": "new" }));
    await expect(promotion).rejects.toThrow("Secret web-4 went away while it was being promoted");
    expect(await servedContents(folder)).toEqual(before);
  });

  test.each([
    { files: "copied", shareAbove: 1000 },
    { files: "shared", shareAbove: 0 },
  ])("mends files of the snapshot before that were damaged, with unchanged files $files", async ({ shareAbove }) => {
    const { folder, snapshot } = await promotedFolder();
    await writeFile(join(folder, "current", "web-2", "tls.key"), "edited");
    await storeIn(folder, { shareAbove }).promote(manifestOf(after), { snapshot, isWhole: false }, reading(after));
    expect(await servedContents(folder)).toEqual(after);
  });
});

test("a Secret whose name leads out of the folder is not written, and nothing there is removed", async () => {
  const folder = await testFolder();
  const outside = join(folder, "outside-1");
  await mkdir(outside);
  await writeFile(join(outside, "precious"), "");
  const contents = { "../../outside-1": "planted" };
  const store = new SnapshotStore({ disk: systemDisk, folder: join(folder, "agent"), namespace: "shop", shareAbove: 1000 });
  await expect(store.promote(manifestOf(contents), { snapshot: undefined, isWhole: true }, reading(contents))).rejects.toThrow(
    "is no name of a Secret",
  );
  expect(await readdir(outside)).toEqual(["precious"]);
});

describe("on the disk", () => {
  test("only the owner can read private keys, or enter the folder above them", async () => {
    const { folder } = await promotedFolder();
    const modeOf = async (path: string): Promise<string> => ((await stat(join(folder, path))).mode & 0o777).toString(8);
    expect(await modeOf("current/web-1/tls.key")).toBe("600");
    expect(await modeOf("current/web-1")).toBe("700");
    expect(await modeOf("generations")).toBe("700");
  });

  test("what a crash left half-written is not taken for the snapshot before", async () => {
    const { folder, snapshot } = await promotedFolder();
    await mkdir(join(folder, "generations", `2-${"0".repeat(32)}`, "web-1"), { recursive: true });
    const store = storeIn(folder);
    const next = await store.promote(manifestOf(after), { snapshot, isWhole: true }, reading(after));
    await store.prune(next);
    expect(new Set(await readdir(join(folder, "generations")))).toEqual(new Set([snapshot.name, next.name]));
  });

  test("the two newest snapshots are kept", async () => {
    const { folder, snapshot } = await promotedFolder();
    const store = storeIn(folder);
    let last = snapshot;
    for (const content of ["a", "b", "c"]) {
      const contents = { ...before, "web-1": content };
      last = await store.promote(manifestOf(contents), { snapshot: last, isWhole: true }, reading(contents));
      await store.prune(last);
    }
    const numbers = (await readdir(join(folder, "generations"))).map((name) => name.slice(0, name.indexOf("-")));
    expect(new Set(numbers)).toEqual(new Set(["3", "4"]));
  });
});

// Manifests on the disk show when they are not what was written.

const manifest = manifestOf({ "web-1": "a", "web-2": "b" }, { matched: "secret-1", stamp: { timestampMs: 5, createdMs: 6 } });

test("what was written is read", () => {
  expect(readManifest(renderManifest(manifest))).toEqual(manifest);
});

test("a file that was cut off anywhere is not read", () => {
  const text = renderManifest(manifest);
  for (let length = 0; length < text.length; length++) expect(readManifest(text.slice(0, length))).toBeUndefined();
});

test("a file in which any one character was changed is not read", () => {
  const text = renderManifest(manifest);
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (place, other) => {
      fc.pre(text[place] !== other);
      expect(readManifest(`${text.slice(0, place)}${other}${text.slice(place + 1)}`)).toBeUndefined();
    }),
  );
});
