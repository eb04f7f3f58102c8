// One watch on each of many clusters, as the issuing controller holds them, and nothing else.
import { createLogger, embeddedKubeconfig, systemClock, systemRandom } from "@keyturn/runtime";
import { Target } from "../../packages/keyturn/src/controllers/eventing-auth/target.ts";
import { openClusters } from "./cluster-connections.ts";

const log = createLogger({ level: "error", destination: process.stderr });
const targets: Target[] = [];

/** Resolves when the cluster has shown what it has. */
await openClusters(async (kubeconfig) => {
  const connection = await embeddedKubeconfig(kubeconfig, { name: "bench", clock: systemClock });
  const { promise, resolve } = Promise.withResolvers<void>();
  const target = new Target({
    connection,
    place: { namespace: "kyma-system", name: "eventing-webhook-auth" },
    clock: systemClock,
    random: systemRandom,
    log,
    onChange: () => {
      if (target.observe().type === "observed") resolve();
    },
  });
  targets.push(target);
  await promise;
});
