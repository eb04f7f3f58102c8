// A disk that was damaged while nobody looked, and no API server: what is whole stays, what is not is mended Secret by Secret.
import { appendFile, chmod, cp, lstat, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Disk, systemDisk } from "./disk.ts";
import { type Manifest, renderManifest } from "./manifest.ts";
import type { Snapshot } from "./snapshot-folder.ts";
import { type Contents, manifestOf, reading, servedContents, testFolder } from "./snapshot.fixture.ts";
import { SnapshotStore } from "./snapshots.ts";

const now = 1_000_000;
const older: Contents = { "web-1": "old", "web-2": "same", "web-3": "going" };
const newer: Contents = { "web-1": "new", "web-2": "same", "web-4": "coming" };

interface World {
  readonly folder: string;
  readonly store: SnapshotStore;
  readonly before: Snapshot;
  readonly current: Snapshot;
}

/** Two sets were promoted, one after the other. */
async function twicePromoted(changes: { readonly older?: Partial<Manifest>; readonly shareAbove?: number } = {}): Promise<World> {
  const folder = await testFolder();
  const store = new SnapshotStore({ disk: systemDisk, folder, namespace: "shop", shareAbove: changes.shareAbove ?? 1000 });
  const stamp = (timestampMs: number) => ({ timestampMs, createdMs: timestampMs });
  const first = manifestOf(older, { stamp: stamp(1), promotedAtMs: 1, ...changes.older });
  const before = await store.promote(first, { snapshot: undefined, isWhole: true }, reading(older));
  const second = manifestOf(newer, { stamp: stamp(2), promotedAtMs: 2 });
  const current = await store.promote(second, { snapshot: before, isWhole: true }, reading(newer));
  return { folder, store, before, current };
}

async function generationsIn(folder: string): Promise<readonly string[]> {
  return (await readdir(join(folder, "generations"))).toSorted();
}

describe("one Secret is damaged", () => {
  test.each<readonly [string, (current: string) => Promise<unknown>]>([
    ["a file that was edited", (current) => writeFile(join(current, "web-2", "tls.crt"), "edited")],
    ["a file with one byte more", (current) => appendFile(join(current, "web-2", "tls.crt"), "x")],
    ["a file that is torn", (current) => truncate(join(current, "web-2", "tls.key"), 3)],
    ["a file that is gone", (current) => rm(join(current, "web-2", "tls.crt"))],
    ["a folder that is gone", (current) => rm(join(current, "web-2"), { recursive: true })],
    [
      "a folder that is a link",
      async (current) => {
        await rename(join(current, "web-2"), join(current, "..", "elsewhere"));
        await symlink(join(current, "..", "elsewhere"), join(current, "web-2"));
      },
    ],
    [
      "a file that is a link",
      async (current) => {
        await rename(join(current, "web-2", "tls.key"), join(current, "..", "key"));
        await symlink(join(current, "..", "key"), join(current, "web-2", "tls.key"));
      },
    ],
  ])("%s: it comes from the snapshot before, and the others stay as they are", async (_, damage) => {
    const { folder, store, current } = await twicePromoted();
    await damage(join(folder, "current"));
    const { promoted, isWhole, damages } = await store.recover(now);
    expect(await servedContents(folder)).toEqual(newer);
    expect({ isWhole, secrets: promoted?.manifest.secrets }).toEqual({ isWhole: true, secrets: current.manifest.secrets });
    expect(damages).toEqual([`generation ${current.name}: the files of 1 Secrets are missing, torn or edited, such as web-2`]);
  });

  test("that only an older certificate can replace: the older one is served, the others stay, and nothing newer is removed", async () => {
    const { folder, store, current } = await twicePromoted();
    await writeFile(join(folder, "current", "web-1", "tls.crt"), "edited");
    const { promoted, isWhole } = await store.recover(now);
    expect(await servedContents(folder)).toEqual({ ...newer, "web-1": "old" });
    expect({ isWhole, id: promoted?.manifest.secrets["web-1"]?.id }).toEqual({ isWhole: true, id: "1-1-old" });
    expect(await generationsIn(folder)).toContain(current.name);
  });

  test("is not replaced by an older certificate that has expired", async () => {
    const expired = manifestOf(older);
    const secrets = Object.fromEntries(Object.entries(expired.secrets).map(([name, entry]) => [name, { ...entry, notAfterMs: now }]));
    const { folder, store, current } = await twicePromoted({ older: { secrets } });
    await writeFile(join(folder, "current", "web-1", "tls.crt"), "edited");
    const { promoted, isWhole, broken } = await store.recover(now);
    expect({ name: promoted?.name, isWhole, broken }).toEqual({ name: current.name, isWhole: false, broken: new Set(["web-1"]) });
    expect(await readlink(join(folder, "current"))).toBe(`generations/${current.name}`);
  });

  test("of which nothing else is there: nothing is touched, and it is named", async () => {
    const { folder, store, current } = await twicePromoted();
    await writeFile(join(folder, "current", "web-4", "tls.crt"), "edited");
    const generations = await generationsIn(folder);
    const { promoted, isWhole, broken } = await store.recover(now);
    expect({ name: promoted?.name, isWhole, broken }).toEqual({ name: current.name, isWhole: false, broken: new Set(["web-4"]) });
    expect(await generationsIn(folder)).toEqual(generations);
  });

  test("and is mended by the next promotion, from other snapshots as well as from the API server", async () => {
    const { folder, store, current } = await twicePromoted();
    for (const name of ["web-2", "web-4"]) await writeFile(join(folder, "current", name, "tls.crt"), "edited");
    const asked: string[] = [];
    await store.promote(current.manifest, { snapshot: current, isWhole: false }, (names) => {
      asked.push(...names);
      return reading(newer)(names);
    });
    expect(asked).toEqual(["web-4"]);
    expect(await servedContents(folder)).toEqual(newer);
  });
});

