// A real disk on which any step can be made to fail, or to be the last thing that ever happens.
import { type Disk, systemDisk } from "./disk.ts";

/** What happens at a step. `torn`: half of a file is written before the process dies. */
export type Fault =
  | { readonly type: "killed" | "torn" }
  | { readonly type: "fails"; readonly code: string; /** How many steps in a row. */ readonly steps: number };

/** The steps that change something, in the order in which they were taken. */
interface FaultyDisk extends Disk {
  readonly steps: readonly string[];
}

/** What a process that was killed looks like from within: nothing that it does has any effect. */
export class KilledError extends Error {}

/** A disk on which step number `at` (from 0) of those that change something meets `fault`. */
export function faultyDisk(at = Infinity, fault: Fault = { type: "killed" }): FaultyDisk {
  const steps: string[] = [];
  let isDead = false;
  const step = async <T>(name: string, act: () => Promise<T>, tear?: () => Promise<void>): Promise<T> => {
    if (isDead) throw new KilledError("killed");
    const number = steps.push(name) - 1;
    if (fault.type === "fails") {
      if (number >= at && number < at + fault.steps) throw Object.assign(new Error(`${fault.code}: ${name}`), { code: fault.code });
    } else if (number === at) {
      isDead = true;
      if (fault.type === "torn") await tear?.();
      throw new KilledError("killed");
    }
    return act();
  };
  return {
    steps,
    makeFolder: (path) => step(`makeFolder ${path}`, () => systemDisk.makeFolder(path)),
    writeNew: (path, content, mode) => {
      const half = Buffer.from(content).subarray(0, Math.floor(content.length / 2));
      return step(
        `writeNew ${path}`,
        () => systemDisk.writeNew(path, content, mode),
        () => systemDisk.writeNew(path, half, mode),
      );
    },
    link: (existing, path) => step(`link ${path}`, () => systemDisk.link(existing, path)),
    symlink: (target, path) => step(`symlink ${path}`, () => systemDisk.symlink(target, path)),
    rename: (from, to) => step(`rename ${to}`, () => systemDisk.rename(from, to)),
    flush: (path) => step(`flush ${path}`, () => systemDisk.flush(path)),
    remove: (path) => step(`remove ${path}`, () => systemDisk.remove(path)),
    setMode: (path, mode) => step(`setMode ${path}`, () => systemDisk.setMode(path, mode)),
    inspect: (path) => systemDisk.inspect(path),
    read: (path) => systemDisk.read(path),
    list: (path) => systemDisk.list(path),
    readLink: (path) => systemDisk.readLink(path),
  };
}
