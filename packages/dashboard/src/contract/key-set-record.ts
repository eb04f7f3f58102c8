// A published JWKS and its keys.
import type { RecordBase } from "./record.ts";

/** A key of a JWKS, now or before. */
export interface KeyView {
  readonly kid: string;
  /** `Removed` keys are those that this server has seen go; it forgets them when it is restarted. */
  readonly state: "Active" | "Retiring" | "Removed";
  /** The first key that is `Active` is the one that signs. */
  readonly signs: boolean;
  /** The Secret that it came from; empty if that is not known. */
  readonly source: string;
  readonly algorithm: string;
  /** When it was first published. */
  readonly sinceMs: number;
  readonly replacedMs?: number;
  /** When it goes, or went. */
  readonly removeMs?: number;
  readonly certificateExpiresMs?: number;
}

/** A JWKSConfig or a JWKS. */
export interface KeySetRecord extends RecordBase {
  readonly type: "keySet";
  /** `jwks/<kind>/<namespace>/<name>`. */
  readonly id: string;
  readonly step: "jwks";
  /** Where the document is published. */
  readonly configMap: string;
  /** The path that clients are told to use. */
  readonly endpoint: string;
  /** Active ones first, then retiring ones, then removed ones. */
  readonly keys: readonly KeyView[];
  /** Counts the changes of what is published. */
  readonly revision?: number;
  readonly updatedMs?: number;
  readonly nextRemovalMs?: number;
  /** The earliest end of a certificate whose key is active. */
  readonly nextExpiryMs?: number;
  /** Whether pods answer with the document; absent if none are asked for. */
  readonly served?: { readonly holds: boolean; readonly reason: string; readonly message: string };
}
