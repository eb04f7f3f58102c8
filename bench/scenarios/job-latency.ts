// How long after a change can its effect be seen, when nothing else goes on and when much else does?
import { setTimeout as delay } from "node:timers/promises";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import { quantile } from "../measure/verdict.ts";
import type { Goal, Scenario } from "../scenario.ts";
import { createJobWorld, type JobWorld } from "../worlds/job-world.ts";
import { jobContestants, jobGoal, jobLimit } from "./common-job.ts";

/** The objects whose effects are timed, and those that make the load. */
const timed = 20;
const loaded = 180;
const changesPerSecond = 50;
/** Between two changes that are timed, so that each meets a process at rest. */
const pauseMs = 15;
/** The first changes of a process meet code that has not run yet. */
const warmUps = 10;
const patienceMs = 120_000;
/** No part goes on for longer, however few changes it has seen: on a machine that cannot bear the load, each takes seconds. */
const partMs = 20_000;

const figures = [
  { id: "idleMedian", label: "idle, median" },
  { id: "idleP99", label: "idle, p99" },
  { id: "loadMedian", label: "under load, median" },
  { id: "loadP99", label: "under load, p99" },
] as const;

/** The scenario, for these contestants. */
export function jobLatency(contestants: Contestants): Scenario {
  return {
    id: "job-latency",
    title: "From a change to its effect",
    method:
      `The common job with ${timed + loaded} Secrets, all done. One of ${timed} Secrets gets another certificate, again and again, ${pauseMs} ms after the last effect; counted from *before the write is sent* until an observer sees the ConfigMap with the new digest. ` +
      `*Under load*, ${changesPerSecond} changes a second of ${loaded} other Secrets come in between, no more than 16 at a time, each of which wants two writes. The first ${warmUps} changes do not count.`,
    contestants: [...jobContestants(contestants), jobLimit(contestants)],
    metrics: figures.map(({ id, label }) => ({ id, label, unit: "ms" })),
    goals: figures.map(({ id, label }): Goal => jobGoal(`change to effect: ${label}`, { metric: id, of: "controller-runtime-job" })),
    // Every contestant warms itself up.
    warmUp: [],
    prepare: async () => {},
    async measure({ command }, bed) {
      const changes = bed.quick ? 40 : 100;
      await using world = await createJobWorld(bed, timed + loaded);
      await using _contestant = new ContestantProcess(command, bed.cluster.adminKubeconfig);
      await world.progress.whenDone(patienceMs);
      await latencies(world, warmUps);
      const idle = await latencies(world, changes);
      await using load = steadily(changesPerSecond, (turn) => world.changeOne(timed + (turn % loaded)));
      const underLoad = await latencies(world, changes);
      await load[Symbol.asyncDispose]();
      await world.progress.whenDone(patienceMs);
      await world.verify();
      return {
        idleMedian: quantile(idle, 0.5),
        idleP99: quantile(idle, 0.99),
        loadMedian: quantile(underLoad, 0.5),
        loadP99: quantile(underLoad, 0.99),
      };
    },
  };
}

async function latencies(world: JobWorld, changes: number): Promise<readonly number[]> {
  const measured: number[] = [];
  const startedMs = performance.now();
  for (let index = 0; index < changes && performance.now() - startedMs < partMs; index++) {
    await delay(pauseMs);
    const target = index % timed;
    const beganMs = performance.now();
    // The effect may be seen before the answer to the write.
    const written = world.changeOne(target);
    const [effectMs] = await Promise.all([world.progress.whenPublished(world.nameOf(target), patienceMs), written]);
    measured.push(effectMs - beganMs);
  }
  return measured;
}

/** So many turns are under way at a time, as many as the benchmark's other writers are. More only pile up on a machine that cannot keep pace. */
const atOnce = 16;

/**
 * Calls `work` so many times a second, with 0, 1, 2 …, until disposed of: a load that does not yield to whom it is put upon. A turn that is due while 16 are under way is left out.
 * Disposing waits for what is under way and throws if any of it failed.
 */
export function steadily(perSecond: number, work: (turn: number) => Promise<unknown>): AsyncDisposable {
  const startedMs = performance.now();
  const underWay = new Set<Promise<unknown>>();
  const failures: unknown[] = [];
  let due = 0;
  let turn = 0;
  // A late timer is made up for: what counts is the rate.
  const timer = setInterval(() => {
    for (; due < ((performance.now() - startedMs) / 1000) * perSecond; due++) {
      if (underWay.size >= atOnce) continue;
      const one: Promise<unknown> = work(turn++)
        .catch((error: unknown) => failures.push(error))
        .finally(() => underWay.delete(one));
      underWay.add(one);
    }
  }, 1000 / perSecond);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await Promise.all(underWay);
      if (failures.length > 0) throw new AggregateError(failures.splice(0), "a steady stream of work failed in part");
    },
  };
}
