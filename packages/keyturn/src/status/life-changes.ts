// What has changed between two moments of the life of credentials, object by object.
import { placeOf, type Summary } from "../controllers/summary.ts";
import { type Life, placed } from "./life.ts";
import type { StepName } from "./step.ts";

/** One object that came, went or fares differently. Ages change all the time and count for nothing. */
export interface LifeChange {
  readonly type: "added" | "changed" | "removed";
  readonly step: StepName;
  /** As it is now; for one that is gone, as it was. */
  readonly summary: Summary;
  /** As it was before a change. */
  readonly before?: Summary;
}

/** The changes, in the order of the steps; everything is new if there is no `before`. */
export function changesOf(before: Pick<Life, "steps"> | undefined, after: Pick<Life, "steps">): readonly LifeChange[] {
  const old = new Map(before ? placed(before).map((each) => [idOf(each), each]) : []);
  const now = new Map(placed(after).map((each) => [idOf(each), each]));
  const came = [...now].flatMap(([id, { step, summary }]): readonly LifeChange[] => {
    const earlier = old.get(id)?.summary;
    if (!earlier) return [{ type: "added", step, summary }];
    return saying(earlier) === saying(summary) ? [] : [{ type: "changed", step, summary, before: earlier }];
  });
  const went = [...old].flatMap(([id, { step, summary }]): readonly LifeChange[] => (now.has(id) ? [] : [{ type: "removed", step, summary }]));
  return [...came, ...went];
}

function idOf({ step, summary }: { readonly step: StepName; readonly summary: Summary }): string {
  return `${step} ${placeOf(summary)}`;
}

function saying({ health, reason, message, detail, next }: Summary): string {
  return JSON.stringify([health, reason, message, detail, next]);
}
