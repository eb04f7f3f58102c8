// The kubectl plugin as krew gets and installs it.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { compressedTarArchive } from "@keyturn/runtime/testing";
import { temporaryFolder } from "@keyturn/runtime/testing/vitest";
import { krewManifest } from "../../tools/plugin/krew-manifest.ts";
import { pluginFiles } from "../../tools/plugin.ts";

const run = promisify(execFile);

/** What krew checks of a manifest, and what its index asks for besides. */
const manifestSchema = z.strictObject({
  apiVersion: z.literal("krew.googlecontainertools.github.com/v1alpha2"),
  kind: z.literal("Plugin"),
  metadata: z.strictObject({ name: z.string().regex(/^[\w-]+$/) }),
  spec: z.strictObject({
    version: z.string().regex(/^v\d+\.\d+\.\d+$/),
    homepage: z.url(),
    shortDescription: z
      .string()
      .min(1)
      .max(50)
      .regex(/^[^\n]*[^.\n]$/),
    description: z.string().min(1),
    caveats: z.string(),
    platforms: z
      .array(
        z.strictObject({
          selector: z.strictObject({
            matchExpressions: z
              .array(z.strictObject({ key: z.enum(["os", "arch"]), operator: z.literal("In"), values: z.array(z.string()).min(1) }))
              .min(1),
          }),
          uri: z.url(),
          sha256: z.string().regex(/^[0-9a-f]{64}$/),
          bin: z.string().min(1),
          files: z.array(z.strictObject({ from: z.string().min(1), to: z.string().min(1) })).min(1),
        }),
      )
      .min(1),
  }),
});

/** A program that says how it was called. */
const program = "console.log(process.env.KEYTURN_CALLED_AS ?? '-', ...process.argv.slice(2));\n";

async function archived(): Promise<Uint8Array> {
  const file = join(await temporaryFolder(), "keyturn.mjs");
  await writeFile(file, program);
  return compressedTarArchive(await pluginFiles(file));
}

it("the manifest has what krew asks for, and names the archive's own checksum", async () => {
  const archive = await archived();
  const sha256 = createHash("sha256").update(archive).digest("hex");
  const text = krewManifest({ version: "1.2.3", uri: "https://example.test/kubectl-keyturn.tar.gz", sha256, homepage: "https://example.test" });
  const manifest = manifestSchema.parse(parse(text));
  expect(manifest.metadata.name).toBe("keyturn");
  expect(manifest.spec.version).toBe("v1.2.3");
  expect(manifest.spec.platforms[0]).toMatchObject({ sha256, uri: "https://example.test/kubectl-keyturn.tar.gz" });
});

it("the same files give the same archive, byte for byte", async () => {
  expect(Buffer.compare(await archived(), await archived())).toBe(0);
});

it("what is in the archive works where krew puts it: in a folder of its own, with a link in the PATH", async () => {
  const folder = await temporaryFolder();
  const [store, bin] = [join(folder, "store"), join(folder, "bin")];
  for (const each of [store, bin]) await mkdir(each);
  await writeFile(join(folder, "it.tar.gz"), await archived());
  await run("tar", ["-xzf", join(folder, "it.tar.gz"), "-C", store]);
  for (const name of ["kubectl-keyturn", "kubectl_complete-keyturn"]) await symlink(join(store, "kubectl-keyturn"), join(bin, name));
  // The Node that runs this test, and the system's own programs.
  const env = { PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` };
  expect((await run(join(bin, "kubectl-keyturn"), ["status", "-A"], { env })).stdout).toBe("kubectl keyturn status -A\n");
  expect((await run(join(bin, "kubectl_complete-keyturn"), ["sta"], { env })).stdout).toBe("- __complete sta\n");
});
