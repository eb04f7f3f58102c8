// The five controllers, with the sizes at which their growth is looked at.
import { checksumWorld, seedCertificates } from "../worlds/checksum-world.ts";
import { createIssueWorld } from "../worlds/issue-world.ts";
import { createJwksWorld } from "../worlds/jwks-world.ts";
import { applyProductCrds } from "../worlds/product-crds.ts";
import { rotationWorlds } from "../worlds/rotation-world.ts";
import { fleetWorld, seedFleet, startFleetIstiod } from "../worlds/sidecars-world.ts";
import type { GrowthSubject } from "./growth.ts";
import { promptTargets } from "./rotation-settle.ts";

const podsEach = 20;

/** In the order of a credential's life. */
export const growthSubjects: readonly GrowthSubject[] = [
  {
    controller: "eventing-auth",
    axis: "Kymas",
    sizes: [60, 120, 240, 480],
    program: "issue-converge",
    job: "Credentials are issued for N Kymas from nothing, as in *Issuing credentials*, with every cluster reachable. Requests are those to the API server, to the tenant and to the clusters.",
    resources: ["secrets", "kymas", "eventingauths"],
    prepare: applyProductCrds,
    world: (bed, size, run) => createIssueWorld(bed, { name: `growth-${run}`, size, deadEnds: false, kymas: true }),
  },
  {
    controller: "rotation",
    axis: "sets of two targets",
    sizes: [40, 80, 160, 320],
    program: "rotation-settle",
    job: "N sets are filled and then rotated twice, as in *Rotating sources*: time is that of the second rotation, the other figures are of everything.",
    resources: ["secrets", "rotationtargets"],
    prepare: applyProductCrds,
    world: (bed, size, run) => rotationWorlds(promptTargets)(bed, { name: `growth-${run}`, size }),
  },
  {
    controller: "jwks",
    axis: "JWKSConfigs",
    sizes: [40, 80, 160, 320],
    program: "jwks-converge",
    job: "N JWKSConfigs are published from nothing, as in *Publishing JWKSConfigs*.",
    resources: ["secrets", "configmaps", "deployments", "services", "jwksconfigs"],
    prepare: applyProductCrds,
    world: (bed, size, run) => createJwksWorld(bed, { name: `growth-${run}`, size }),
  },
  {
    controller: "checksum",
    axis: "Secrets",
    sizes: [2500, 5000, 10_000, 20_000],
    program: "checksum-publish",
    job: "The checksum of a namespace with N certificates is published from nothing.",
    resources: ["secrets", "secretchecksums"],
    async prepare(bed, sizes) {
      await applyProductCrds(bed);
      for (const size of sizes) await seedCertificates(bed, size);
    },
    world: (bed, size) => Promise.resolve(checksumWorld(bed, size)),
  },
  {
    controller: "sidecars",
    axis: "pods",
    sizes: [1250, 2500, 5000, 10_000],
    program: "sidecars-scan",
    job: "The outdated workloads are found among N pods, 20 to a Deployment, from nothing. Requests are mostly questions to the injection webhook.",
    resources: ["pods", "deployments", "replicasets", "namespaces", "mutatingwebhookconfigurations"],
    async prepare(bed, sizes) {
      for (const size of sizes) await seedFleet(bed, Math.ceil(size / podsEach));
    },
    async world(bed, size) {
      const plane = await startFleetIstiod(bed);
      return {
        ...fleetWorld(Math.ceil(size / podsEach)),
        asked: () => plane.istiod.calls.length,
        [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose](),
      };
    },
  },
];
