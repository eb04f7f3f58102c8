// Does a contestant get its job done when the API server was killed and has come back, when it was killed itself, and when a tenth of its requests fail; and how soon?
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { ConfigMap, Lease, type Random, seededRandom } from "@keyturn/runtime";
import { answerWith, CutConnection, type Fault, startFaultProxy } from "@keyturn/runtime/testing";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess, SupervisedContestant } from "../measure/contestant-process.ts";
import type { Bed, Goal, Scenario } from "../scenario.ts";
import { createJobWorld, type JobWorld } from "../worlds/job-world.ts";
import { clearNamespace } from "../worlds/seeding.ts";
import { jobContestants, jobGoal, jobPeers } from "./common-job.ts";

/** After so long a contestant is taken not to get there. */
const patienceMs = 60_000;

const objects = 50;
const pollMs = 5;
/** Its watcher comes back after seconds, in some rounds not within a minute: one round tells. */
const slowToReturn = "kube-rs-job";

/** After the API server was killed. */
export function jobRecovery(contestants: Contestants): Scenario {
  return {
    id: "job-recovery",
    title: "After the API server was killed and came back",
    method:
      `The common job with ${objects} Secrets, all done. The API server is killed (SIGKILL) and started again; as soon as its \`/readyz\` says that it is ready, one Secret gets another certificate. *Effect* is from ready until the ConfigMap holds the new digest, ` +
      `by asking the API server every ${pollMs} ms; *away* is how long there was no API server. One that ends is started again as a kubelet would. A contestant without *effect* had none after ${patienceMs / 1000} s. The bare loop takes no part: it ends with its watch.`,
    contestants: jobContestants(contestants),
    metrics: [
      { id: "effect", label: "effect", unit: "ms" },
      { id: "away", label: "away", unit: "ms" },
      { id: "restarts", label: "restarts", unit: "" },
    ],
    goals: jobPeers.map((of) => jobGoal("recovery: time from ready to an effect", { metric: "effect", of, unguarded: of === slowToReturn })),
    warmUp: [],
    prepare: async () => {},
    async measure({ command }, bed) {
      await using world = await createJobWorld(bed, objects);
      await using contestant = new SupervisedContestant(command, bed.cluster.adminKubeconfig);
      await world.progress.whenDone(patienceMs);
      const { apiServer } = bed.cluster;
      const killedMs = performance.now();
      await apiServer.kill();
      await apiServer.start();
      const readyMs = performance.now();
      await world.changeOne(0);
      const effectMs = await effectSeen(world, bed);
      return { away: readyMs - killedMs, restarts: contestant.restarts, ...(effectMs !== undefined && { effect: effectMs - readyMs }) };
    },
  };
}

/** When the first Secret's ConfigMap was right. Asked for, because the observer too has to find its way back to the API server. */
async function effectSeen(world: JobWorld, { cluster: { client } }: Bed): Promise<number | undefined> {
  const name = world.nameOf(0);
  for (const startedMs = performance.now(); performance.now() - startedMs < patienceMs; await delay(pollMs)) {
    const configMap = await client.get(ConfigMap, { namespace: world.namespace, name });
    if (configMap?.data?.["sha256"] === world.progress.wanted(name)) return performance.now();
  }
  return undefined;
}

/** After the contestant was killed. */
export function jobRestart(contestants: Contestants): Scenario {
  return {
    id: "job-restart",
    title: "After the process was killed and started again",
    method:
      `The common job with ${objects} Secrets, all done by a process that was elected by a Lease, with default times. It is killed (SIGKILL), one Secret gets another certificate, and the process is started again as a kubelet does with a container: on the same host, with the same \`POD_UID\`. ` +
      "*Effect* is from the kill until an observer sees the ConfigMap with the new digest. Only the two runtimes that elect a leader take part.",
    contestants: [contestants.controllerRuntime("job-lead", "controller-runtime"), contestants.ours("job", "Keyturn", "lead")],
    metrics: [{ id: "effect", label: "effect", unit: "ms" }],
    goals: [
      {
        text: "killed and started again: time to an effect, of controller-runtime",
        contestant: "job-lead",
        metric: "effect",
        type: "ratio",
        of: "controller-runtime-job-lead",
        atMost: 0.5,
      },
      {
        text: "killed and started again: time to an effect, ms",
        contestant: "job-lead",
        metric: "effect",
        type: "limit",
        below: 2_000,
        over: "worst",
      },
    ],
    warmUp: [],
    prepare: async () => {},
    async measure({ command }, bed) {
      // Nobody waits for the Lease of the round before.
      await clearNamespace(bed.cluster.client, "default", [Lease]);
      await using world = await createJobWorld(bed, objects);
      const pod = { POD_UID: randomUUID() };
      await using killed = new ContestantProcess(command, bed.cluster.adminKubeconfig, pod);
      await world.progress.whenDone(patienceMs);
      const killedMs = performance.now();
      await killed.kill();
      await world.changeOne(0);
      await using _again = new ContestantProcess(command, bed.cluster.adminKubeconfig, pod);
      return { effect: (await world.progress.whenPublished(world.nameOf(0), patienceMs)) - killedMs };
    },
  };
}

