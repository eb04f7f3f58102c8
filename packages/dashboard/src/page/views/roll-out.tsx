// Roll-out: workloads by how far they are, and what the plan of this moment does with each.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { type Health, isDoubted, type WorkloadRecord } from "../../contract/index.ts";
import { filterRecords } from "../record-list.ts";
import { EmptyState, NothingFound } from "../parts/connection-state.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { HealthMark } from "../parts/health-mark.tsx";
import { Moment, ObjectLink } from "../parts/inline.tsx";
import { type Column, VirtualTable } from "../parts/virtual-table.tsx";
import { usePage } from "../page-state.ts";
import { ViewHead } from "./stage.tsx";

type Phase = WorkloadRecord["phase"];

const phases: readonly { readonly phase: Phase; readonly word: string; readonly hint: string; readonly health: Health }[] = [
  { phase: "outdated", word: "outdated", hint: "to be restarted now", health: "progressing" },
  { phase: "waiting", word: "waiting", hint: "will be restarted", health: "paused" },
  { phase: "rolling", word: "rolling", hint: "being restarted", health: "progressing" },
  { phase: "done", word: "done", hint: "pods are current", health: "healthy" },
  { phase: "heldBack", word: "held back", hint: "will not be restarted", health: "paused" },
  { phase: "unknown", word: "unknown", hint: "cannot be told", health: "unknown" },
];

const columns: readonly Column<WorkloadRecord>[] = [
  {
    title: "Workload",
    width: "minmax(180px, 1.3fr)",
    cell: ({ ref }, tabIndex) => (
      <>
        <ObjectLink to={ref} tabIndex={tabIndex} />
        <span class="sub">
          {ref.kind} · {ref.namespace}
        </span>
      </>
    ),
  },
  {
    title: "State",
    width: "minmax(120px, 0.8fr)",
    cell: ({ health, phase, stuck, outdated }) => (
      <>
        <HealthMark health={health} text={stuck ? "stuck" : wordOf(phase)} />
        <span class="sub">{outdated ?? ""}</span>
      </>
    ),
  },
  { title: "Why", width: "minmax(160px, 1.8fr)", phone: "line", cell: ({ why, message }) => <span title={why}>{why === "" ? message : why}</span> },
  {
    title: "The plan",
    width: "minmax(170px, 1.2fr)",
    phone: "hidden",
    cell: ({ decision }) =>
      decision === undefined ? (
        <span class="faint">nothing to do</span>
      ) : (
        <>
          <span>
            {decision.type}
            {decision.reason === undefined ? "" : `: ${decision.reason}`}
          </span>
          <span class="sub">{decision.untilMs === undefined ? null : <Moment at={decision.untilMs} />}</span>
        </>
      ),
  },
  {
    title: "Restarted",
    width: "minmax(96px, 0.6fr)",
    phone: "hidden",
    cell: ({ restartedMs }) => (restartedMs === undefined ? <span class="faint">never</span> : <Moment at={restartedMs} />),
  },
];

export function RollOut(): JSX.Element {
  const { live, navigation } = usePage();
  const { search, health, selected } = navigation.route.value;
  const records = live.tables.workload.value;
  const shown = useMemo(() => {
    const found = filterRecords(records, { search, health }, ({ why, phase }) => [why, wordOf(phase)]);
    return selected === undefined ? found : found.filter(({ phase }) => phase === selected);
  }, [records, search, health, selected]);
  const tones = phases.map(({ phase, health: usual, ...words }) => {
    const own = records.filter((record) => record.phase === phase);
    return { ...words, phase, count: own.length, tone: own.some(isDoubted) ? ("unknown" as const) : usual };
  });
  return (
    <>
      <ViewHead view="roll-out" />
      {records.length === 0 ? (
        <EmptyState title="No workload is behind" command="keyturn plan sidecars">
          Workloads appear here when their sidecar differs from what new pods would get, and after they have been restarted for that.
        </EmptyState>
      ) : (
        <>
          <div class="phases" role="group" aria-label="Phases">
            {tones.map(({ phase, word, hint, count, tone }) => (
              <button
                type="button"
                key={phase}
                class={`panel phase tone-${tone}`}
                aria-pressed={selected === phase}
                onClick={() => navigation.adjust({ selected: selected === phase ? undefined : phase })}
              >
                <strong>{count}</strong>
                <HealthMark health={tone} text={word} />
                <span class="faint">{hint}</span>
              </button>
            ))}
          </div>
          <FilterBar tables={[records]} shown={shown.length} noun="workloads" />
          {shown.length === 0 ? (
            selected === undefined ? (
              <NothingFound />
            ) : (
              <p class="panel empty soft">No workload is {phases.find(({ phase }) => phase === selected)?.word ?? selected}.</p>
            )
          ) : (
            <VirtualTable caption="Workloads" columns={columns} rows={shown} idOf={({ id }) => id} />
          )}
        </>
      )}
    </>
  );
}

function wordOf(phase: Phase): string {
  return phases.find((candidate) => candidate.phase === phase)?.word ?? phase;
}
