// What does it cost to have many objects in which nothing happens, for each controller?
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import type { FeatureName } from "../../packages/keyturn/src/feature/feature.ts";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import type { Bed, Contestant, Goal, Sample, Scenario } from "../scenario.ts";
import {
  applyProductCrds,
  checksumWorld,
  type ControllerWorld,
  createJwksWorld,
  rotationWorlds,
  seedCertificates,
} from "../worlds/controller-worlds.ts";
import { createEventingAuthWorld } from "../worlds/eventing-auth-world.ts";
import { fleetWorld, seedFleet, startFleetIstiod } from "../worlds/sidecars-world.ts";

const windowMs = 10_000;
const perMinute = 60_000 / windowMs;
const line = z.discriminatedUnion("type", [z.object({ type: z.literal("quiet") }), z.object({ type: z.literal("count"), requests: z.number() })]);

/** A controller that is to have nothing to do. */
interface IdleSubject {
  readonly feature: FeatureName;
  readonly axis: string;
  readonly sizes: readonly number[];
  world(bed: Bed, size: number): Promise<ControllerWorld>;
}

const subjects: readonly IdleSubject[] = [
  {
    feature: "eventing-auth",
    axis: "Kymas",
    sizes: [25, 75, 225],
    world: (bed, size) => createEventingAuthWorld(bed, { name: `idle-${size}`, size }),
  },
  {
    feature: "rotation",
    axis: "sets of three targets",
    sizes: [25, 75, 225],
    world: (bed, size) => rotationWorlds({ live: "1h", fallback: "5m", older: "5m" })(bed, { name: `idle-${size}`, size }),
  },
  { feature: "jwks", axis: "JWKSConfigs", sizes: [25, 75, 225], world: (bed, size) => createJwksWorld(bed, { name: `idle-${size}`, size }) },
  {
    feature: "checksum",
    axis: "Secrets",
    sizes: [1000, 3000, 9000],
    async world(bed, size) {
      await seedCertificates(bed, size);
      return checksumWorld(bed, size);
    },
  },
  {
    feature: "sidecars",
    axis: "Deployments of 20 pods",
    sizes: [25, 75, 225],
    async world(bed, size) {
      await seedFleet(bed, size);
      return fleetWorld(size);
    },
  },
];

/** The scenario: all processes idle side by side, which they can because they do nothing. */
export function idleGrowth(contestants: Contestants): Scenario {
  const idlers = subjects.flatMap((subject) =>
    subject.sizes.map((size) => {
      const label = `${subject.feature}, ${size.toLocaleString("en")} ${subject.axis}`;
      return { subject, size, contestant: { ...contestants.ours("controller", label), id: `idle-${subject.feature}-${size}` } };
    }),
  );
  const running = new Map<Contestant, ContestantProcess>();
  const figures = new Map<Contestant, Sample>();
  const owned = new AsyncDisposableStack();
  return {
    id: "idle-growth",
    title: "Idle, against the number of objects",
    method:
      "Each controller alone in a process, with all its objects as they should be. Once it has gone quiet, and V8 has given back what the work took: its requests to the API server (watches that run on are none) and its " +
      `processor time in ${windowMs / 1000} s, as for a minute, and its resident memory. All processes are watched in the same ${windowMs / 1000} s.`,
    contestants: idlers.map(({ contestant }) => contestant),
    warmUp: [],
    metrics: [
      { id: "requests", label: "requests a minute", unit: "" },
      { id: "cpu", label: "CPU in a minute", unit: "ms" },
      { id: "memory", label: "memory", unit: "MB" },
    ],
    goals: subjects.flatMap(goalsOf),
    async prepare(bed) {
      await applyProductCrds(bed);
      owned.use(await startFleetIstiod(bed));
      // One world after the other: all at once would be more than an API server answers in time.
      for (const { subject, size, contestant } of idlers) {
        const { namespace, flags, wanted } = owned.use(await subject.world(bed, size));
        const wishes = JSON.stringify({ feature: subject.feature, until: "quiet", namespace, flags, wanted });
        const command = { ...contestant.command, args: [...contestant.command.args, wishes] };
        running.set(contestant, owned.use(new ContestantProcess(command, bed.cluster.adminKubeconfig)));
      }
      bed.say("waiting until all of them are quiet");
      for (const process of running.values()) line.parse(await process.next(900_000));
    },
    async measure(contestant) {
      if (!figures.has(contestant)) for (const [each, figure] of await watchAll(running)) figures.set(each, figure);
      const figure = figures.get(contestant) ?? {};
      figures.delete(contestant);
      return figure;
    },
    finish: () => owned.disposeAsync(),
  };
}

async function watchAll(running: ReadonlyMap<Contestant, ContestantProcess>): Promise<ReadonlyMap<Contestant, Sample>> {
  const before = await Promise.all(
    [...running].map(async ([contestant, process]) => ({ contestant, process, requests: await requestsOf(process), usage: process.usage() })),
  );
  await delay(windowMs);
  // Read before anybody is asked: an answer is work too.
  const usages = new Map(before.map(({ contestant, process }) => [contestant, process.usage()]));
  const after = before.map(async ({ contestant, process, requests, usage }): Promise<[Contestant, Sample]> => {
    const { cpuMs, rssBytes } = usages.get(contestant) ?? usage;
    const made = (await requestsOf(process)) - requests;
    return [contestant, { requests: made * perMinute, cpu: (cpuMs - usage.cpuMs) * perMinute, memory: rssBytes / 2 ** 20 }];
  });
  return new Map(await Promise.all(after));
}

async function requestsOf(process: ContestantProcess): Promise<number> {
  process.say("count");
  const said = line.parse(await process.next());
  return said.type === "count" ? said.requests : requestsOf(process);
}

function goalsOf({ feature, axis, sizes }: IdleSubject): readonly Goal[] {
  const size = sizes.at(-1) ?? 0;
  const about = { contestant: `idle-${feature}-${size}`, over: "worst", type: "limit" } as const;
  const text = `${size.toLocaleString("en")} idle ${axis}`;
  return [
    { ...about, text: `${text}: requests a minute`, metric: "requests", below: 1 },
    // One per cent of a core.
    { ...about, text: `${text}: CPU in a minute, ms`, metric: "cpu", below: 600 },
  ];
}
