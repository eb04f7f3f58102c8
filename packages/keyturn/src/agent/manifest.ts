// What a generation consists of, written beside it: with it, what is on the disk can be told from what should be.
import { hash } from "node:crypto";
import type { DeepReadonly } from "@keyturn/runtime";
import * as z from "zod";

const secretEntry = z.object({
  /** The id under which the checksum counts it. */
  id: z.string(),
  /** SHA-256 over all its files, as checksums have it. */
  digest: z.string(),
  /** When the certificate begins and ends to hold, in milliseconds since the epoch; absent if there is none. */
  notBeforeMs: z.number().optional(),
  notAfterMs: z.number().optional(),
});

/** How new a checksum object is. */
export const stampSchema = z.object({
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
  /** The checksum object that it matched; absent if a policy let it pass without one. */
  matched: z.string().optional(),
  /** How new the newest checksum object is that any generation up to this one has matched. */
  stamp: stampSchema.optional(),
  promotedAtMs: z.number(),
  /** By name. */
  secrets: z.record(z.string(), secretEntry),
});

/** What is known of one promoted Secret. */
export type SecretEntry = DeepReadonly<z.infer<typeof secretEntry>>;
export type Stamp = DeepReadonly<z.infer<typeof stampSchema>>;
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