const share = 0.1;

const faultGoals: readonly Goal[] = [
  {
    text: "a tenth of the requests fail: objects left undone, %",
    contestant: "job",
    metric: "undone",
    type: "limit",
    below: 0.001,
    over: "worst",
  },
  ...jobPeers.map((of) => jobGoal("a tenth of the requests fail: convergence", { metric: "converged", of })),
];

/** While requests fail. */
export function jobUnderFaults(contestants: Contestants): Scenario {
  /** How often each has run: its n-th run has the same fates for its requests as everybody's n-th. */
  const runs = new Map<string, number>();
  return {
    id: "job-faults",
    title: "The same job while a tenth of all requests fail",
    method:
      "The common job from nothing with 300 Secrets, through a proxy that lets every tenth request fail, watches and lists included: with 500, with 429 and `Retry-After: 1`, by a reset before the API server gets it, or by a reset after it has been served; each equally often, by a seed that is the round's number. " +
      `*Undone* is what share of the objects was not right after ${patienceMs / 1000} s. Requests are the proxy's count, without watches. A contestant that ends is started again as a kubelet would: at once, then after 10 s, 20 s and so on. The proxy speaks HTTP/1.1 to everybody and runs on the same cores. The bare loop takes no part: it gives up at the first error. (With \`--quick\`, 100 Secrets.)`,
    contestants: jobContestants(contestants),
    metrics: [
      { id: "converged", label: "converged", unit: "ms" },
      { id: "undone", label: "undone, %", unit: "" },
      { id: "requests", label: "requests per object", unit: "" },
      { id: "restarts", label: "restarts", unit: "" },
    ],
    goals: faultGoals,
    warmUp: [],
    prepare: async () => {},
    async measure({ id, command }, bed) {
      const objects = bed.quick ? 100 : 300;
      const run = runs.get(id) ?? 1;
      runs.set(id, run + 1);
      await using world = await createJobWorld(bed, objects);
      await using proxy = await startFaultProxy(bed.cluster);
      proxy.inject(randomFaults(seededRandom(run), share));
      const startedMs = performance.now();
      await using contestant = new SupervisedContestant(command, proxy.through(bed.cluster.adminKubeconfig));
      const done = await world.progress.isDoneWithin(patienceMs);
      const converged = performance.now() - startedMs;
      if (done) await world.verify();
      return {
        ...(done && { converged }),
        undone: (world.progress.undone / objects) * 100,
        requests: proxy.requests({ watch: false }).length / objects,
        restarts: contestant.restarts,
      };
    },
  };
}

const serverError = answerWith({ status: 500 });
const tooMany = answerWith({ status: 429, retryAfterSeconds: 1 });
const failures: readonly Fault["intervene"][] = [
  (request, next) => serverError.intervene(request, next),
  (request, next) => tooMany.intervene(request, next),
  () => Promise.reject(new CutConnection()),
  // The request is served, and only its answer is lost.
  async (request, next) => {
    const { body } = await next(request);
    await Array.fromAsync(body);
    throw new CutConnection();
  },
];

/**
 * A fault that lets `share` of the requests fail, all ways equally often: answered with 500, with 429 and `Retry-After: 1`, reset before the API server gets them,
 * reset after it has served them. The n-th request has the same fate with the same `random`.
 */
export function randomFaults(random: Random, share: number): Fault {
  return {
    on: {},
    intervene(request, next) {
      const drawn = random();
      const failure = drawn < share ? failures[Math.floor((drawn / share) * failures.length)] : undefined;
      // A watch has no end to wait for: one that fails is not begun.
      return failure && !(request.isWatch && failure === failures.at(-1)) ? failure(request, next) : next(request);
    },
  };
}
