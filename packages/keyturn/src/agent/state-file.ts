// What the agent remembers across restarts besides the generations themselves.
import { join } from "node:path";
import * as z from "zod";
import { type Disk, replaceFile } from "./disk.ts";
import { type Stamp, stampSchema } from "./manifest.ts";

const schema = z.object({
  /** How new the newest checksum object is that was ever matched. */
  stamp: stampSchema.optional(),
  /** When what is served was last known to be what should be. */
  verifiedAtMs: z.number().optional(),
  /** The generation for which the command or signal succeeded. */
  notified: z.string().optional(),
});

/** All optional: losing the file costs a repeated command and some precision, and nothing else. */
export interface AgentMemory {
  readonly stamp?: Stamp | undefined;
  readonly verifiedAtMs?: number | undefined;
  readonly notified?: string | undefined;
}

const pathIn = (folder: string): string => join(folder, "state.json");

/** What was remembered; nothing if there is no file, or none that can be read. */
export async function readMemory(disk: Disk, folder: string): Promise<AgentMemory> {
  try {
    return schema.parse(JSON.parse((await disk.read(pathIn(folder))).toString()));
  } catch {
    // See AgentMemory: there is nothing in it worth stopping for.
    return {};
  }
}

/** Remembers. Rejects with the disk's error; the old memory is then still there. */
export async function writeMemory(disk: Disk, folder: string, memory: AgentMemory): Promise<void> {
  await replaceFile(disk, pathIn(folder), { content: `${JSON.stringify(memory)}\n`, mode: 0o600 });
}
