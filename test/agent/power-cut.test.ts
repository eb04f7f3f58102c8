// The power fails at every system call, on a real ext4: what the block device holds at that moment is mounted and looked at. One whole set or the other is served.
// Where nobody may mount a file, the disk in memory of `power-loss.test.ts` is all there is, and the configuration of the tests leaves this file out.
import { AsyncLocalStorage } from "node:async_hooks";
import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import { closeSync, copyFileSync, fsyncSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import type fsPromises from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemDisk } from "../../packages/keyturn/src/agent/disk.ts";
import { type Contents, manifestOf, reading, servedContents } from "../../packages/keyturn/src/agent/snapshot.fixture.ts";
import { SnapshotStore } from "../../packages/keyturn/src/agent/snapshots.ts";

/** What happens around the agent's system calls while it is set. */
interface Power {
  /** Called before each call that changes something. Between two of them there is no third: they take turns. */
  before?: (call: string) => Promise<void>;
  /** Nothing is flushed, although the disk says so. */
  forgets?: boolean;
  last: Promise<void>;
}
const { power } = vi.hoisted((): { readonly power: Power } => ({ power: { last: Promise.resolve() } }));

/** What is done between two calls takes no turn itself. */
const between = new AsyncLocalStorage<true>();

function inTurn<Given extends readonly unknown[], Result>(call: string, work: (...given: Given) => Promise<Result>) {
  return async (...given: Given): Promise<Result> => {
    const { before, last } = power;
    if (!before || between.getStore()) return work(...given);
    const turn = Promise.withResolvers<void>();
    power.last = turn.promise;
    await last;
    try {
      await between.run(true, () => before(`${call} ${String(given[0])}`));
      return await work(...given);
    } finally {
      turn.resolve();
    }
  };
}

vi.mock("node:fs/promises", async (importOriginal) => {
  const fs = await importOriginal<typeof fsPromises>();
  const open = inTurn("open", fs.open);
  return {
    ...fs,
    chmod: inTurn("chmod", fs.chmod),
    link: inTurn("link", fs.link),
    mkdir: inTurn("mkdir", fs.mkdir),
    rename: inTurn("rename", fs.rename),
    rm: inTurn("rm", fs.rm),
    symlink: inTurn("symlink", fs.symlink),
    async open(path: string, flags: string | number, mode?: number) {
      const file = await open(path, flags, mode);
      return {
        stat: () => file.stat(),
        readFile: () => file.readFile(),
        close: () => file.close(),
        chmod: inTurn("fchmod", (to: number) => file.chmod(to)),
        writeFile: inTurn("write", (content: string | Uint8Array) => file.writeFile(content)),
        sync: inTurn("fsync", () => (power.forgets ? Promise.resolve() : file.sync())),
      };
    },
  };
});

const before: Contents = { "web-1": "old", "web-2": "same", "web-3": "going" };
const after: Contents = { "web-1": "new", "web-2": "same", "web-4": "coming" };

/** A file with an ext4 in it, mounted. */
interface Image {
  readonly file: string;
  readonly folder: string;
  unmount(): void;
}

/** It writes nothing by itself, and its journal says nothing about content: the most that an ext4 may forget. */
function mount(file: string): Image {
  const folder = `${file}.mounted`;
  mkdirSync(folder, { recursive: true });
  execFileSync("mount", ["-o", "loop,data=writeback,noauto_da_alloc,commit=3600", file, folder]);
  return { file, folder, unmount: () => void execFileSync("umount", [folder]) };
}

function newImage(): Image {
  const place = mkdtempSync(join(tmpdir(), "keyturn-power-"));
  const file = join(place, "disk");
  execFileSync("truncate", ["--size=8M", file]);
  execFileSync("mkfs.ext4", ["-q", file]);
  const image = mount(file);
  onTestFinished(() => {
    delete power.before;
    delete power.forgets;
    image.unmount();
    rmSync(place, { recursive: true });
  });
  return image;
}