describe("what does not belong there", () => {
  test.each<readonly [string, (current: string) => Promise<unknown>]>([
    ["a file in a Secret's folder", (current) => writeFile(join(current, "web-1", "extra"), "")],
    ["a file among the Secrets", (current) => writeFile(join(current, "web-9"), "")],
    ["a link among the Secrets", (current) => symlink("/etc", join(current, "etc"))],
  ])("%s is removed, and told", async (_, plant) => {
    const { folder, store, current } = await twicePromoted();
    await plant(join(folder, "current"));
    const { promoted, isWhole, damages } = await store.recover(now);
    expect({ name: promoted?.name, isWhole }).toEqual({ name: current.name, isWhole: true });
    expect(damages).toEqual([expect.stringContaining("did not belong there and was removed")]);
    expect((await readdir(join(folder, "current"))).toSorted()).toEqual(["manifest.json", ...Object.keys(newer)]);
  });

  test("a key that others can read is theirs no more, and told", async () => {
    const { folder, store } = await twicePromoted();
    const key = join(folder, "current", "web-1", "tls.key");
    await chmod(key, 0o644);
    const { damages } = await store.recover(now);
    expect(damages).toEqual([expect.stringContaining("web-1/tls.key had mode 644")]);
    expect((await stat(key)).mode & 0o777).toBe(0o600);
  });

  test("a snapshot of another user is none", async () => {
    const { folder, before, current } = await twicePromoted();
    const planted = join(folder, "generations", `9-${before.manifest.checksum}`);
    await cp(join(folder, "generations", current.name), planted, { recursive: true });
    await rm(join(folder, "current"));
    const disk: Disk = {
      ...systemDisk,
      async inspect(path) {
        const found = await systemDisk.inspect(path);
        return found && { ...found, isOurs: path !== planted };
      },
    };
    const store = new SnapshotStore({ disk, folder, namespace: "shop", shareAbove: 1000 });
    expect((await store.recover(now)).promoted?.name).toBe(current.name);
  });
});

