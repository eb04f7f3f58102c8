// Does a contestant get its job done when a tenth of its requests fail, and how soon?
import { seededRandom } from "@keyturn/runtime";
import { startFaultProxy } from "@keyturn/runtime/testing";
import type { Contestants } from "../contestants.ts";
import { SupervisedContestant } from "../measure/supervised-contestant.ts";
import type { Goal, Scenario } from "../scenario.ts";
import { createJobWorld } from "../worlds/job-world.ts";
import { jobContestants, jobGoal, jobPeers } from "./job-contestants.ts";
import { randomFaults } from "./random-faults.ts";

const share = 0.1;
const patienceMs = 60_000;

const goals: readonly Goal[] = [
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

/** The scenario, for these contestants. */
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
    goals,
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