function storeIn({ folder }: Image, shareAbove: number): SnapshotStore {
  return new SnapshotStore({ disk: systemDisk, folder: join(folder, "agent"), namespace: "shop", shareAbove });
}

/** What ext4 does when anything else on it is flushed: its whole journal goes out, names and all, and content that was not flushed does not. */
function flushSomethingElse({ folder }: Image): void {
  const file = openSync(join(folder, "else"), "w");
  writeSync(file, "else");
  fsyncSync(file);
  closeSync(file);
}

/** Mounts what a loss of power would leave now; says what is wrong with what is served from it at once, after a look, or after the next promotion. */
async function lossOf(image: Image, shareAbove: number): Promise<string | undefined> {
  const copy = `${image.file}.lost`;
  copyFileSync(image.file, copy);
  const lost = mount(copy);
  const agent = join(lost.folder, "agent");
  const isOne = (served: Contents | undefined, ...sets: readonly Contents[]): boolean => sets.some((set) => isDeepStrictEqual(set, served));
  try {
    const store = storeIn(lost, shareAbove);
    if (!isOne(await servedContents(agent), before, after)) return "what is served at once is neither set";
    const { promoted, isWhole, damages } = await store.recover(1);
    if (!isWhole || damages.length > 0) return `damaged: ${damages.join()}`;
    if (!isOne(await servedContents(agent), before, after)) return "what is served after a look is neither set";
    await store.prune(await store.promote(manifestOf(after), { snapshot: promoted, isWhole: true }, reading(after)));
    return isOne(await servedContents(agent), after) ? undefined : "the next promotion is not served";
  } catch (error) {
    return String(error);
  } finally {
    lost.unmount();
    rmSync(copy);
  }
}

/** Promotes `after` with the power failing before each call; the losses, by call, and before how many calls the block device held something new. */
async function cutEverywhere({ shareAbove, isFlushed }: { readonly shareAbove: number; readonly isFlushed: boolean }) {
  const image = newImage();
  await systemDisk.makeFolder(join(image.folder, "agent"));
  await systemDisk.flush(image.folder);
  const store = storeIn(image, shareAbove);
  const snapshot = await store.promote(manifestOf(before), { snapshot: undefined, isWhole: true }, reading(before));
  execFileSync("sync", ["--file-system", image.folder]);
  const [losses, states]: [string[], Set<string>] = [[], new Set()];
  let calls = 0;
  const cut = async (call: string): Promise<void> => {
    calls++;
    if (isFlushed) flushSomethingElse(image);
    const state = hash("sha256", readFileSync(image.file));
    if (states.has(state)) return;
    states.add(state);
    const loss = await lossOf(image, shareAbove);
    if (loss !== undefined) losses.push(`${call.replaceAll(image.folder, "")}: ${loss}`);
  };
  power.before = cut;
  await store.prune(await store.promote(manifestOf(after), { snapshot, isWhole: true }, reading(after)));
  await between.run(true, () => cut("the end"));
  delete power.before;
  expect(await servedContents(join(image.folder, "agent"))).toEqual(after);
  return { losses, calls, states: states.size };
}

test.each([
  { files: "copied", journal: "the agent alone", shareAbove: 1000, isFlushed: false },
  { files: "copied", journal: "somebody else before each call", shareAbove: 1000, isFlushed: true },
  { files: "shared", journal: "the agent alone", shareAbove: 0, isFlushed: false },
  { files: "shared", journal: "somebody else before each call", shareAbove: 0, isFlushed: true },
])("with unchanged files $files, and $journal flushing the journal", async (given) => {
  const { losses, calls, states } = await cutEverywhere(given);
  expect(losses).toEqual([]);
  expect(calls).toBeGreaterThan(30);
  expect(states).toBeGreaterThan(given.isFlushed ? 20 : 5);
});

test("a disk that does not flush what it says it has is found out", async () => {
  power.forgets = true;
  expect((await cutEverywhere({ shareAbove: 1000, isFlushed: true })).losses).not.toEqual([]);
});
