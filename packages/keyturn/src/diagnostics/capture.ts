// A look into the running process: where its time goes, and what its memory holds.
import { createWriteStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { getHeapSnapshot } from "node:v8";

/** Where and how. */
interface CaptureOptions {
  readonly folder: string;
  /** Distinguishes captures, in the names of the files. */
  readonly name: string;
  /** Resolves when the profile has been long enough. */
  readonly profiled: () => Promise<void>;
}

/** Nobody but the process's own user: the snapshot holds everything that the process knows, secrets included. */
const mode = 0o600;

/** Writes both files and resolves to their paths. Existing files are never overwritten. The process stands still while the snapshot is taken. */
export async function capture({ folder, name, profiled }: CaptureOptions): Promise<readonly string[]> {
  const profilePath = join(folder, `${name}.cpuprofile`);
  const snapshotPath = join(folder, `${name}.heapsnapshot`);
  // The profile first, so that it does not show the snapshot.
  await writeFile(profilePath, JSON.stringify(await cpuProfile(profiled)), { mode, flag: "wx" });
  await pipeline(getHeapSnapshot(), createWriteStream(snapshotPath, { mode, flags: "wx" }));
  return [profilePath, snapshotPath];
}

async function cpuProfile(profiled: () => Promise<void>): Promise<unknown> {
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
    await profiled();
    return (await session.post("Profiler.stop")).profile;
  } finally {
    session.disconnect();
  }
}
