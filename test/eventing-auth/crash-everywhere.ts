// Goes through something that an operator does, once for every point at which it can crash.
import { forEachParallel, Semaphore } from "../../packages/keyturn/src/semaphore.ts";
import type { CrashPoints } from "./crash-points.ts";
import type { Flags, IssuingPlace } from "./issuing-place.ts";

/** Where it happens. */
export interface CrashWorld extends AsyncDisposable {
  readonly place: IssuingPlace;
  readonly points: CrashPoints;
}

/** What the operator does. */
export interface Phase<World extends CrashWorld> {
  readonly flags: Flags;
  /** Brings the world to where the phase begins, without crashes. */
  readonly prepare: (world: World) => Promise<void>;
  /** Waits until everything is as it should be in the end, after a crash at that point or without one. */
  readonly isDone: (world: World, crashedAt?: string) => Promise<void>;
  /** Holds whenever no operator runs. */
  readonly always?: (world: World) => Promise<void>;
}

/** How many worlds of one phase there are at once, and how many of all phases: more only let each other wait for the processor. */
const sideBySide = 3;
const worlds = new Semaphore(6);

/**
 * Crashes everywhere, a few at a time, until a run gets by without. Resolves to the names of the points.
 * Each run crashes where none has yet: a slow machine may change how many points come before one, and none is missed.
 */
export async function crashEverywhere<World extends CrashWorld>(open: () => Promise<World>, phase: Phase<World>): Promise<readonly string[]> {
  const met: string[] = [];
  const taken = new Set<string>();
  const isNew = (point: string): boolean => {
    const isFirst = !taken.has(point);
    taken.add(point);
    return isFirst;
  };
  const over = new AbortController();
  function* runs(): Generator<void> {
    while (!over.signal.aborted) yield;
  }
  await forEachParallel(runs(), sideBySide, async () => {
    const point = await worlds.run(() => crashOnce(isNew, open, phase));
    if (point === undefined) over.abort();
    else met.push(point);
  });
  return met;
}

/** Goes through a phase with a crash at the first point that is new. Resolves to that point's name; undefined if there is no such point. */
async function crashOnce<World extends CrashWorld>(
  isNew: (point: string) => boolean,
  open: () => Promise<World>,
  { flags, prepare, isDone, always }: Phase<World>,
): Promise<string | undefined> {
  await using world = await open();
  const { points } = world;
  await prepare(world);
  const crash = points.arm(isNew);
  const first = await points.startOperator(flags);
  const point = await Promise.race([crash, isDone(world).then(() => points.disarm())]);
  if (point === undefined) return undefined;
  try {
    await points.bury(first);
    await always?.(world);
    await world.place.skipMinute();
    await points.startOperator(flags);
    await isDone(world, point);
    await always?.(world);
  } catch (cause) {
    throw new Error(`after a crash ${point}`, { cause });
  }
  return point;
}
