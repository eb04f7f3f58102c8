// A disk that is soon full: a real one of a few megabytes where this user may mount one, and else one that says ENOSPC.
import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "@keyturn/runtime/testing/vitest";
import { type Disk, systemDisk } from "../../packages/keyturn/src/agent/disk.ts";

/** A disk that can be filled and emptied. */
interface SmallDisk {
  readonly folder: string;
  readonly disk: Disk;
  fill(): Promise<void>;
  free(): Promise<void>;
}

const run = promisify(execFile);

/** Makes one that is gone when the test is over. */
export async function smallDisk(): Promise<SmallDisk> {
  const folder = await temporaryFolder();
  const isMounted = await run("mount", ["-t", "tmpfs", "-o", "size=1m,mode=0755", "tmpfs", folder]).then(
    () => true,
    () => false,
  );
  if (!isMounted) return pretendedDisk(folder);
  onTestFinished(async () => void (await run("umount", ["-l", folder])));
  const filler = join(folder, "filler");
  return {
    folder,
    disk: systemDisk,
    async fill() {
      // Whatever fits is written before the error comes.
      await writeFile(filler, Buffer.alloc(2 * 1024 * 1024)).catch(() => undefined);
    },
    free: () => rm(filler),
  };
}

function pretendedDisk(folder: string): SmallDisk {
  let isFull = false;
  const disk: Disk = {
    ...systemDisk,
    async writeNew(path, content, mode) {
      if (isFull) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
      await systemDisk.writeNew(path, content, mode);
    },
  };
  return {
    folder,
    disk,
    fill: async () => void (isFull = true),
    free: async () => void (isFull = false),
  };
}
