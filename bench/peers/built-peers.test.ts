// A build that takes long is heard of, and one that fails says why.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "@keyturn/runtime/testing/vitest";
import { runBuild } from "./built-peers.ts";

test("says what it is at while it runs", async () => {
  const cwd = await temporaryFolder();
  const heard = Promise.withResolvers<void>();
  const say = (text: string): void => {
    if (text === "  sh: 1 steps so far, now at: Compiling serde") heard.resolve();
  };
  const build = runBuild({ file: "sh", args: ["-c", "echo '   Compiling serde'; until [ -e enough ]; do sleep 0.05; done"], cwd, say, everyMs: 10 });
  await heard.promise;
  writeFileSync(join(cwd, "enough"), "");
  await build;
});

test("an error has the builder's own last lines", async () => {
  const build = runBuild({ file: "sh", args: ["-c", "echo no such crate >&2; exit 3"], cwd: "/", say: () => {} });
  await expect(build).rejects.toThrow(/ended with 3:\nno such crate$/);
});

test("a builder that is not there is named", async () => {
  await expect(runBuild({ file: "no-such-builder", args: [], cwd: "/", say: () => {} })).rejects.toThrow("no-such-builder");
});
