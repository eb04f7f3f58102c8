// Sets of made-up Secrets, and snapshots of them on a disk, for tests.
import { Buffer } from "node:buffer";
import { mkdtemp, readdir, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Manifest } from "./manifest.ts";
import { digestOfFiles, type SecretFiles } from "./secret-folder.ts";
import type { ReadSecrets } from "./snapshots.ts";

/** What Secrets hold, by name: any text will do for certificate and key. */
export type Contents = Readonly<Record<string, string>>;

/** The files that a content stands for. */
function filesFrom(content: string): SecretFiles {
  return { "tls.crt": Buffer.from(`certificate ${content}`), "tls.key": Buffer.from(`key ${content}`) };
}

/** A manifest of such a set. */
export function manifestOf(contents: Contents, changes: Partial<Manifest> = {}): Manifest {
  const secrets = Object.entries(contents).map(
    ([name, content]) => [name, { id: `1-1-${content}`, digest: digestOfFiles(filesFrom(content)) }] as const,
  );
  const checksum = Buffer.from(JSON.stringify(contents)).toString("hex").padEnd(32, "0").slice(-32);
  return { version: 1, namespace: "shop", checksum, promotedAtMs: 0, secrets: Object.fromEntries(secrets), ...changes };
}

/** Gives the files of such a set. */
export function reading(contents: Contents): ReadSecrets {
  return async function* read(names) {
    for (const [name, content] of Object.entries(contents))
      if (names.has(name)) yield { name, digest: digestOfFiles(filesFrom(content)), files: filesFrom(content) };
  };
}

/** A folder that is gone when the test is over. */
export async function testFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "keyturn-agent-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** What a gateway reads through `current`, as contents; undefined if there is no `current`. Fails for a Secret whose two files do not belong together. */
export async function servedContents(folder: string): Promise<Contents | undefined> {
  const current = join(folder, "current");
  if ((await readlink(current).catch(() => undefined)) === undefined) return undefined;
  const served: Record<string, string> = {};
  for (const name of await readdir(current)) {
    if (!(await stat(join(current, name))).isDirectory()) continue;
    const certificate = (await readFile(join(current, name, "tls.crt"), "utf8")).replace("certificate ", "");
    const key = (await readFile(join(current, name, "tls.key"), "utf8")).replace("key ", "");
    if (certificate !== key) throw new Error(`${name} has the certificate of ${certificate} and the key of ${key}`);
    served[name] = certificate;
  }
  return served;
}
