// How soon does a contestant work again when the API server was killed and has come back?
import { setTimeout as delay } from "node:timers/promises";
import { ConfigMap } from "@keyturn/runtime";
import type { Contestants } from "../contestants.ts";
import { SupervisedContestant } from "../measure/supervised-contestant.ts";
import type { Bed, Scenario } from "../scenario.ts";
import { createJobWorld, type JobWorld } from "../worlds/job-world.ts";
import { jobContestants, jobGoal, jobPeers } from "./job-contestants.ts";

const objects = 50;
const patienceMs = 60_000;
const pollMs = 5;
/** Its watcher comes back after seconds, in some rounds not within a minute: one round tells. */
const slowToReturn = "kube-rs-job";

/** The scenario, for these contestants. */
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
