// What the agent writes beside certificates: the manifest of a snapshot, by which the disk is compared with what should be, and what it remembers across restarts.
import { hash } from "node:crypto";
import { join } from "node:path";
import type { DeepReadonly } from "@keyturn/runtime";
import * as z from "zod";
import type { Stamp } from "../controllers/checksum/difference.ts";
import { type Disk, replaceFile } from "./disk.ts";

const secretEntry = z.object({
  /** The id under which the checksum counts it. */
  id: z.string(),
  /** SHA-256 over all its files, as checksums have it. */
  digest: z.string(),
  /** When the certificate begins and ends to hold, in milliseconds since the epoch; absent if there is none. */
  notBeforeMs: z.number().optional(),
  notAfterMs: z.number().optional(),
  /** When the signed announcement was made by which it was adopted; absent without signatures. */
  announcedMs: z.number().optional(),
  /** It was gone when others went back to older certificates: it stays until it is there again, or somebody announces that it goes. */
  isLost: z.literal(true).optional(),
});

/** How new a checksum object is. */
const stampSchema = z.object({
  /** Of `spec.timestamp`, in milliseconds since the epoch. */
  timestampMs: z.number(),
  /** Of the object's creation. */
  createdMs: z.number(),
});

const manifestSchema = z.object({
  version: z.literal(1),
  namespace: z.string(),
  /** The MD5 of the set. */
  checksum: z.string(),
  /** The checksum object that it matched; absent if a policy allowed it without one. */
  matched: z.string().optional(),
  /** How new the newest checksum object is that any snapshot up to this one has matched. */
  stamp: stampSchema.optional(),
  promotedAtMs: z.number(),
  /** By name. */
  secrets: z.record(z.string(), secretEntry),
  /** When the signed announcements were made by which Secrets were given up, by name: no earlier one brings them back. Absent without signatures. */
  givenUp: z.record(z.string(), z.number()).optional(),
  /** When the newest signed announcement of everything, and nothing else, was made: no earlier one brings anything in. Absent without signatures. */
  confirmedMs: z.number().optional(),
  /** How many Secrets were served in the last hour, and until when: ever fewer, ever later. */
  peaks: z.array(z.object({ count: z.number(), atMs: z.number() })).optional(),
});

/** What is known of one promoted Secret. */
export type SecretEntry = DeepReadonly<z.infer<typeof secretEntry>>;
export type Manifest = DeepReadonly<z.infer<typeof manifestSchema>>;

const wrapper = /^\{"sha256":"([0-9a-f]{64})","manifest":(.*)\}\n$/s;

/** A manifest as a file, with a digest of itself. */
export function renderManifest(manifest: Manifest): string {
  const body = JSON.stringify(manifest);
  return `{"sha256":"${hash("sha256", body)}","manifest":${body}}\n`;
}

/** The inverse; undefined for a file that was cut off or changed. */
export function readManifest(text: string): Manifest | undefined {
  const [, digest, body = ""] = wrapper.exec(text) ?? [];
  if (digest === undefined || hash("sha256", body) !== digest) return undefined;
  const manifest = manifestSchema.safeParse(JSON.parse(body));
  return manifest.success ? manifest.data : undefined;
}

// What the agent remembers across restarts besides the snapshots themselves.

const schema = z.object({
  /** How new the newest checksum object is that was ever matched. */
  stamp: stampSchema.optional(),
  /** When what is served was last known to be what should be. */
  verifiedAtMs: z.number().optional(),
  /** The snapshot for which the command or signal succeeded. */
  notified: z.string().optional(),
  /** Since when a large change has been held. */
  largeChangeSinceMs: z.number().optional(),
});

/** All optional: losing the file costs a repeated command and some precision, and nothing else. */
export interface AgentMemory {
  readonly stamp?: Stamp | undefined;
  readonly verifiedAtMs?: number | undefined;
  readonly notified?: string | undefined;
  readonly largeChangeSinceMs?: number | undefined;
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
