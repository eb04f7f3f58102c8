// The life of credentials at one moment, across the five steps: what `keyturn status` shows. Plain data.
import type { FeatureName } from "../controllers/feature.ts";
import type { LeaseSummary } from "../controllers/lease-summary.ts";
import { compareSummaries, type Health, healths, type NextStep, type Summary } from "../controllers/summary.ts";
import type { StepName } from "./step.ts";

/** A kind of objects that could not be read, and why. */
export interface Unread {
  /** `plural.group`. */
  readonly resource: string;
  /** `missing`: the API server does not serve it. `forbidden`: the person may not read it. `failing`: there was no answer. */
  readonly reason: "missing" | "forbidden" | "failing";
  readonly message: string;
}

/** One step. */
export interface StepLife {
  readonly step: StepName;
  readonly feature: FeatureName;
  /** What matters most first. */
  readonly objects: readonly Summary[];
  readonly unread: readonly Unread[];
  /** Of the step's controllers; there can be several of one controller if several operators run. */
  readonly leases: readonly LeaseSummary[];
}

/** All steps at one moment. */
export interface Life {
  readonly atMs: number;
  /** Undefined for all. */
  readonly namespace: string | undefined;
  readonly steps: readonly StepLife[];
  /** Why it is not known who leads, if it is not. */
  readonly leasesUnread: Unread | undefined;
}

/** An object with the step that it belongs to. */
export interface Placed {
  readonly step: StepName;
  readonly summary: Summary;
}

/** How many objects of a step fare how; what nobody fares like is left out. */
export function countsOf({ objects }: Pick<StepLife, "objects">): readonly { readonly health: Health; readonly count: number }[] {
  return healths.map((health) => ({ health, count: objects.filter((object) => object.health === health).length })).filter(({ count }) => count > 0);
}

/** Everything that somebody should look at, what matters most first. */
export function attentionOf(life: Pick<Life, "steps">): readonly Placed[] {
  return placed(life)
    .filter(({ summary }) => summary.health === "attention" || summary.health === "unknown")
    .sort((left, right) => compareSummaries(left.summary, right.summary));
}

/** Everything that happens by itself, the soonest first. */
export function upcomingOf(life: Pick<Life, "steps">): readonly (Placed & { readonly next: NextStep })[] {
  return placed(life)
    .flatMap(({ step, summary }) => (summary.next ? [{ step, summary, next: summary.next }] : []))
    .sort((left, right) => left.next.atMs - right.next.atMs || compareSummaries(left.summary, right.summary));
}

/** Every object, in the order of the steps. */
export function placed({ steps: all }: Pick<Life, "steps">): readonly Placed[] {
  return all.flatMap(({ step, objects }) => objects.map((summary) => ({ step, summary })));
}
