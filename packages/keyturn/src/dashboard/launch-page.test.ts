// The way into the page that shows its secret to nobody else.
import { readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { expect, it } from "vitest";
import { makeLaunchPage, openInBrowser } from "./launch-page.ts";

it("is a file for this user alone, and goes", async () => {
  const door = await makeLaunchPage("http://127.0.0.1:1/#secret=a&b");
  expect((await stat(door.path)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(door.path))).mode & 0o777).toBe(0o700);
  expect(await readFile(door.path, "utf8")).toContain("url=http://127.0.0.1:1/#secret=a&amp;b");
  await door[Symbol.asyncDispose]();
  await expect(stat(dirname(door.path))).rejects.toThrow(/ENOENT/);
});

it("says so where nothing opens pages", async () => {
  expect(await openInBrowser({ path: "/nowhere", [Symbol.asyncDispose]: async () => {} }, { command: "keyturn-no-such-program", args: [] })).toBe(
    false,
  );
});
