// What is drawn of checksums and agents.
import type { ObjectRecord } from "@keyturn/dashboard/contract";
import { createClient, createLogger, type Kind, type KubeObject, Lease, Namespace, type Stored, type Watch } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { describe, expect, it } from "vitest";
import type { FlagReader } from "../../feature/feature.ts";
import { ManualCache } from "../../workloads/manual-cache.fixture.ts";
import { agentAnnotations, agentOf, keepAgentLease } from "./agent-lease.ts";
import { SecretCheckSum } from "./api.ts";
import { checksumRecords, checksumStory, countingChecksum, namespaceChecksums, type ShownCheckSum } from "./records.ts";
import { scopeArguments, scopeChoiceOf } from "./scopes.ts";

const now = Date.UTC(2026, 5, 1);
const minute = 60_000;
const iso = (minutes: number): string => `${new Date(now + minutes * minute).toISOString().slice(0, 19)}Z`;

function checksum(name: string, minutes: number, reason: string, spec: Partial<ShownCheckSum["spec"]> = {}): ShownCheckSum {
  const holds = reason === "Published" || reason === "Reached" ? "True" : "False";
  return {
    metadata: { namespace: "gate", name, uid: name, resourceVersion: "1", creationTimestamp: iso(minutes) },
    spec: { timestamp: iso(minutes), checksum: `md5-${name}`, count: 3, ...spec },
    status: { conditions: [{ type: "Current", status: holds, reason, message: reason, lastTransitionTime: iso(minutes) }], problemCount: 0 },
  };
}

function lease(
  identity: string,
  { checksum: held, renewedMinutes = -1 }: { readonly checksum: string; readonly renewedMinutes?: number },
): Stored<Lease> {
  return {
    metadata: {
      namespace: "gate",
      name: `keyturn-agent-${identity}`,
      uid: identity,
      resourceVersion: "1",
      annotations: {
        [agentAnnotations.state]: "verified",
        [agentAnnotations.checksum]: held,
        [agentAnnotations.secrets]: "3",
        [agentAnnotations.promotedAt]: iso(-30),
        [agentAnnotations.differences]: "missing=1,unexpected=2,changed=0",
        [agentAnnotations.alarms]: "",
        "kubectl.kubernetes.io/last-applied-configuration": "all that somebody applied",
      },
    },
    spec: { holderIdentity: identity, leaseDurationSeconds: 180, renewTime: iso(renewedMinutes) },
  };
}

describe("a namespace", () => {
  const settled = checksum("b", -10, "Published");
  const older = checksum("a", -20, "Superseded");

  it("has its checksums, the newest first, and how many agents hold to it", () => {
    const leases = [
      lease("one", { checksum: "md5-b" }),
      lease("two", { checksum: "md5-a" }),
      lease("three", { checksum: "md5-b", renewedMinutes: -60 }),
    ];
    const made = namespaceChecksums(SecretCheckSum, { namespace: "gate", checksums: [older, settled], leases }, now);
    expect(made?.checksums).toMatchObject({
      id: "checksum/SecretCheckSum/gate",
      ref: { name: "b" },
      standing: "current",
      checksums: [{ checksum: "md5-b", count: 3, sinceMs: now - 10 * minute }, { checksum: "md5-a" }],
      agents: { current: 1, behind: 1, silent: 1 },
    });
    expect(made?.againAtMs).toBe(now + 2 * minute);
  });

  it("that awaits an announced state says until when, and agents are to have the one before", () => {
    const awaited = checksum("c", -1, "Awaited", { announcement: { expires: iso(5) } });
    const made = namespaceChecksums(SecretCheckSum, { namespace: "gate", checksums: [settled, awaited], leases: [] }, now);
    expect(made?.checksums).toMatchObject({
      standing: "awaited",
      next: { atMs: now + 5 * minute },
      checksums: [{ checksum: "md5-c", announcedUntilMs: now + 5 * minute }, {}],
    });
    expect(made?.checksums).not.toHaveProperty("checksums.0.sinceMs");
    expect(countingChecksum([settled, awaited])).toBe("md5-b");
  });

  it("of a wider scope is compared by a command that says which scope it is, for those who may look everywhere in it", async () => {
    const given: Readonly<Record<string, string>> = {
      "checksum.scope": "all",
      "checksum.publish-in": "gate",
      "checksum.namespaces": "bank,gate,shop",
    };
    const flag: FlagReader = (each) => each.parse(given[each.name]);
    const made = namespaceChecksums(SecretCheckSum, { namespace: "gate", checksums: [settled], leases: [] }, now);
    const { commands = [] } = made ? checksumStory(made.checksums.ref, made.checksums, scopeArguments(scopeChoiceOf(flag))) : {};
    expect(commands[0]?.command).toBe("keyturn diff -n gate --checksum.scope=all --checksum.publish-in=gate --checksum.namespaces=bank,gate,shop");
    const where = {
      client: createClient({ send: () => Promise.reject(new Error("asked")), close: () => undefined }),
      signal: new AbortController().signal,
    };
    expect(await checksumRecords.differences?.places({ ...where, namespace: "gate" }, flag)).toEqual(["bank", "gate", "shop"]);
    expect(await checksumRecords.differences?.places({ ...where, namespace: "elsewhere" }, flag)).toEqual(["elsewhere"]);
  });

  it("without checksums has no record", () => {
    expect(namespaceChecksums(SecretCheckSum, { namespace: "gate", checksums: [], leases: [] }, now)).toBeUndefined();
  });
});

