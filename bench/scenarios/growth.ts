// How does what each controller costs grow with the number of its objects?
import * as z from "zod";
import type { FeatureName } from "../../packages/keyturn/src/feature/feature.ts";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import { collectServerGarbage, requestsIn } from "../measure/control-plane.ts";
import type { Bed, Contestant, Goal, LimitGoal, Metric, Scenario } from "../scenario.ts";
import {
  applyProductCrds,
  checksumWorld,
  type ControllerWorld,
  createJwksWorld,
  rotationWorlds,
  seedCertificates,
} from "../worlds/controller-worlds.ts";
import { createEventingAuthWorld } from "../worlds/eventing-auth-world.ts";
import { fleetWorld, podsEach, seedFleet, startFleetIstiod } from "../worlds/sidecars-world.ts";

/** A controller whose growth is looked at. */
interface GrowthSubject {
  readonly feature: FeatureName;
  /** What N counts. */
  readonly axis: string;
  readonly sizes: readonly number[];
  /** What is done with N objects. */
  readonly job: string;
  /** Whose requests are counted. */
  readonly resources: readonly string[];
  /** What the largest size must stay below, beside how it got there. */
  readonly limit?: Pick<LimitGoal, "text" | "metric" | "below">;
  /** For worlds of these sizes. */
  prepare(bed: Bed, sizes: readonly number[]): Promise<void>;
  /** `run` is another one each time. */
  world(bed: Bed, size: number, run: number): Promise<ControllerWorld>;
}

/** In the order of a credential's life. */
export const growthSubjects: readonly GrowthSubject[] = [
  {
    feature: "eventing-auth",
    axis: "Kymas",
    sizes: [60, 120, 240, 480],
    job: "Credentials are issued for N Kymas from nothing: five requests to a tenant that takes 20 ms for each, a Secret in a cluster of its own, a watch that stays open there. Requests are those to the API server, to the tenant and to the clusters.",
    resources: ["secrets", "kymas", "eventingauths"],
    prepare: applyProductCrds,
    world: (bed, size, run) => createEventingAuthWorld(bed, { name: `growth-${run}`, size }),
  },
  {
    feature: "rotation",
    axis: "sets of two targets",
    sizes: [40, 80, 160, 320],
    job: "N sets without delay are filled, and all sources are then changed at once, twice: time is that of the second rotation, until the status of every target tells of its new version; the other figures are of everything.",
    resources: ["secrets", "rotationtargets"],
    prepare: applyProductCrds,
    // Without delay, so that nothing is waited for.
    world: (bed, size, run) => rotationWorlds({ live: "0s", fallback: "0s" })(bed, { name: `growth-${run}`, size }),
  },
  {
    feature: "jwks",
    axis: "JWKSConfigs",
    sizes: [40, 80, 160, 320],
    job: "N JWKSConfigs that want nginx are published from nothing: four managed objects, a finalizer and a status each; rate limits are off.",
    resources: ["secrets", "configmaps", "deployments", "services", "jwksconfigs"],
    prepare: applyProductCrds,
    world: (bed, size, run) => createJwksWorld(bed, { name: `growth-${run}`, size }),
  },
  {
    feature: "checksum",
    axis: "Secrets",
    sizes: [2500, 5000, 10_000, 20_000],
    job: "The checksum of a namespace with N certificates is published from nothing.",
    resources: ["secrets", "secretchecksums"],
    limit: { text: "checksum of 20,000 Secrets: memory, MB", metric: "peak", below: 150 },
    async prepare(bed, sizes) {
      await applyProductCrds(bed);
      for (const size of sizes) await seedCertificates(bed, size);
    },
    world: (bed, size) => Promise.resolve(checksumWorld(bed, size)),
  },
  {
    feature: "sidecars",
    axis: "pods",
    sizes: [1250, 2500, 5000, 10_000],
    job: "The outdated workloads are found among N pods, 20 to a Deployment, from nothing. Requests are mostly questions to the injection webhook.",
    resources: ["pods", "deployments", "replicasets", "namespaces", "mutatingwebhookconfigurations"],
    limit: { text: "10,000 pods: requests, at most one per pod template", metric: "requests", below: 501 },
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

/** Over three doublings, N to the power of 1.2 cannot be told from N log N; above this it can. */
const tolerated = 1.1;

/** Ten milliseconds are the kernel's unit of processor time; the rest is what another process on the machine can cause. */
const resolutions: Readonly<Record<string, number>> = { ms: 10, MB: 1, "": 10 };

const metrics: readonly Metric[] = [
  { id: "time", label: "time", unit: "ms" },
  { id: "cpu", label: "CPU", unit: "ms" },
  { id: "requests", label: "requests", unit: "" },
  { id: "peak", label: "peak memory", unit: "MB" },
];

/** The scenario of one controller: each size is a contestant, so that sizes too are interleaved. */
export function growth(contestants: Contestants, subject: GrowthSubject): Scenario {
  let runs = 0;
  const { feature, axis, sizes } = subject;
  const idOf = (size: number): string => `${feature}-${size}`;
  const sizesById = Object.fromEntries(sizes.map((size) => [idOf(size), size]));
  return {
    id: `growth-${feature}`,
    title: `Growth of ${feature}: cost against the number of ${axis}`,
    method:
      `${subject.job} Time is the program's own word, processor time and memory the kernel's, requests the API server's count, without watches. ` +
      "The curve is a fixed cost and a part that grows as N log N, fitted to all sizes but the largest; the goal holds the largest against it.",
    contestants: sizes.map((size) => ({ ...contestants.ours("controller", `${size.toLocaleString("en")} ${axis}`), id: idOf(size) })),
    metrics,
    goals: [
      ...metrics.map(({ id, label, unit }): Goal => ({
        type: "growth",
        text: `${feature}: ${label} against ${axis}`,
        metric: id,
        sizes: sizesById,
        resolution: resolutions[unit] ?? 1,
        atMost: tolerated,
      })),
      ...(subject.limit ? [{ type: "limit", contestant: idOf(Math.max(...sizes)), over: "worst", ...subject.limit } as const] : []),
    ],
    prepare: (bed) => subject.prepare(bed, sizes),
    async measure(contestant, bed) {
      await using world = await subject.world(bed, sizesById[contestant.id] ?? Number.NaN, runs++);
      return await measureCost(contestant, bed, { ...subject, world });
    },
  };
}

/** A program's first line: it has done it, and the time that it took by its own clock. */
const doneLine = z.object({ type: z.literal("done"), ms: z.number() });

/** Runs the controller in its world until it says that it is done. Requests are the API server's own count of those for the subject's resources, and those to others. */
export async function measureCost(
  { command }: Contestant,
  { cluster }: Bed,
  { world, feature, resources }: { readonly world: ControllerWorld } & Pick<GrowthSubject, "feature" | "resources">,
): Promise<Record<"time" | "cpu" | "requests" | "peak", number>> {
  const requests = async (): Promise<number> => requestsIn(await cluster.kubectl("get", "--raw", "/metrics"), resources) + (world.asked?.() ?? 0);
  const { namespace, flags, wanted } = world;
  const wishes = JSON.stringify({ feature, until: "done", namespace, flags, wanted });
  await collectServerGarbage({ cluster });
  const before = await requests();
  await using running = new ContestantProcess({ ...command, args: [...command.args, wishes] }, cluster.adminKubeconfig);
  const { ms } = doneLine.parse(await running.next(600_000));
  const { cpuMs, peakRssBytes } = running.usage();
  return { time: ms, cpu: cpuMs, requests: (await requests()) - before, peak: peakRssBytes / 2 ** 20 };
}
