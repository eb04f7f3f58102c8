// A disk that can be read and not written to, or not even read: what is served is known all the same, or nothing takes its place before it is.
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createLogger } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { type Disk, systemDisk } from "./disk.ts";
import { ServedSet } from "./served-set.ts";
import { type Contents, manifestOf, reading, servedContents, testFolder } from "./snapshot.fixture.ts";
import { SnapshotStore } from "./snapshots.ts";

const older: Contents = { "web-1": "old", "web-2": "same", "web-3": "going" };
const newer: Contents = { "web-1": "new", "web-2": "same", "web-4": "coming" };

/** A folder in which two sets were promoted, one after the other. */
async function promotedFolder(): Promise<string> {
  const folder = await testFolder();
  const store = storeOn(systemDisk, folder);
  const before = await store.promote(manifestOf(older, { promotedAtMs: 1 }), { snapshot: undefined, isWhole: true }, reading(older));
  await store.promote(manifestOf(newer, { promotedAtMs: 2 }), { snapshot: before, isWhole: true }, reading(newer));
  return folder;
}

function storeOn(disk: Disk, folder: string): SnapshotStore {
  return new SnapshotStore({ disk, folder, namespace: "shop", shareAbove: 1000 });
}

function servedOn(disk: Disk, folder: string): ServedSet {
  return new ServedSet({ store: storeOn(disk, folder), verifyEveryMs: 1000, clock: new VirtualClock(), log: createLogger({ level: "silent" }) });
}

/** The machine's disk, of which some methods fail. */
function failing(code: string, ...methods: readonly (keyof Disk)[]): Disk {
  const fail = (): Promise<never> => Promise.reject(Object.assign(new Error(`${code}: no`), { code }));
  return { ...systemDisk, ...Object.fromEntries(methods.map((method) => [method, fail])) };
}

const writing = ["makeFolder", "writeNew", "link", "symlink", "rename", "remove", "setMode"] as const;

test.each(["EROFS", "ENOSPC"])("with %s for everything that is written, a damaged Secret is told of, and what is served is known", async (code) => {
  const folder = await promotedFolder();
  await writeFile(join(folder, "current", "web-2", "tls.crt"), "edited");
  await writeFile(join(folder, "current", "web-4", "tls.crt"), "edited");
  await writeFile(join(folder, "current", "planted"), "planted");
  const generations = await readdir(join(folder, "generations"));
  const served = servedOn(failing(code, ...writing), folder);
  await served.recover();
  expect(served.promoted?.manifest).toEqual(manifestOf(newer, { promotedAtMs: 2 }));
  // Of web-2 another snapshot has the same files.
  expect({ isWhole: served.isWhole, broken: served.broken }).toEqual({ isWhole: false, broken: new Set(["web-4"]) });
  expect(served.damage).toContain(`it cannot be mended: ${code}`);
  expect(await readdir(join(folder, "generations"))).toEqual(generations);
});

test("a disk that is full in the middle of mending is left as it was", async () => {
  const folder = await promotedFolder();
  await writeFile(join(folder, "current", "web-2", "tls.crt"), "edited");
  const generations = await readdir(join(folder, "generations"));
  const served = servedOn(failing("ENOSPC", "writeNew"), folder);
  await served.recover();
  expect(served.damage).toContain("it cannot be mended: ENOSPC");
  expect(await readdir(join(folder, "generations"))).toEqual(generations);
});

test("a disk that cannot be read is looked at again before anything is promoted", async () => {
  const folder = await promotedFolder();
  let isReadable = false;
  const list = (path: string): Promise<readonly string[]> => (isReadable ? systemDisk.list(path) : Promise.reject(new Error("EIO: no")));
  const served = servedOn({ ...systemDisk, list }, folder);
  await served.recover();
  expect({ promoted: served.promoted, damage: served.damage }).toEqual({ promoted: undefined, damage: "the disk cannot be used: EIO: no" });
  expect(await served.promote(manifestOf(older, { promotedAtMs: 3 }), reading(older))).toBe(false);
  isReadable = true;
  // What is served is known now, so that the next look can say whether the set may take its place.
  await served.promote(manifestOf(older, { promotedAtMs: 3 }), reading(older));
  expect(served.promoted?.manifest).toEqual(manifestOf(newer, { promotedAtMs: 2 }));
  expect(await servedContents(folder)).toEqual(newer);
});