describe("with several namespaces", () => {
  const wide: Contents = { "one/web-1": "first", "two/web-1": "second" };

  /** A set of two namespaces, and a folder elsewhere that is nobody's business here. */
  async function widePromoted(): Promise<{
    readonly folder: string;
    readonly elsewhere: string;
    readonly store: SnapshotStore;
    readonly current: Snapshot;
  }> {
    const [folder, elsewhere] = [await testFolder(), await testFolder()];
    const store = new SnapshotStore({ disk: systemDisk, folder, namespace: "shop", shareAbove: 1000 });
    const current = await store.promote(manifestOf(wide), { snapshot: undefined, isWhole: true }, reading(wide));
    return { folder, elsewhere, store, current };
  }

  test("a planted link in place of a namespace's folder is removed and not followed: what it points to stays as it is", async () => {
    const { folder, elsewhere, store, current } = await widePromoted();
    const planted = join(folder, "generations", current.name, "one");
    await cp(planted, elsewhere, { recursive: true });
    await writeFile(join(elsewhere, "precious"), "");
    await rm(planted, { recursive: true });
    await symlink(elsewhere, planted);
    const found = await store.recover(now);
    expect(found.damages[0]).toContain("one did not belong there and was removed");
    expect(found).toMatchObject({ promoted: { name: current.name }, isWhole: false, broken: new Set(["one/web-1"]) });
    expect((await readdir(elsewhere)).toSorted()).toEqual(["precious", "web-1"]);

    await store.promote(manifestOf(wide), { snapshot: current, isWhole: false }, reading(wide));
    expect((await lstat(join(folder, "current", "one"))).isDirectory()).toBe(true);
    expect((await readdir(elsewhere)).toSorted()).toEqual(["precious", "web-1"]);
  });

  test("a planted link in a half-written snapshot is not written through", async () => {
    const { folder, elsewhere, store, current } = await widePromoted();
    const begun = join(folder, "generations", `9-${"0".repeat(32)}`);
    await mkdir(begun);
    await symlink(elsewhere, join(begun, "two"));
    const changed = { ...wide, "two/web-1": "third" };
    await store.promote(manifestOf(changed), { snapshot: current, isWhole: true }, reading(changed));
    expect(await readFile(join(folder, "current", "two", "web-1", "tls.crt"), "utf8")).toBe("certificate third");
    expect(await readdir(elsewhere)).toEqual([]);
  });
});

describe("the manifest of what is served", () => {
  test.each<readonly [string, (manifest: string) => Promise<unknown>]>([
    ["cut off", (manifest) => truncate(manifest, 100)],
    ["edited", (manifest) => appendFile(manifest, " ")],
    ["gone", (manifest) => rm(manifest)],
  ])("is %s: its files stay, with an alarm", async (_, damage) => {
    const { folder, store, current } = await twicePromoted();
    await damage(join(folder, "current", "manifest.json"));
    const { promoted, isWhole, damages } = await store.recover(now);
    expect(await readlink(join(folder, "current"))).toBe(`generations/${current.name}`);
    expect(await servedContents(folder)).toEqual(newer);
    // What the other manifest knows is known of the same files.
    expect({ name: promoted?.name, isWhole, known: promoted?.manifest.secrets["web-2"] }).toMatchObject({
      name: current.name,
      isWhole: false,
      known: { id: "1-1-same" },
    });
    expect(damages).toEqual([expect.stringContaining("its files stay as they are")]);
  });
});

