// What only this installation can write: proofs on targets' objects and version records, and digests in status that nobody can check guesses by.
import { createHmac } from "node:crypto";
import type { ObjectKey } from "@keyturn/runtime";
import type { RecordAnnotations } from "./history.ts";
import type { SetObservation } from "./observe.ts";

/** What is sealed. Each has its own meaning, so that one is never taken for another. */
type Sealed = "object" | "record" | "status";

/** Seals with the installation's key. Parts say what it holds for besides: the same content elsewhere has another seal. */
export type Seal = (what: Sealed, parts: readonly (string | number)[]) => string;

/** The first 16 bytes are enough: nobody can try keys. */
const hexDigits = 32;

/** The seal of a key. */
export function sealOf(key: Uint8Array): Seal {
  return (what, parts) =>
    createHmac("sha256", key)
      .update(JSON.stringify([what, ...parts]))
      .digest("hex")
      .slice(0, hexDigits);
}

// Annotations have whole milliseconds; the time of the API server is an estimate, and may have parts of them.

/** Proves what a record says of its version, and the log that is kept with it: whoever could edit that could have anything live at once. */
export function recordProof(
  seal: Seal,
  setKey: ObjectKey,
  { seq, resource, digest, watchDigest, seenAtMs, log }: Pick<RecordAnnotations, "seq" | "resource" | "digest" | "watchDigest" | "seenAtMs" | "log">,
): string {
  return seal("record", [setKey, seq, resource, digest, watchDigest, Math.trunc(seenAtMs), log]);
}

/**
 * True if anything of a set is proven. Then the newest record is too: it is sealed before anything else is. Of a set where nothing is, an earlier release
 * has written everything, or the key was lost.
 */
export function isProven({ records, targets }: Pick<SetObservation, "records" | "targets">): boolean {
  return records.some(({ proof }) => proof === "valid") || targets.some(({ objects }) => objects.some(({ applied }) => applied?.isProven));
}

/** Whose an object is: a target of this name may have been in another set before. */
interface ProvenFor {
  readonly setKey: ObjectKey;
  readonly targetKey: ObjectKey;
}

/** Proves what a target's object was written with, and for which set. */
export function objectProof(
  seal: Seal,
  { setKey, targetKey }: ProvenFor,
  { seq, digest, atMs }: { readonly seq: number; readonly digest: string; readonly atMs: number },
): string {
  return seal("object", [setKey, targetKey, seq, digest, Math.trunc(atMs)]);
}

/**
 * A version's digest for those who may not read it. It holds for that version of that set alone: who can write contents of their own, elsewhere or as the next
 * version, cannot find out by it what others hold.
 */
export function shownDigest(seal: Seal, setKey: ObjectKey, { seq, digest }: { readonly seq: number; readonly digest: string }): string {
  return seal("status", [setKey, seq, digest]);
}
