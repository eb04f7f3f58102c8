// The lock between processes that want the same build.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { withLock } from "./binaries.ts";

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "keyturn-lock-test-"));
  file = join(folder, "lock");
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("withLock", () => {
  it("lets one in at a time", async () => {
    let inside = 0;
    let most = 0;
    const waited: number[] = [];
    const enter = (): Promise<void> =>
      withLock(
        file,
        async () => {
          most = Math.max(most, ++inside);
          await new Promise(setImmediate);
          inside--;
        },
        { pollMs: 1, onWait: (pid) => waited.push(pid) },
      );
    await Promise.all(Array.from({ length: 20 }, enter));
    expect(most).toBe(1);
    expect(new Set(waited)).toEqual(new Set([process.pid]));
    expect(readdirSync(folder)).toEqual([]);
  });

  it("takes over from an owner that is dead", async () => {
    writeFileSync(file, "2147483646 whoever");
    await Promise.all(Array.from({ length: 5 }, () => withLock(file, () => Promise.resolve(), { pollMs: 1 })));
    expect(readdirSync(folder)).toEqual([]);
  });

  it("is given back when the work fails", async () => {
    await expect(withLock(file, () => Promise.reject(new Error("no luck")))).rejects.toThrow("no luck");
    expect(readdirSync(folder)).toEqual([]);
  });

  it("can be waited for no longer than the caller likes", async () => {
    const abort = new AbortController();
    await withLock(file, async () => {
      const second = withLock(file, () => Promise.resolve(), { onWait: () => abort.abort(new Error("enough")), signal: abort.signal });
      await expect(second).rejects.toThrow("aborted");
    });
    expect(readdirSync(folder)).toEqual([]);
  });
});
