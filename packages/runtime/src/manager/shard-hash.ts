// Which shard a key belongs to: the same on every replica and in every version.
import type { ObjectKey } from "../client/object.ts";

/** FNV-1a over the key's UTF-16 code units, mixed once more so that keys that differ only at the end spread well. */
export function shardOf(key: ObjectKey, shards: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash ^= hash >>> 13;
  return (hash >>> 0) % shards;
}
