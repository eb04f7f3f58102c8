// Goes through something that an operator does, once for every point at which it can crash.
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

const sideBySide = 4;

/** Crashes everywhere, a few at a time, until a run gets by without. Resolves to the names of the points. */
export async function crashEverywhere<World extends CrashWorld>(open: () => Promise<World>, phase: Phase<World>): Promise<readonly string[]> {
  const met: string[] = [];
  let n = 0;
  let isOver = false;
  const crashOn = async (): Promise<void> => {
    while (!isOver) {
      const point = await crashAt(++n, open, phase);
      if (point === undefined) isOver = true;
      else met.push(point);
    }
  };
  await Promise.all(Array.from({ length: sideBySide }, crashOn));
  return met;
}

/** Goes through a phase with a crash at its `n`-th point. Resolves to that point's name; undefined if there is no such point. */
async function crashAt<World extends CrashWorld>(
  n: number,
  open: () => Promise<World>,
  { flags, prepare, isDone, always }: Phase<World>,
): Promise<string | undefined> {
  await using world = await open();
  const { points } = world;
  await prepare(world);
  const crash = points.arm(n);
  const first = await points.startOperator(flags);
  const point = await Promise.race([crash, isDone(world).then(() => undefined)]);
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
