// Promoting a version: the first target of a set takes it without waiting for the rest of its delay. All other rules hold as ever.
import { formatDuration } from "@keyturn/runtime";
import type { Query } from "../../feature/feature.ts";
import { UsageError } from "../../feature/flag.ts";
import { promoteAnnotation, promotionText, RotationTarget } from "./api.ts";
import { forecast, type ForecastStep, outlookOf } from "./forecast.ts";
import type { SetObservation } from "./observe.ts";
import { querySet } from "./queries.ts";
import { ranksOf } from "./shape.ts";

/** What is to be promoted, and what comes of it. */
interface Promotion {
  readonly set: string;
  readonly version: number;
  /** The uid of its record. */
  readonly record: string;
  /** The targets of the lowest order, with when each gets the version now, and when it did without the promotion. */
  readonly targets: readonly { readonly name: string; readonly uid: string; readonly inMs: number; readonly insteadMs: number }[];
}

/** What promoting the next version of a set would do. Throws a `UsageError` if nothing is there to be promoted. */
export function promotionOf(observation: SetObservation, nowMs: number): Promotion {
  const { set, targets, records } = observation;
  const [first] = ranksOf(targets);
  const { plan, steps } = forecast(observation, nowMs);
  const isFirst = ({ target }: ForecastStep): boolean => first?.members.some(({ name }) => name === target) ?? false;
  const version = steps.find((step) => isFirst(step) && step.seq !== undefined)?.seq;
  if (!first || version === undefined)
    throw new UsageError(
      `there is no version to promote in set ${set}: ${plan.setBlocker || steps.length === 0 ? outlookOf(plan) : "it is under way"}`,
    );
  const record = records.find(({ seq }) => seq === version);
  if (!record) throw new UsageError(`the operator has not seen version ${version} of set ${set} yet; try again`);
  const after = targets.map((target) => (first.members.includes(target) ? Object.assign({}, target, { promoted: version }) : target));
  const sooner = forecast({ ...observation, targets: after }, nowMs).steps;
  const inMs = (name: string, all: readonly ForecastStep[]): number =>
    Math.max(0, (all.find(({ target, seq }) => target === name && seq === version)?.atMs ?? nowMs) - nowMs);
  return {
    set,
    version,
    record: record.uid,
    targets: first.members.map(({ name, uid }) => ({ name, uid, inMs: inMs(name, sooner), insteadMs: inMs(name, steps) })),
  };
}

/** Finds the set that a name means: its own, or that of its first target. */
export async function findPromotion(query: Query, name: string): Promise<Promotion> {
  const { client, namespace, nowMs, signal } = query;
  const { items } = await client.list(RotationTarget, { namespace }, signal);
  const called = name.replace(/^rotationtargets?\//, "");
  const target = items.find(({ metadata }) => metadata.name === called);
  const isSet = called === name && items.some(({ spec }) => spec.rotationSet === name);
  const { observation } = await querySet(query, isSet || !target ? called : target.spec.rotationSet);
  const promotion = promotionOf(observation, nowMs);
  if (!isSet && target && !promotion.targets.some((each) => each.name === called)) {
    const first = promotion.targets.map((each) => each.name).join(" and ");
    throw new UsageError(`${called} follows the targets before it: promote ${first}, the first of set ${promotion.set}`);
  }
  return promotion;
}

/** What is about to be done, for whoever has to confirm it. */
export function describePromotion(promotion: Promotion): string {
  const { set, version } = promotion;
  return `Version ${version} of set ${set} does not wait for the rest of its delay:\n${linesOf(promotion).join("\n")}\nThe targets after it follow by their own delays.`;
}

/** When each target gets the version. */
export function linesOf({ version, targets }: Promotion): readonly string[] {
  return targets.map(
    ({ name, inMs, insteadMs }) =>
      `  rotationtarget/${name} gets version ${version} ${inWords(inMs)}${inMs < insteadMs ? `, instead of ${inWords(insteadMs)}` : ""}`,
  );
}

function inWords(ms: number): string {
  return ms === 0 ? "at once" : `in ${formatDuration(Math.ceil(ms / 1000) * 1000)}`;
}

/** Promotes it, on exactly the targets that were looked at. */
export async function promote(
  { client, namespace, signal }: Query,
  { version, record, targets }: Promotion,
  options: { readonly fieldManager: string; readonly dryRun: boolean },
): Promise<void> {
  for (const { name, uid } of targets) {
    const patch = { metadata: { uid, annotations: { [promoteAnnotation]: promotionText({ seq: version, uid: record }) } } };
    await client.mergePatch(RotationTarget, { namespace, name }, patch, options, signal);
  }
}
