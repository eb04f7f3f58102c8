// `keyturn plan <set>`: what happens next and when, as a timeline. Never what the versions contain.
import { formatDuration } from "@keyturn/runtime";
import { renderRows } from "../../text/table.ts";
import type { MaintenanceWindows } from "../maintenance-window.ts";
import type { Query, Report } from "../report.ts";
import { forecast, type ForecastStep } from "./forecast.ts";
import type { TargetObservation } from "./observation.ts";
import { ranksOf } from "./ranks.ts";
import type { RotationPlan } from "./rotation-plan.ts";
import { querySet } from "./set-query.ts";

/** What happens to a set if nothing changes but the time. */
export async function rotationPlanReport(query: Query, set: string, maintenance?: MaintenanceWindows): Promise<Report> {
  const { observation } = await querySet(query, set, maintenance);
  const { nowMs } = query;
  const { plan, steps } = forecast(observation, nowMs);
  const targets = ranksOf(observation.targets).flatMap(({ members }) => members);
  const held = new Map(targets.map((target) => [target.name, heldNow(target)]));
  return {
    text: [
      `set ${set} in namespace ${query.namespace}`,
      ...remarksOf(plan),
      "",
      timeline(targets, { held, steps, nowMs }),
      ...(steps.length === 0 ? ["", "nothing will happen until the source changes"] : []),
    ].join("\n"),
    data: {
      set,
      namespace: query.namespace,
      ...(plan.source && { source: { resource: plan.source.resource, name: plan.source.name } }),
      ...(plan.standstill && { standstill: plan.standstill }),
      targets: targets.map(({ name, order, delayMs }) => ({ name, order, delay: formatDuration(delayMs), version: held.get(name) ?? null })),
      steps: steps.map(({ atMs, target, seq }) => ({ at: new Date(atMs).toISOString(), target, version: seq ?? null })),
    },
  };
}

/** The version that the target's object says it has. */
function heldNow({ objects }: TargetObservation): number | undefined {
  const seqs = objects.flatMap(({ ours, applied }) => (ours && applied ? [applied.seq] : []));
  return seqs.length > 0 ? Math.max(...seqs) : undefined;
}

function remarksOf({ source, standstill, targets, unstableSinceMs, policyConflict }: RotationPlan): readonly string[] {
  const hindered = [...targets].flatMap(([name, { hindrance }]) => (hindrance ? [`${name}: ${hindrance.message}`] : []));
  return [
    source ? `source: ${source.resource}/${source.name}` : "source: none",
    ...(standstill ? [`nothing moves: ${standstill.reason === "NoSource" ? "there is no source" : standstill.message}`] : []),
    ...(unstableSinceMs === undefined ? [] : ["the source changes more often than the first target's delay lets it settle"]),
    ...(policyConflict ? ["the targets differ in changePolicy; Settled is used for all"] : []),
    ...hindered,
  ];
}

/** One row per moment: who changes, and what everybody else holds then. */
function timeline(
  targets: readonly TargetObservation[],
  { held, steps, nowMs }: { readonly held: ReadonlyMap<string, number | undefined>; readonly steps: readonly ForecastStep[]; readonly nowMs: number },
): string {
  const header = ["TIME", "IN", ...targets.map(({ name, order, delayMs }) => `${name} (${order}, ${formatDuration(delayMs)})`)];
  const state = new Map(held);
  const row = (time: string, after: string, changed: ReadonlySet<string>): readonly string[] => [
    time,
    after,
    ...targets.map(({ name }) => `${changed.has(name) ? "→ " : "  "}${versionInWords(state.get(name))}`),
  ];
  const rows = [row("now", "", new Set())];
  for (const [atMs, together] of Map.groupBy(steps, (step) => step.atMs)) {
    for (const { target, seq } of together) state.set(target, seq);
    rows.push(
      row(
        timeInWords(atMs),
        atMs <= nowMs ? "at once" : formatDuration(Math.ceil((atMs - nowMs) / 1000) * 1000),
        new Set(together.map(({ target }) => target)),
      ),
    );
  }
  return renderRows([header, ...rows]);
}

function versionInWords(seq: number | undefined): string {
  return seq === undefined ? "-" : `v${seq}`;
}

function timeInWords(timeMs: number): string {
  return new Date(timeMs).toISOString().replace("T", " ").slice(0, 19);
}
