// Watches the objects of the step "verify": checksums, and the Leases in which agents show themselves.
import {
  type Cache,
  type DeepReadonly,
  type Kind,
  keyOf,
  Lease,
  managedBySelector,
  nameOf,
  resourceOf,
  type Selection,
  type Stored,
} from "@keyturn/runtime";
import { agentLeaseLabel } from "../../agent/agent-lease.ts";
import { IngressCheckSum, SecretCheckSum } from "../../controllers/checksum/api.ts";
import type { CheckSumObject } from "../../controllers/checksum/check-sum-object.ts";
import { keepShownCheckSum, type ShownCheckSum } from "../../controllers/checksum/summary.ts";
import { keyturn } from "../../operator-identity.ts";
import type { RecordSource, SourceScope } from "../record-source.ts";
import { agentId, agentRecord, checksumId, checksumRecord, countingChecksum, keepAgentLease } from "../records/checksum.ts";

/** What to watch, as the controller does. */
export interface ChecksumSourceOptions {
  /** The kinds of checksums that are published. */
  readonly kinds: readonly Kind<CheckSumObject>[];
  /** Where; one place without a namespace is everywhere. */
  readonly places: readonly Pick<Selection, "namespace">[];
}

export function checksumSource({ watch, touch }: SourceScope, { kinds, places }: ChecksumSourceOptions): RecordSource {
  const labels = managedBySelector(keyturn);
  const checksums = kinds.flatMap((kind) => places.map((place): Cache<ShownCheckSum> => watch(kind, { ...place, labels, keep: keepShownCheckSum })));
  const leases = watch<Lease, Stored<Lease>>(Lease, { labels: `${labels},${agentLeaseLabel.key}=${agentLeaseLabel.value}`, keep: keepAgentLease });
  const checksumsIn = (namespace: string, kind = SecretCheckSum.kind): readonly DeepReadonly<ShownCheckSum>[] =>
    checksums.filter((cache) => cache.kind.kind === kind).flatMap((cache) => valuesOf(cache, namespace));
  for (const cache of checksums) {
    cache.subscribe(({ key }) => {
      const { namespace = "" } = nameOf(key);
      touch(checksumId(cache.kind, namespace));
      // Whether an agent has the checksum that counts depends on both.
      if (cache.kind === SecretCheckSum) for (const [leaseKey] of leases.entries(namespace)) touch(agentId(nameOf(leaseKey)));
    });
  }
  leases.subscribe(({ key }) => {
    const name = nameOf(key);
    touch(agentId(name));
    touch(checksumId(SecretCheckSum, name.namespace ?? ""));
  });
  return {
    step: "checksum",
    resources: [...kinds, Lease].map(resourceOf),
    caches: () => [...checksums, leases],
    make(id, nowMs) {
      const [type, first = "", second = ""] = id.split("/");
      if (type === "agent") {
        const lease = leases.get(keyOf({ namespace: first, name: second }));
        return lease && agentRecord(lease, { counting: countingChecksum(checksumsIn(first)), nowMs });
      }
      const kind = first === SecretCheckSum.kind ? SecretCheckSum : IngressCheckSum;
      const agents = kind === SecretCheckSum ? valuesOf(leases, second) : [];
      return checksumRecord(kind, { namespace: second, checksums: checksumsIn(second, first), leases: agents }, nowMs);
    },
    find(resource, name) {
      if (resource === resourceOf(Lease)) return { kind: Lease, id: agentId(name) };
      const cache = checksums.find((candidate) => resourceOf(candidate.kind) === resource && candidate.get(keyOf(name)) !== undefined);
      return cache && { kind: cache.kind, id: checksumId(cache.kind, name.namespace) };
    },
  };
}

function valuesOf<V>(cache: Cache<V>, namespace: string): readonly DeepReadonly<V>[] {
  return Array.from(cache.entries(namespace), ([, value]) => value);
}
