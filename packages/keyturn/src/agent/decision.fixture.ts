// Observations for tests of decisions: sets, checksum objects and manifests in a few words.
import { defaultLimits } from "../controllers/checksum/blast-radius.ts";
import { checksumOf, leftOut } from "../controllers/checksum/ids.ts";
import type { LeftOutReason } from "../controllers/checksum/reasons.ts";
import type { DecisionRules, Observation } from "./decision.ts";
import type { Stamp, ObservedChecksum, ObservedSecret, ObservedSet } from "../controllers/checksum/difference.ts";
import type { Manifest } from "./manifest.ts";
import { type Policies, situationNames } from "./alarm-policies.ts";

/** A Secret in tests: its version, and when it holds; or why it does not count. */
interface TestSecret {
  readonly version?: number;
  readonly content?: string;
  readonly notBeforeMs?: number;
  readonly notAfterMs?: number;
  readonly leftOut?: LeftOutReason;
}
export type TestSet = Readonly<Record<string, TestSecret>>;

function entryOf(name: string, { version = 1, content = `${name} ${version}`, notBeforeMs, notAfterMs }: TestSecret) {
  const id = `${name.slice(name.lastIndexOf("-") + 1)}-${version}-${content.replaceAll(" ", "")}`;
  return { id, digest: content, ...(notBeforeMs !== undefined && { notBeforeMs }), ...(notAfterMs !== undefined && { notAfterMs }) };
}

export function observedSet(set: TestSet): ObservedSet {
  const secrets = new Map(
    Object.entries(set).map(([name, secret]): readonly [string, ObservedSecret] => {
      if (secret.leftOut) return [name, { member: leftOut(secret.leftOut) }];
      const { id, digest, ...dates } = entryOf(name, secret);
      return [name, { member: { state: "counted", id, digest }, ...dates }];
    }),
  );
  const ids = idsOf(set).toSorted();
  return { secrets, state: { ids, checksum: checksumOf(ids), sha256: undefined } };
}

export function idsOf(set: TestSet): readonly string[] {
  return Object.entries(set).flatMap(([name, secret]) => (secret.leftOut ? [] : [entryOf(name, secret).id]));
}

export const stampAt = (timestampMs: number): Stamp => ({ timestampMs, createdMs: timestampMs });

/** A checksum object of a set. */
export function checksumFor(set: TestSet, atMs: number, changes: Partial<ObservedChecksum> = {}): ObservedChecksum {
  const ids = idsOf(set);
  return { name: `sum-${atMs}`, checksum: checksumOf(ids), ids, stamp: stampAt(atMs), ...changes };
}

/** What is promoted. */
export function promotedSet(set: TestSet, atMs: number): Manifest {
  const secrets = Object.fromEntries(Object.entries(set).map(([name, secret]) => [name, entryOf(name, secret)]));
  return { version: 1, namespace: "shop", checksum: checksumOf(idsOf(set)), stamp: stampAt(atMs), promotedAtMs: atMs, secrets };
}

/** An observation in which nothing is known but what is given. */
export function observation(given: Partial<Observation>): Observation {
  return {
    secrets: undefined,
    checksums: "unknown",
    promoted: undefined,
    isWhole: true,
    broken: new Set(),
    stamp: given.promoted?.stamp,
    differsSinceMs: undefined,
    largeChangeSinceMs: undefined,
    ...given,
  };
}

const keepAll = Object.fromEntries(situationNames.map((situation) => [situation, "keep"])) as Policies;

export const testRules = (policies: Partial<Policies> = {}): DecisionRules => ({
  policies: { ...keepAll, ...policies },
  staleAfterMs: 600_000,
  alarmAfterMs: 15_000,
  limits: defaultLimits,
  signedOnly: false,
});
