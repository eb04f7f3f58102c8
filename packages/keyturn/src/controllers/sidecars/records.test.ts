// Workloads through the controller's eyes: inspected when something changes, planned together, drawn one by one.
import { createClient, Deployment, type Kind } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, it } from "vitest";
import type { FlagReader } from "../../feature/feature.ts";
import { readFlags } from "../../feature/flag.ts";
import { Fleet } from "../../workloads/fleet.ts";
import type { Finding, InspectorDefinition } from "../../workloads/inspector.ts";
import { limitsFor } from "../../workloads/rollout-plan.fixture.ts";
import { ManualCache } from "../../workloads/manual-cache.fixture.ts";
import type { Decision, Inspection, WorkloadId } from "../../workloads/rollout-plan.ts";
import type { RestartMemory } from "../../workloads/restart-memory.ts";
import type { Workload } from "../../workloads/workload.ts";
import { fleetRecords } from "../../workloads/records.ts";
import { workloadRecord } from "../../workloads/workload-record.ts";
import { sidecarsView } from "./records.ts";

const minute = 60_000;
const limits = limitsFor(1);
const flag: FlagReader = (wanted) => readFlags({ flag: wanted }, {}, {}).flag;
const times = { rolloutTimeoutMs: minute, nowMs: 0 };

/** A fleet of Deployments that are as outdated as the test says. */
function world(recall?: () => Promise<RestartMemory | undefined>) {
  const clock = new VirtualClock();
  const deployments = new ManualCache<unknown>(Deployment);
  const findings = new Map<WorkloadId, Finding>();
  const touched = new Set<string>();
  let due: (ids: Iterable<WorkloadId>) => void = () => {};
  const inspector: InspectorDefinition = {
    name: "sidecars",
    access: [],
    events: { restarted: "", finished: { reason: "", message: "" }, stuck: "" },
    setUp: (scope) => {
      due = scope.due;
      return {
        inspect: (id) => findings.get(id),
        lookAgain: () => Promise.resolve(undefined),
        ids: () => [],
        uidOf: () => undefined,
        caches: [],
        answered: () => Promise.resolve(),
      };
    },
    metrics: () => ({ show() {}, hide() {}, restarted() {}, restartFailed() {} }),
  };
  const watch = (kind: Kind) => (kind === Deployment ? deployments : new ManualCache<unknown>(kind));
  const { signal } = new AbortController();
  const client = createClient({ send: () => Promise.reject(new Error("nobody is asked")), close() {} });
  const options = { inspectors: [inspector], selects: () => true, skipNamespaces: [], argoRollouts: false, checkAdmission: true };
  const fleet = new Fleet({ watch, client, clock, signal, ...(recall && { recall }), asker: "viewer" }, options);
  const source = fleetRecords(sidecarsView, { clock, touch: (key) => void touched.add(key), flag }, { fleet, limits });
  /** What the keeper of records does: prepares, and makes what was touched. */
  const drawn = (): Readonly<Record<string, string | undefined>> => {
    source.prepare?.(clock.now());
    const keys = Array.from(touched).filter((key) => key !== "workload/plan");
    touched.clear();
    return Object.fromEntries(
      keys.map((key) => {
        const record = source.make(key, clock.now())?.record;
        return [key.slice("workload/Deployment/shop/".length), record?.type === "object" ? `${record.facet} ${record.reason}` : undefined];
      }),
    );
  };
  const find = (name: string, inspection: Inspection, replaced = true): void => {
    findings.set(`Deployment/shop/${name}`, { inspection, replaced, blocker: undefined, againInMs: undefined });
    due([`Deployment/shop/${name}`]);
  };
  return { clock, deployments, find, drawn, touched };
}

/** As much of a workload as is looked at here. */
function seen(name: string, more: Partial<Workload> = {}): Workload {
  const ref = { kind: "Deployment", namespace: "shop", name };
  return {
    ref,
    source: { ...ref, kind: "Deployment", uid: "" },
    templateJson: "",
    templateDigest: "",
    selector: "",
    desired: 1,
    progress: "finished",
    generation: 1,
    isStarted: true,
    restarting: false,
    restartedAt: undefined,
    restartedBy: "template",
    otherRestartedAt: undefined,
    blocker: undefined,
    labels: {},
    annotations: {},
    paused: undefined,
    records: {},
    restartedFor: undefined,
    isSelected: true,
    deleting: false,
    ...more,
  };
}

