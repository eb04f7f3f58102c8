// Workloads through the controller's eyes: inspected when something changes, planned together, drawn one by one.
import { Deployment, MutatingWebhookConfiguration, Namespace, Pod, ReplicaSet } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, it } from "vitest";
import type { FlagReader } from "../../feature/feature.ts";
import { readFlags } from "../../feature/flag.ts";
import { outdatedCandidate } from "./candidate.fixture.ts";
import type { SidecarsView } from "./fleet.ts";
import { limitsFor } from "./limits.fixture.ts";
import { ManualCache } from "./manual-cache.fixture.ts";
import { type Candidate, type Decision, type WorkloadId, workloadRef } from "./rollout-plan.ts";
import type { Workload } from "./workload.ts";
import { fleetRecords, workloadRecord } from "./records.ts";

const minute = 60_000;
const limits = limitsFor(1);
const flag: FlagReader = (wanted) => readFlags({ flag: wanted }, {}, {}).flag;
const times = { rolloutTimeoutMs: minute, nowMs: 0 };

function world() {
  const clock = new VirtualClock();
  const deployments = new ManualCache<Workload>(Deployment);
  const candidates = new Map<WorkloadId, Partial<Candidate>>();
  const answers: ((id: WorkloadId) => void)[] = [];
  const touched = new Set<string>();
  const view: SidecarsView = {
    watches: {
      workloads: new Map([["Deployment", deployments]]),
      pods: new ManualCache(Pod),
      replicaSets: new ManualCache(ReplicaSet),
      namespaces: new ManualCache(Namespace),
      configuration: { webhooks: new ManualCache(MutatingWebhookConfiguration), configMaps: [] },
    },
    limits,
    inspector: {
      workload: (id) => deployments.get(id.slice("Deployment/".length)),
      inspect: (id) => {
        const more = candidates.get(id);
        return { candidate: more && outdatedCandidate(workloadRef(id), more), againInMs: undefined };
      },
    },
    onAnswer: (listener) => void answers.push(listener),
  };
  const source = fleetRecords({ clock, touch: (key) => void touched.add(key), flag }, view);
  /** What the keeper of records does: prepares, and makes what was touched. */
  const drawn = (): Readonly<Record<string, string | undefined>> => {
    source.prepare?.(clock.now());
    const keys = Array.from(touched).filter((key) => key !== "workload/plan");
    touched.clear();
    return Object.fromEntries(
      keys.map((key) => {
        const record = source.make(key, clock.now())?.record;
        return [key.slice("workload/Deployment/shop/".length), record?.type === "workload" ? `${record.phase} ${record.reason}` : undefined];
      }),
    );
  };
  return { clock, deployments, candidates, answer: (id: WorkloadId) => answers.forEach((notify) => notify(id)), drawn, touched };
}

/** As much of a workload as is looked at here. */
function seen(restartedAt?: string): Workload {
  const ref = { kind: "Deployment", namespace: "shop", name: "" };
  return {
    ref,
    source: { ...ref, kind: "Deployment", uid: "" },
    templateJson: "",
    templateDigest: "",
    selector: "",
    desired: 1,
    progress: "finished",
    restarting: false,
    restartedAt,
    blocker: undefined,
    consent: undefined,
    paused: undefined,
    restartedFor: undefined,
    isSelected: true,
    deleting: false,
  };
}

it("draws what the plan says, also of those that did not change themselves", async () => {
  const { clock, deployments, candidates, answer, drawn, touched } = world();
  deployments.put("shop/a", seen());
  deployments.put("shop/b", seen());
  expect(drawn()).toEqual({ a: undefined, b: undefined });

  candidates.set("Deployment/shop/a", {}).set("Deployment/shop/b", {});
  answer("Deployment/shop/a");
  answer("Deployment/shop/b");
  expect(drawn()).toEqual({ a: "outdated Outdated", b: "waiting RolloutLimit" });

  candidates.set("Deployment/shop/a", { restarting: true, restartedAtMs: clock.now(), progress: "rolling", replaced: false });
  deployments.put("shop/a", seen(new Date(clock.now()).toISOString()));
  expect(drawn()).toEqual({ a: "rolling Rolling" });

  // Nothing but time passes: the rollout is stuck, and what waits for it waits for that.
  await clock.advance(10 * minute);
  expect([...touched]).toEqual(["workload/plan"]);
  expect(drawn()).toEqual({ a: "rolling RolloutStuck", b: "waiting RolloutStuck" });

  candidates.delete("Deployment/shop/a");
  deployments.put("shop/a", seen(new Date(clock.now()).toISOString()));
  expect(drawn()).toEqual({ a: "done Current", b: "outdated Outdated" });
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
  expect(workloadRecord({ ref, kind: Deployment, row, workload: { restartedAt } }, times)).toMatchObject({
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
  expect(workloadRecord({ ref, kind: Deployment, row, workload: undefined }, times)).toMatchObject({
    next: { atMs: 7, what: "may be restarted" },
    decision: { type: "wait", reason: "CoolingDown", untilMs: 7 },
  });
});

it("is done if there is nothing to decide and it was restarted, and is not shown if it never was", () => {
  expect(workloadRecord({ ref, kind: Deployment, row: undefined, workload: { restartedAt } }, times)).toMatchObject({
    phase: "done",
    health: "healthy",
  });
  expect(workloadRecord({ ref, kind: Deployment, row: undefined, workload: { restartedAt: undefined } }, times)).toBeUndefined();
});