describe("a wider scope", () => {
  const flag: FlagReader = (each) => each.parse({ "checksum.scope": "fleet" }[each.name]);
  const namespaces = new ManualCache<unknown>(Namespace);
  const touched: string[] = [];
  const watch = (kind: Kind, { keep }: { keep: (object: Stored<KubeObject>) => unknown }): ManualCache<unknown> => {
    const cache = kind === Namespace ? namespaces : new ManualCache<unknown>(kind);
    if (kind === SecretCheckSum) cache.put("gate/b", keep(checksum("b", -10, "Published")));
    if (kind === Lease) cache.put("gate/keyturn-agent-one", keep(lease("one", { checksum: "md5-b" })));
    if (kind === Namespace) {
      for (const [name, fleet] of [
        ["gate", "east"],
        ["shop", "east"],
        ["bank", "west"],
      ] as const)
        cache.put(name, keep({ metadata: { name, uid: name, resourceVersion: "1", labels: { fleet } } }));
    }
    return cache;
  };
  const source = checksumRecords.watch({
    watch: watch as unknown as Watch,
    touch: (id) => void touched.push(id),
    clock: new VirtualClock(),
    log: createLogger({ level: "silent", destination: { write: () => {} } }),
    flag,
    viewer: "page",
    unserved: [],
  });
  const recordOf = (id: string): ObjectRecord | undefined => {
    const record = source?.make(id, now)?.record;
    return record?.type === "object" ? record : undefined;
  };

  it.each(["checksum/SecretCheckSum/gate", "agent/gate/keyturn-agent-one"])("has %s found by each of its namespaces", (id) => {
    const record = recordOf(id);
    expect(record?.covers).toEqual(["gate", "shop"]);
    expect(record?.texts).toEqual(expect.arrayContaining(["gate", "shop"]));
    expect(record?.facts).toContainEqual({ name: "namespaces", text: "gate, shop" });
  });

  it("is told anew when a namespace comes, and is about nothing else when it is a single one", () => {
    touched.length = 0;
    namespaces.drop("shop");
    expect(touched).toEqual(expect.arrayContaining(["checksum/SecretCheckSum/gate", "agent/gate/keyturn-agent-one"]));
    expect(recordOf("checksum/SecretCheckSum/gate")).not.toHaveProperty("covers");
  });
});

describe("an agent", () => {
  it("is shown with how old its set is, and when it falls silent", () => {
    const { agent: record, againAtMs } = agentOf(keepAgentLease(lease("one", { checksum: "md5-b" })), { counting: "md5-b", nowMs: now });
    expect(record).toMatchObject({
      id: "agent/gate/keyturn-agent-one",
      identity: "one",
      health: "healthy",
      matches: true,
      secrets: 3,
      promotedMs: now - 30 * minute,
      differences: { missing: 1, unexpected: 2, changed: 0 },
      alarms: [],
    });
    expect(againAtMs).toBe(now + 2 * minute);
  });

  it.each(["9".repeat(400), "Infinity", "-3", "1.5", "many"])("that notes %s things has none", (count) => {
    const { metadata, ...rest } = lease("one", { checksum: "md5-b" });
    const annotations = { ...metadata.annotations, [agentAnnotations.secrets]: count, [agentAnnotations.differences]: `missing=${count},changed=2` };
    const { agent: record } = agentOf({ ...rest, metadata: { ...metadata, annotations } }, { counting: "md5-b", nowMs: now });
    expect(record).toMatchObject({ secrets: 0, differences: { unexpected: 0, changed: 2 } });
    expect(JSON.stringify(record)).not.toContain("null");
  });

  it("that is silent is an error, and nothing but its own notes is kept", () => {
    const kept = keepAgentLease(lease("one", { checksum: "md5-a", renewedMinutes: -60 }));
    expect(JSON.stringify(kept)).not.toContain("applied");
    const { agent: record, againAtMs } = agentOf(kept, { counting: "md5-b", nowMs: now });
    expect(record).toMatchObject({ health: "failed", reason: "AgentSilent", matches: false });
    expect(againAtMs).toBeUndefined();
  });
});
