// Whoever looks is told the same in the same words: by `keyturn status`, by a page on their machine, and by the operator's own page.
import { createLogger, Deployment, type Kind, type KubeObject, keyOf, Lease, type ObjectKey, type Stored, type Watch } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, it } from "vitest";
import { agentAnnotations } from "../controllers/checksum/agent-lease.ts";
import { SecretCheckSum } from "../controllers/checksum/api.ts";
import { EventingAuth } from "../controllers/eventing-auth/api.ts";
import { JWKSConfig } from "../controllers/jwks/api.ts";
import { RotationTarget } from "../controllers/rotation/api.ts";
import { restartedForAnnotation } from "../workloads/annotations.ts";
import { ManualCache } from "../workloads/manual-cache.fixture.ts";
import { readFlags } from "../feature/flag.ts";
import { placeOf, type RecordScope } from "../feature/record.ts";
import { features } from "../registry.ts";
import { reportsOf } from "./status-watches.ts";

const nowMs = Date.UTC(2026, 0, 1);
const conditions = (type: string, reason: string) => ({
  conditions: [{ type, status: "False", reason, message: `because of ${reason}`, lastTransitionTime: "2025-12-31T00:00:00Z" }],
});

function object(name: string, rest: object): Stored<KubeObject> {
  return { metadata: { namespace: "shop", name, uid: name, resourceVersion: "1" }, ...rest };
}

/** Something of everything. */
const world: readonly (readonly [Kind, Stored<KubeObject>])[] = [
  [EventingAuth, object("runtime", { spec: {}, status: conditions("Ready", "SecretConflict") })],
  [
    RotationTarget,
    object("live", { spec: { rotationSet: "keys", rotationOrder: 1, rotationDelay: "1m" }, status: conditions("Ready", "NameConflict") }),
  ],
  [RotationTarget, object("next", { spec: { rotationSet: "keys", rotationOrder: 2, rotationDelay: "1m" } })],
  [JWKSConfig, object("tokens", { spec: { certificateSecret: "tls", configMapName: "tokens-jwks" }, status: conditions("Ready", "SecretNotFound") })],
  [
    SecretCheckSum,
    object("sum", { spec: { timestamp: "2025-12-31T00:00:00Z", checksum: "d", count: 1 }, status: conditions("Current", "EmptySet") }),
  ],
  [
    Lease,
    {
      metadata: { ...object("keyturn-agent-edge", {}).metadata, annotations: { [agentAnnotations.state]: "verified" } },
      spec: { holderIdentity: "edge", leaseDurationSeconds: 60, renewTime: "2025-12-31T23:59:30.000000Z" },
    } as Stored<KubeObject>,
  ],
  [Deployment, { metadata: { ...object("web", {}).metadata, annotations: { [restartedForAnnotation]: "digest" } } }],
];

type Indexes = Readonly<Record<string, (value: unknown, key: ObjectKey) => readonly string[]>>;

/** A cache with indexes. */
class IndexedCache extends ManualCache<unknown> {
  readonly #indexes: Indexes;

  constructor(kind: Kind, indexes: Indexes = {}) {
    super(kind);
    this.#indexes = indexes;
  }

  override byIndex(name = "", wanted = ""): readonly ObjectKey[] {
    return Array.from(this.entries()).flatMap(([key, value]) => (this.#indexes[name]?.(value, key).includes(wanted) ? [key] : []));
  }
}

/** Each object as somebody sees it, by its name. */
function seenBy(viewer: RecordScope["viewer"]): Readonly<Record<string, unknown>> {
  const watch = (
    kind: Kind,
    { labels, indexes, keep = (each) => each }: { labels?: string; indexes?: Indexes; keep?: (object: Stored<KubeObject>) => unknown } = {},
  ) => {
    const cache = new IndexedCache(kind, indexes);
    // Nothing here has the label of what is rolling.
    const isSelected = kind !== Deployment || labels === undefined;
    for (const [its, each] of isSelected ? world : []) if (its === kind) cache.put(keyOf(each.metadata), keep(each));
    return cache;
  };
  const scope: RecordScope = {
    watch: watch as unknown as Watch,
    touch: () => {},
    clock: new VirtualClock(),
    log: createLogger({ level: "silent", destination: { write: () => {} } }),
    flag: (flag) => readFlags({ flag }, {}, {}).flag,
    viewer,
    unserved: [],
  };
  return Object.fromEntries(
    features.flatMap(({ name, records }) => {
      const source = records.watch(scope);
      if (!source) return [];
      expect(source.step).toBe(name);
      return reportsOf(source, nowMs).map((report) => {
        const { health, reason, message, detail, about, next } = report;
        return [placeOf(report), { health, reason, message, detail, about, next }];
      });
    }),
  );
}

it("status, page and operator say the same about every object of every feature", () => {
  const status = seenBy("status");
  expect(Object.entries(status).map(([place, said]) => [place, (said as { readonly health: string }).health])).toEqual([
    ["eventingauth/shop/runtime", "failed"],
    ["rotationtarget/shop/live", "failed"],
    ["rotationtarget/shop/next", "unknown"],
    ["jwksconfig/shop/tokens", "failed"],
    ["secretchecksum/shop/sum", "degraded"],
    ["agent/shop/edge", "healthy"],
    ["deployment/shop/web", "degraded"],
  ]);
  // A page sees workloads by the plan of the moment, which says more than what was left on them.
  const { "deployment/shop/web": _, ...others } = status;
  expect(seenBy("page")).toEqual(others);
  expect(seenBy("operator")).toEqual(others);
});

it("every feature is a step of its own", () => {
  expect(new Set(features.map(({ stage }) => stage.verb)).size).toBe(features.length);
});
