// A cluster in a few numbers: workloads whose pods have a sidecar or another, a rollout that replaces them one by one, and operators that see all of it late.
import * as fc from "fast-check";
import { type Candidate, type Inspection, lastOf, type Limits, type ObservedFleet, planRollouts } from "./rollout-plan.ts";
import { countedPods } from "./pod-selection.ts";
import { restartTime, restartTimeMs } from "./annotations.ts";

interface ModelPod {
  /** Of the template that it was made from; somebody's own changes, not restarts. */
  readonly template: number;
  readonly sidecar: number;
  readonly restartedAt: string | undefined;
  readonly createdAtMs: number;
}

interface ModelWorkload {
  template: number;
  /** The sidecar that a new pod would get. */
  expected: number;
  restartedAt: string | undefined;
  /** Carries the label of a rollout of ours. */
  labelled: boolean;
  restartedFor: string | undefined;
  version: number;
  pods: readonly ModelPod[];
  restarts: number;
}

type Seen = Pick<ModelWorkload, "restartedAt" | "restartedFor" | "labelled" | "version"> & { readonly rolled: boolean };

/** What an operator's caches show; workloads and pods arrive apart from each other. */
interface Operator {
  readonly workloads: Seen[];
  readonly pods: (readonly ModelPod[])[];
}

type Step =
  | { readonly type: "configure"; readonly workload: number }
  | { readonly type: "deploy" | "roll"; readonly workload: number }
  | { readonly type: "deliverWorkload" | "deliverPods"; readonly workload: number; readonly operator: number }
  | { readonly type: "lead"; readonly operator: number }
  | { readonly type: "plan"; readonly fate: "taken" | "refused" | "answerLost" }
  | { readonly type: "wait"; readonly seconds: number };

const operators = 2;
const podsEach = 3;

export function stepArbitrary(workloads: number): fc.Arbitrary<Step> {
  const workload = fc.nat(workloads - 1);
  const operator = fc.nat(operators - 1);
  return fc.oneof(
    fc.record({ type: fc.constantFrom("configure" as const, "deploy" as const), workload }),
    { weight: 6, arbitrary: fc.record({ type: fc.constant("roll" as const), workload }) },
    { weight: 6, arbitrary: fc.record({ type: fc.constantFrom("deliverWorkload" as const, "deliverPods" as const), workload, operator }) },
    fc.record({ type: fc.constant("lead" as const), operator }),
    {
      weight: 8,
      arbitrary: fc.record({
        type: fc.constant("plan" as const),
        fate: fc.constantFrom("taken" as const, "taken" as const, "refused" as const, "answerLost" as const),
      }),
    },
    { weight: 2, arbitrary: fc.record({ type: fc.constant("wait" as const), seconds: fc.nat(400) }) },
  );
}

export const limitsArbitrary: fc.Arbitrary<Limits> = fc.record({
  maxRollouts: fc.constantFrom(0, 1, 2),
  restartDelayMs: fc.constantFrom(0, 5000),
  cooldownMs: fc.constantFrom(0, 300_000),
  rolloutTimeoutMs: fc.constant(0),
  continueWhenStuck: fc.boolean(),
  maintenance: fc.constant({ windows: [], timeZone: "UTC" }),
});

export class ModelWorld {
  readonly workloads: readonly ModelWorkload[];
  /** What must never happen, and did. */
  readonly wrongs: string[] = [];
  readonly #limits: Limits;
  readonly #operators: readonly Operator[];
  #leader = 0;
  #nowMs = Date.UTC(2026, 0, 1);