it("draws what the plan says, also of those that did not change themselves", async () => {
  const { clock, deployments, find, drawn, touched } = world();
  const outdated: Inspection = { type: "outdated", reason: "ImageDiffers", message: "another image", digest: "d1" };
  deployments.put("shop/a", seen("a"));
  deployments.put("shop/b", seen("b"));
  expect(drawn()).toEqual({ a: undefined, b: undefined });

  find("a", outdated);
  find("b", outdated);
  expect(drawn()).toEqual({ a: "outdated Outdated", b: "waiting RolloutLimit" });

  const restartedAt = new Date(clock.now()).toISOString();
  find("a", outdated, false);
  deployments.put("shop/a", seen("a", { restarting: true, restartedAt, restartedFor: "d1", progress: "rolling" }));
  expect(drawn()).toEqual({ a: "rolling Rolling" });

  // Nothing but time passes: the rollout is stuck, and what waits for it waits for that.
  await clock.advance(10 * minute);
  expect([...touched]).toEqual(["workload/plan"]);
  expect(drawn()).toEqual({ a: "rolling RolloutStuck", b: "waiting RolloutStuck" });

  find("a", { type: "current" });
  deployments.put("shop/a", seen("a", { restartedAt }));
  expect(drawn()).toEqual({ a: "done Current", b: "outdated Outdated" });
});

it("draws what the operator decides, also where labels and annotations say otherwise", async () => {
  const restart = { uid: "", generation: 1, restartedFor: "d1", wasUnhealthy: false, isOver: true };
  const { clock, deployments, find, drawn } = world(() => Promise.resolve(new Map([["Deployment/shop/a", { ...restart, atMs: 0 }]])));
  const outdated: Inspection = { type: "outdated", reason: "ImageDiffers", message: "another image", digest: "d1" };
  deployments.put("shop/a", seen("a", { generation: 3 }));
  // It was never restarted by us, whatever its label says.
  deployments.put("shop/b", seen("b", { restarting: true, restartedAt: "1970-01-01T00:00:00Z", progress: "rolling" }));
  deployments.put("shop/c", seen("c"));
  for (const name of ["a", "b", "c"]) find(name, outdated, false);
  drawn();
  await clock.advance(0);
  expect(drawn()).toEqual({ a: "heldBack RestartTakenBack", b: "rolling Rolling", c: "outdated Outdated" });
});

// What is drawn of a workload, for each thing that the plan can decide.

const ref = { kind: "Deployment", namespace: "shop", name: "web" };
const restartedAt = "2026-06-01T00:00:00Z";

it.each<readonly [Decision, string, string]>([
  [{ type: "restart", digest: "d" }, "outdated", "progressing"],
  [{ type: "rolling", stuck: false }, "rolling", "progressing"],
  [{ type: "rolling", stuck: true }, "rolling", "failed"],
  [{ type: "finish", helped: true }, "rolling", "progressing"],
  [{ type: "wait", reason: "OutsideWindow", untilMs: 7 }, "waiting", "paused"],
  [{ type: "skip", reason: "OptedOut" }, "heldBack", "paused"],
  [{ type: "skip", reason: "RestartWithoutEffect" }, "heldBack", "degraded"],
  [{ type: "unknown", reason: "WebhookFailed" }, "unknown", "unknown"],
])("%o is %s and %s", (decision, phase, health) => {
  const row = { id: "Deployment/shop/web", ref, outdated: "ImageDiffers" as const, why: "another image", decision };
  expect(workloadRecord(sidecarsView, { ref, kind: Deployment, row, workload: { restartedAt } }, times)).toMatchObject({
    id: "workload/Deployment/shop/web",
    ref: { resource: "deployments.apps", namespace: "shop", name: "web" },
    phase,
    health,
    why: "another image",
    outdated: "ImageDiffers",
    restartedMs: Date.parse(restartedAt),
    stuck: decision.type === "rolling" && decision.stuck,
  });
});

it("says when a wait is over", () => {
  const row = { id: "", ref, outdated: undefined, why: "", decision: { type: "wait", reason: "CoolingDown", untilMs: 7 } as const };
  expect(workloadRecord(sidecarsView, { ref, kind: Deployment, row, workload: undefined }, times)).toMatchObject({
    next: { atMs: 7, what: "may be restarted" },
    decision: { type: "wait", reason: "CoolingDown", untilMs: 7 },
  });
});

it("is done if there is nothing to decide and it was restarted, and is not shown if it never was", () => {
  expect(workloadRecord(sidecarsView, { ref, kind: Deployment, row: undefined, workload: { restartedAt } }, times)).toMatchObject({
    phase: "done",
    health: "healthy",
  });
  expect(workloadRecord(sidecarsView, { ref, kind: Deployment, row: undefined, workload: { restartedAt: undefined } }, times)).toBeUndefined();
});
