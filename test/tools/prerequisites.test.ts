// The first thing that `make` does on a new machine: say what is missing, and nothing else.
import { execFile } from "node:child_process";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { temporaryFolder } from "@keyturn/runtime/testing/vitest";

const script = fileURLToPath(new URL("../../tools/check-prerequisites", import.meta.url));

/** Runs the script on a machine that has only these programs. */
async function check(programs: Readonly<Record<string, string>>): Promise<{ readonly code: number; readonly err: string }> {
  const folder = await temporaryFolder();
  await symlink("/bin/sh", join(folder, "sh"));
  for (const [name, body] of Object.entries(programs)) await writeFile(join(folder, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  return new Promise((resolve) => {
    execFile("/bin/sh", [script], { env: { PATH: folder } }, (error, _out, err) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, err }),
    );
  });
}

const all = { node: "echo 20", npm: "", go: "", make: "" };

it("passes where everything is there", async () => {
  expect(await check(all)).toEqual({ code: 0, err: "" });
});

it("names each thing that is missing, all at once", async () => {
  const { code, err } = await check({ make: "" });
  expect(code).toBe(1);
  expect(err).toContain("missing: Node.js 20 or newer");
  expect(err).toContain("missing: npm");
  expect(err).toContain("missing: Go 1.26 or newer");
});

it("does not take a Node that is too old", async () => {
  const { code, err } = await check({ ...all, node: 'if [ "$1" = --version ]; then echo v18.0.0; else echo 18; fi' });
  expect(code).toBe(1);
  expect(err).toContain("missing: Node.js 20 or newer; this is v18.0.0");
});