  constructor(count: number, limits: Limits) {
    this.#limits = limits;
    this.workloads = Array.from({ length: count }, () => ({
      template: 0,
      expected: 0,
      restartedAt: undefined,
      labelled: false,
      restartedFor: undefined,
      version: 0,
      pods: Array.from({ length: podsEach }, () => ({ template: 0, sidecar: 0, restartedAt: undefined, createdAtMs: 0 })),
      restarts: 0,
    }));
    this.#operators = Array.from({ length: operators }, () => ({
      workloads: this.workloads.map(seenOf),
      pods: this.workloads.map(({ pods }) => pods),
    }));
  }

  apply(step: Step): void {
    switch (step.type) {
      case "configure":
        return void this.#at(step.workload).expected++;
      case "deploy": {
        const workload = this.#at(step.workload);
        workload.template++;
        workload.version++;
        return;
      }
      case "roll":
        return this.#roll(this.#at(step.workload));
      case "deliverWorkload":
        return this.#deliver(step.workload, step.operator, "workload");
      case "deliverPods":
        return this.#deliver(step.workload, step.operator, "pods");
      case "lead":
        this.#leader = step.operator;
        return;
      case "plan":
        return this.#plan(step.fate);
      case "wait":
        this.#nowMs += step.seconds * 1000;
    }
  }

  /** Nothing goes wrong any more, and everything gets done. */
  settle(): void {
    for (let round = 0; round < this.workloads.length * 12; round++) {
      this.workloads.forEach((workload, index) => {
        for (let pod = 0; pod < podsEach; pod++) this.#roll(workload);
        this.#deliver(index, this.#leader, "workload");
        this.#deliver(index, this.#leader, "pods");
      });
      this.#plan("taken");
      this.#nowMs += 60_000;
    }
  }

  #at(index: number): ModelWorkload {
    const workload = this.workloads[index];
    if (!workload) throw new Error(`there is no workload ${index}`);
    return workload;
  }

  /** The cluster's own controllers replace one pod that is not of the current template. */
  #roll(workload: ModelWorkload): void {
    const old = workload.pods.findIndex((pod) => !isNew(workload, pod));
    if (old < 0) return;
    workload.pods = workload.pods.with(old, {
      template: workload.template,
      sidecar: workload.expected,
      restartedAt: workload.restartedAt,
      createdAtMs: this.#nowMs,
    });
    workload.version++;
  }

  #deliver(index: number, operator: number, what: "workload" | "pods"): void {
    const caches = this.#operators[operator];
    if (!caches) return;
    if (what === "workload") caches.workloads[index] = seenOf(this.#at(index));
    else caches.pods[index] = this.#at(index).pods;
  }

  #plan(fate: "taken" | "refused" | "answerLost"): void {
    const candidates = this.workloads.flatMap((_, index) => this.#candidate(index, this.#seenPods(index)) ?? []);
    const first = planRollouts(this.#fleet(candidates, new Map()), this.#limits, this.#nowMs);
    const rolling = new Map(
      this.workloads.flatMap(({ labelled, restartedAt }, index) => (labelled ? [[idOf(index), restartTimeMs(restartedAt)] as const] : [])),
    );
    const restarts = first.rows.some(({ decision }) => decision.type === "restart");
    const { rows } = restarts ? planRollouts(this.#fleet(candidates, rolling), this.#limits, this.#nowMs) : first;
    const finished = rows.map(({ ref, decision }) => {
      if (decision.type !== "finish") return true;
      return this.#write(Number(ref.name), fate, (workload) => {
        if (!workload.pods.every((pod) => isNew(workload, pod))) this.wrongs.push("a rollout was called finished and was not");
        workload.labelled = false;
        if (decision.helped) workload.restartedFor = undefined;
      });
    });
    if (!finished.every(Boolean)) return;
    for (const { ref, decision } of rows) {
      const index = Number(ref.name);
      // The last look before a restart is at the pods as they are.
      if (decision.type !== "restart" || this.#candidate(index, this.#at(index).pods)?.inspection.type !== "outdated") continue;
      this.#write(index, fate, (workload) => this.#restart(workload, decision.digest));
    }
  }

  #restart(workload: ModelWorkload, digest: string): void {
    if (workload.pods.every(({ sidecar }) => sidecar === workload.expected)) this.wrongs.push("a current workload was restarted");
    if (!workload.pods.every((pod) => isNew(workload, pod))) this.wrongs.push("a workload was restarted while it was rolling");
    workload.restartedAt = restartTime(this.#nowMs);
    workload.labelled = true;
    workload.restartedFor = digest;
    workload.restarts++;
    const { maxRollouts } = this.#limits;
    const labelled = this.workloads.filter((each) => each.labelled).length;
    if (maxRollouts > 0 && labelled > maxRollouts) this.wrongs.push(`${labelled} workloads roll where ${maxRollouts} may`);
  }

  /** A write is made on the very version that was seen, or not at all. */
  #write(index: number, fate: "taken" | "refused" | "answerLost", change: (workload: ModelWorkload) => void): boolean {
    const workload = this.#at(index);
    if (fate === "refused" || this.#leading().workloads[index]?.version !== workload.version) return false;
    change(workload);
    workload.version++;
    return fate === "taken";
  }

  #leading(): Operator {
    const operator = this.#operators[this.#leader];
    if (!operator) throw new Error("nobody leads");
    return operator;
  }

  #seenPods(index: number): readonly ModelPod[] {
    return this.#leading().pods[index] ?? [];
  }

  #fleet(candidates: readonly Candidate[], rolling: ObservedFleet["rolling"]): ObservedFleet {
    const times = this.#leading().workloads.map(({ restartedAt }) => restartTimeMs(restartedAt));
    return { candidates, rolling, lastRestartMs: lastOf(times, this.#nowMs) };
  }

  #candidate(index: number, pods: readonly ModelPod[]): Candidate | undefined {
    const seen = this.#leading().workloads[index];
    if (!seen) return undefined;
    const { expected } = this.#at(index);
    const counted = countedPods({ ref: { kind: "Deployment" }, restartedAt: seen.restartedAt }, pods);
    const isOutdated = counted.some(({ sidecar }) => sidecar !== expected);
    if (!isOutdated && !seen.labelled) return undefined;
    const inspection: Inspection = isOutdated
      ? { type: "outdated", reason: "ImageDiffers", message: "", digest: String(expected) }
      : { type: "current" };
    return {
      ref: { kind: "Deployment", namespace: "n", name: String(index) },
      uid: String(index),
      generation: seen.version,
      isStarted: true,
      inspection,
      by: { sidecars: "ImageDiffers" },
      progress: seen.rolled ? "finished" : "rolling",
      restarting: seen.labelled,
      restartedAtMs: restartTimeMs(seen.restartedAt),
      replaced: counted.length >= podsEach,
      blocker: undefined,
      paused: undefined,
      restartedFor: seen.restartedFor,
    };
  }
}

function idOf(index: number): string {
  return `Deployment/n/${index}`;
}

/** Made from the template as it is now. */
function isNew({ template, restartedAt }: ModelWorkload, pod: ModelPod): boolean {
  return pod.template === template && pod.restartedAt === restartedAt;
}

function seenOf(workload: ModelWorkload): Seen {
  const { restartedAt, restartedFor, labelled, version, pods } = workload;
  return { restartedAt, restartedFor, labelled, version, rolled: pods.every((pod) => isNew(workload, pod)) };
}