describe("`current`", () => {
  test("is gone: the set that says that it is the newest is served, not the one with the highest number", async () => {
    const { folder, store, before, current } = await twicePromoted();
    await cp(join(folder, "generations", before.name), join(folder, "generations", before.name.replace(/^\d+/, "99")), { recursive: true });
    await rm(join(folder, "current"));
    expect((await store.recover(now)).promoted?.name).toBe(current.name);
    expect(await servedContents(folder)).toEqual(newer);
  });

  test("is gone: a set that was copied under another's name is not taken for it", async () => {
    const { folder, store, before, current } = await twicePromoted();
    await cp(join(folder, "generations", before.name), join(folder, "generations", `99-${current.manifest.checksum}`), { recursive: true });
    await rm(join(folder, "current"));
    expect((await store.recover(now)).promoted?.name).toBe(current.name);
  });

  test.each(["999999999999999", "999999999999998"])(
    "is known after a set was copied under the number %s: there is another after it",
    async (highest) => {
      const { folder, store, before, current } = await twicePromoted();
      await cp(join(folder, "generations", before.name), join(folder, "generations", before.name.replace(/^\d+/, highest)), { recursive: true });
      for (const content of ["third", "fourth"]) {
        const next: Contents = { ...newer, "web-1": content };
        const stamp = { timestampMs: 3, createdMs: 3 };
        await store.promote(manifestOf(next, { stamp, promotedAtMs: 3 }), { snapshot: current, isWhole: true }, reading(next));
        const { promoted, damages } = await store.recover(now);
        expect([damages, await servedContents(folder)]).toEqual([[], next]);
        await store.prune(promoted ?? expect.fail("nothing is promoted"));
      }
    },
  );

  test("points to a snapshot that is gone, and there is no other: that is told", async () => {
    const { folder, store, current } = await twicePromoted();
    await rm(join(folder, "generations"), { recursive: true });
    expect(await store.recover(now)).toMatchObject({ promoted: undefined, damages: [`generation ${current.name} is gone`] });
  });

  test("points to a snapshot that is gone: the other one is served", async () => {
    const { folder, store, before, current } = await twicePromoted();
    await rm(join(folder, "generations", current.name), { recursive: true });
    const { promoted, damages } = await store.recover(now);
    expect(promoted?.name).toBe(before.name);
    expect(damages).toEqual([`generation ${current.name} is gone`]);
  });

  test("was restored as a folder: it is taken in, and is a link again", async () => {
    const { folder, store, current } = await twicePromoted();
    const copy = join(folder, "copy");
    await cp(join(folder, "current"), copy, { recursive: true, dereference: true });
    await rm(join(folder, "current"));
    await rm(join(folder, "generations"), { recursive: true });
    await rename(copy, join(folder, "current"));
    const { promoted, isWhole } = await store.recover(now);
    expect({ isWhole, manifest: promoted?.manifest }).toEqual({ isWhole: true, manifest: current.manifest });
    expect(await readlink(join(folder, "current"))).toBe(`generations/${promoted?.name}`);
    expect(await servedContents(folder)).toEqual(newer);
  });
});

test("with nothing on the disk there is nothing to serve", async () => {
  const folder = await testFolder();
  const store = new SnapshotStore({ disk: systemDisk, folder, namespace: "shop", shareAbove: 1000 });
  expect(await store.recover(now)).toMatchObject({ promoted: undefined, damages: [] });
});

test("a half-written snapshot is gone on with, also for another set, and nothing of it is read twice", async () => {
  const { folder, store, current } = await twicePromoted();
  const large = { ...newer, "web-5": "a", "web-6": "b", "web-7": "c" };
  const failing = async function* (names: ReadonlySet<string>) {
    let count = 0;
    for await (const secret of reading(large)(names)) {
      if (++count > 2) throw new Error("the list has expired");
      yield secret;
    }
  };
  const before = { snapshot: current, isWhole: true };
  await expect(store.promote(manifestOf(large), before, failing)).rejects.toThrow("expired");
  expect(await servedContents(folder)).toEqual(newer);
  const asked: string[] = [];
  const { "web-5": _, ...rest } = large;
  const wanted = { ...rest, "web-1": "newest" };
  const promoted = await store.promote(manifestOf(wanted), before, (names) => {
    asked.push(...names);
    return reading(wanted)(names);
  });
  expect(asked.toSorted()).toEqual(["web-1", "web-7"]);
  expect(await servedContents(folder)).toEqual(wanted);
  await store.prune(promoted);
  expect(await generationsIn(folder)).toEqual([current.name, promoted.name].toSorted());
});

test("a half-written snapshot with a torn file is no help, and no harm", async () => {
  const { folder, store, current } = await twicePromoted();
  const half = join(folder, "generations", `9-${"0".repeat(32)}`, "web-1");
  await mkdir(half, { recursive: true });
  await writeFile(join(half, "tls.crt"), "certificate n");
  await writeFile(join(folder, "generations", `9-${"0".repeat(32)}`, "manifest.json.new"), renderManifest(current.manifest));
  await store.promote(current.manifest, { snapshot: current, isWhole: true }, reading(newer));
  expect(await servedContents(folder)).toEqual(newer);
});
