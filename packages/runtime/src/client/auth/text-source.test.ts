// Files that change under us.
import { rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { temporaryFolder } from "../../testing/vitest/index.ts";
import { fileText } from "./text-source.ts";

it("sees a new text within ten seconds, and looks no more often", async () => {
  const path = join(await temporaryFolder(), "token");
  const clock = new VirtualClock();
  await writeFile(path, "one");
  const source = fileText(path, "the token", clock);
  expect(await source.read()).toBe("one");
  await writeFile(path, "other");
  await clock.advance(9_999);
  expect(await source.read()).toBe("one");
  await clock.advance(1);
  expect(await source.read()).toBe("other");
});

it("follows the symbolic link that Kubernetes swaps", async () => {
  const dir = await temporaryFolder();
  const clock = new VirtualClock();
  await writeFile(join(dir, "first"), "one");
  await writeFile(join(dir, "second"), "two");
  await symlink(join(dir, "first"), join(dir, "token"));
  const source = fileText(join(dir, "token"), "the token", clock);
  expect(await source.read()).toBe("one");
  await symlink(join(dir, "second"), join(dir, "next"));
  await rename(join(dir, "next"), join(dir, "token"));
  await clock.advance(10_000);
  expect(await source.read()).toBe("two");
});

it("reads anew each minute even when the file's dates do not show it", async () => {
  const path = join(await temporaryFolder(), "token");
  const clock = new VirtualClock();
  const date = new Date(0);
  await writeFile(path, "one");
  await utimes(path, date, date);
  const source = fileText(path, "the token", clock);
  await source.read();
  await writeFile(path, "two");
  await utimes(path, date, date);
  await clock.advance(10_000);
  expect(await source.read()).toBe("one");
  await clock.advance(50_000);
  expect(await source.read()).toBe("two");
});

it("rereads when asked to, and says whether that made a difference", async () => {
  const path = join(await temporaryFolder(), "token");
  await writeFile(path, "one");
  const source = fileText(path, "the token", new VirtualClock());
  await source.read();
  expect(await source.reread()).toBe(false);
  await writeFile(path, "two");
  expect(await source.reread()).toBe(true);
  expect(await source.read()).toBe("two");
});

it("keeps its text while the file is away or empty, but fails if it never had one", async () => {
  const path = join(await temporaryFolder(), "token");
  const clock = new VirtualClock();
  const source = fileText(path, "the token", clock);
  await expect(source.read()).rejects.toThrow(`cannot read the token from ${path}: there is no such file`);
  await writeFile(path, "one");
  expect(await source.read()).toBe("one");
  await writeFile(path, "");
  await clock.advance(10_000);
  expect(await source.read()).toBe("one");
  await rm(path);
  await clock.advance(10_000);
  expect(await source.read()).toBe("one");
});
