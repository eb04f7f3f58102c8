// Goes through every story of a small world in which up to so many things go wrong, at every point.
import { BrokenPromise, type Mistake, SmallWorld } from "./small-world.ts";
import { type Mishap, mishaps, type Trouble, TroubledTenant } from "./troubled-tenant.ts";

/** What happens in the world; only what comes after `prepare` can go wrong. */
export interface Story {
  readonly prepare?: (world: SmallWorld) => Promise<void>;
  readonly act: (world: SmallWorld) => Promise<void>;
}

interface ExplorationOptions {
  readonly story: Story;
  /** How many things go wrong in a story at most. */
  readonly depth: number;
  readonly mistake?: Mistake;
  /** Which of all mishaps. Default all. */
  readonly only?: readonly Mishap[];
  /** How many points after the first mishap the others are. Default any number. */
  readonly within?: number;
  /** At which points the first mishap is; by default at every one. */
  readonly first?: RegExp;
  /** Ends with the first promise that is broken. Default false. */
  readonly untilBroken?: boolean;
}

interface Exploration {
  readonly stories: number;
  /** The stories in which a promise was broken, in words. */
  readonly broken: readonly string[];
}

export async function explore({
  story,
  depth,
  mistake,
  only = mishaps,
  within = Infinity,
  first,
  untilBroken = false,
}: ExplorationOptions): Promise<Exploration> {
  const broken: string[] = [];
  let stories = 0;
  const goOn = async (trouble: Trouble, left: number): Promise<void> => {
    const { points, error } = await tell(story, trouble, mistake);
    stories++;
    if (error) broken.push(`${inWords(trouble, points)}: ${error.message}`);
    if (left === 0 || (untilBroken && broken.length > 0)) return;
    const from = Math.max(-1, ...trouble.keys()) + 1;
    const until = trouble.size === 0 ? points.length : Math.min(points.length, from + within);
    for (let point = from; point < until; point++) {
      if (trouble.size === 0 && first && !first.test(points[point] ?? "")) continue;
      for (const mishap of only) {
        if (untilBroken && broken.length > 0) return;
        if (TroubledTenant.applies(mishap, points[point] ?? "")) await goOn(new Map([...trouble, [point, mishap]]), left - 1);
      }
    }
  };
  await goOn(new Map(), depth);
  return { stories, broken };
}

async function tell(
  { prepare, act }: Story,
  trouble: Trouble,
  mistake: Mistake | undefined,
): Promise<{ readonly points: readonly string[]; readonly error?: BrokenPromise }> {
  const shifted = new Map<number, Mishap>();
  const world = new SmallWorld(shifted, mistake);
  await prepare?.(world);
  const before = world.tenant.points.length;
  for (const [point, mishap] of trouble) shifted.set(before + point, mishap);
  try {
    await act(world);
    return { points: world.tenant.points.slice(before) };
  } catch (error) {
    if (!(error instanceof BrokenPromise)) throw error;
    return { points: world.tenant.points.slice(before), error };
  }
}

function inWords(trouble: Trouble, points: readonly string[]): string {
  return Array.from(trouble, ([point, mishap]) => `${mishap} at ${point} (${points[point] ?? "?"})`).join(", then ") || "without any trouble";
}
