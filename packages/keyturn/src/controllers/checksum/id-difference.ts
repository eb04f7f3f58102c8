// Ids of two sets compared: what one has and the other has not, and what an id says.

/** The number in an id. */
export function numberOfId(id: string): string {
  return id.slice(0, Math.max(0, id.indexOf("-", 1)));
}

/** The version in an id; 0, which is no version, for what is no id. */
export function versionOfId(id: string): bigint {
  const [, version = "0"] = /^\d+-(-?\d+)(?:-|$)/.exec(id) ?? [];
  return BigInt(version);
}

/** What is in one list and not in the other, in byte order. */
interface Difference {
  /** In the live set, not in the checksum. */
  readonly notPublished: readonly string[];
  /** In the checksum, not in the live set. */
  readonly notLive: readonly string[];
}

/** Compares lists in any order; an id that is in one of them more often counts for the rest. */
export function differenceOf(liveIds: Iterable<string>, publishedIds: Iterable<string>): Difference {
  const [live, published] = [[...liveIds].sort(), [...publishedIds].sort()];
  const [notPublished, notLive]: [string[], string[]] = [[], []];
  let [l, p] = [0, 0];
  for (;;) {
    const [left, right] = [live[l], published[p]];
    if (left === undefined && right === undefined) return { notPublished, notLive };
    if (left === right) {
      l++;
      p++;
    } else if (right === undefined || (left !== undefined && left < right)) {
      if (left !== undefined) notPublished.push(left);
      l++;
    } else {
      notLive.push(right);
      p++;
    }
  }
}
