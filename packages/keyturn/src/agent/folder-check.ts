// Whether the agent's folder is the agent's: nobody else may be able to put certificates into it.
import { dirname, join } from "node:path";
import type { Logger } from "@keyturn/runtime";
import type { Disk } from "./disk.ts";

/** A folder that others could write to, or that is not what it seems. */
class UnsafeFolderError extends Error {
  readonly code = "UnsafeFolder";
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UnsafeFolderError";
  }
}

const writableByOthers = 0o002;
const writableByGroup = 0o020;

/** Makes the folder if it is not there, and sees to it that others cannot write to it. Rejects with an `UnsafeFolderError` that says what to do. */
export async function secureFolder(disk: Disk, folder: string, log: Logger): Promise<void> {
  const isNew = (await disk.inspect(folder)) === undefined;
  await disk.makeFolder(folder);
  if (isNew) await disk.flush(dirname(folder));
  await secure(disk, folder, log);
  const snapshots = join(folder, "generations");
  if (await disk.inspect(snapshots)) await secure(disk, snapshots, log);
}

async function secure(disk: Disk, path: string, log: Logger): Promise<void> {
  const found = await disk.inspect(path);
  if (found?.type === "link") throw new UnsafeFolderError(`${path} is a symbolic link: remove it, or give the folder that it points to`);
  if (found?.type !== "folder") throw new UnsafeFolderError(`${path} is no folder: give another --dir`);
  if (!found.isOurs) throw new UnsafeFolderError(`${path} belongs to another user: give another --dir, or change its owner`);
  if ((found.mode & (writableByOthers | writableByGroup)) === 0) return;
  const mode = found.mode.toString(8);
  try {
    await disk.setMode(path, found.mode & ~(writableByOthers | writableByGroup));
    log.warn({ path, mode }, "others could write to the agent's folder; now they cannot");
  } catch (cause) {
    if ((found.mode & writableByOthers) !== 0)
      throw new UnsafeFolderError(
        `${path} has mode ${mode}, so that anybody can put certificates into it: give a folder within it, such as ${join(path, "agent")}`,
        { cause },
      );
    // A volume with an fsGroup: that group was chosen for the pod.
    log.warn({ path, mode }, "the folder's group can write to the agent's folder");
  }
}
