// For tests: a folder that goes when the test does.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Makes an empty folder and removes it, with all that is in it, when the running test is finished. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "keyturn-client-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
