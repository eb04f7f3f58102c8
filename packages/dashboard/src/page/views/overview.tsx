// The first view: the stages from left to right, what needs attention first, and what happens next.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { healthOrder, type ObjectRecord, outdates, type StageLayout } from "../../contract/index.ts";
import { doubtsOn, doubtWords, healthOn, limitText, namespacesText, shownNamespaces, useDoubts } from "../doubt.ts";
import { counted, stageRecordOf, tablesOf, usePage, useStages, viewOf } from "../page-state.ts";
import { HealthMark } from "../parts/health-mark.tsx";
import { ClockIcon } from "../parts/icons.tsx";
import { Moment, ObjectLink } from "../parts/inline.tsx";
import { type ConcernGroup, comingUp, concernGroups, countTables, filterRecords } from "../record-list.ts";
import { formatRoute, home } from "../route.ts";

const most = 8;

export function Overview(): JSX.Element {
  const { live } = usePage();
  const stages = useStages();
  const tables = stages.flatMap((stage) => tablesOf(live, stage));
  const records = useMemo(() => tables.flat(), tables);
  return (
    <>
      <header class="view-head">
        <div>
          <h1>Your credentials</h1>
          <p>{live.hello.value === undefined ? "From issue to roll-out." : `From issue to roll-out, in ${live.hello.value.cluster}.`}</p>
        </div>
      </header>
      <Search records={records} />
      <ol class="steps" aria-label="Steps">
        {stages.map((stage, index) => (
          <StageCard key={stage.step} stage={stage} last={index === stages.length - 1} />
        ))}
      </ol>
      <div class="overview-lists">
        <Attention records={records} />
        <ComingUp records={records} />
      </div>
    </>
  );
}

/** So many of those that are found are shown. */
const mostFound = 20;

/** Finds any object by name, namespace, reason, or what else belongs to it. */
function Search({ records }: { readonly records: readonly ObjectRecord[] }): JSX.Element {
  const { navigation } = usePage();
  const { search } = navigation.route.value;
  const found = useMemo(() => (search.trim() === "" ? [] : filterRecords(records, { ...home, search })), [records, search]);
  return (
    <search class="overview-search">
      <div class="search">
        <input
          id="search"
          type="search"
          aria-label="Search everything"
          placeholder="Name, namespace, reason…"
          value={search}
          onInput={(event) => navigation.adjust({ search: event.currentTarget.value })}
        />
        <kbd aria-hidden="true">/</kbd>
      </div>
      <p class={search.trim() === "" ? "hidden-text" : "faint"} role="status">
        {search.trim() === ""
          ? ""
          : found.length === 0
            ? "No matches"
            : `${found.length > mostFound ? `The first ${mostFound} of ` : ""}${counted(found.length, { one: "object", many: "objects" })}`}
      </p>
      {found.length === 0 ? null : (
        <ul class="panel row-list" aria-label="Found">
          {found.slice(0, mostFound).map((record) => (
            <li key={record.id}>
              <HealthMark health={record.health} quiet />
              <span class="what">
                <ObjectLink to={record.ref}>{record.title ?? record.ref.name}</ObjectLink> <span class="faint">{whereText(record)}</span>
              </span>
              <span class="faint">{record.reason}</span>
            </li>
          ))}
        </ul>
      )}
    </search>
  );
}

function StageCard({ stage, last }: { readonly stage: StageLayout; readonly last: boolean }): JSX.Element {
  const { live, clock } = usePage();
  const tables = tablesOf(live, stage);
  const record = stageRecordOf(live, stage);
  const [records = []] = tables;
  const counts = countTables(records);
  const absence = record?.state === "off" ? "switched off" : record?.state === "absent" ? "not installed" : undefined;
  const health = healthOn(live.connection.value, record, countTables(...tables));
  const doubts = doubtsOn(live.connection.value, record);
  const isDoubtful = doubts.length > 0;
  const doubt = isDoubtful ? `unknown: ${doubts.map(({ about }) => doubtWords[about].sentence).join(", ")}` : undefined;
  const limit = record?.shownIn;
  const nothing = records.length === 0 ? "nothing yet" : undefined;
  const next = comingUp(records, clock.now.value, 1)[0];
  return (
    <li class={`panel step tone-${health}`}>
      <h2>
        <a href={formatRoute({ ...home, view: viewOf(stage) })}>{stage.verb}</a>
        <HealthMark health={health} quiet text={absence ?? health} />
      </h2>
      <p class="step-summary">{record?.summary ?? stage.about}</p>
      <p class={isDoubtful ? "step-count faint" : "step-count"}>
        {isDoubtful && records.length === 0 ? "?" : records.length}
        <small>{records.length === 1 ? stage.one : stage.many}</small>
      </p>
      <div class="health-bar" aria-hidden="true">
        {healthOrder
          .filter((name) => counts[name] > 0)
          .map((name) => (
            <span key={name} class={`tone-${isDoubtful ? "unknown" : name}`} style={{ flexGrow: String(counts[name]) }} />
          ))}
      </div>
      <p class="step-foot">
        {absence ??
          doubt ??
          nothing ??
          healthOrder
            .filter((name) => counts[name] > 0)
            .map((name) => (
              <span key={name}>
                {counts[name]} {name}
              </span>
            ))}
      </p>
      {absence !== undefined || limit === undefined ? null : <p class="step-foot">{limitText(limit)}</p>}
      <p class="step-next">
        {next?.next === undefined ? null : (
          <>
            {isDoubtful ? "expected" : "next"} <Moment at={next.next.atMs} />
          </>
        )}
      </p>
      {last ? null : <span class="step-arrow" aria-hidden="true" />}
    </li>
  );
}

function Attention({ records }: { readonly records: readonly ObjectRecord[] }): JSX.Element {
  const { live } = usePage();
  const groups = concernGroups(records);
  const count = groups.reduce((sum, group) => sum + group.records.length, 0);
  const doubts = useDoubts();
  const lasting = doubts.filter(({ about }) => about !== "loading");
  const places = shownNamespaces(live.stages.value) ?? live.hello.value?.namespaces;
  const nothing = places === undefined ? "Nothing needs attention." : `Nothing needs attention in ${namespacesText(places)}.`;
  return (
    <section class="attention" aria-labelledby="attention">
      <div class="section-head">
        <h2 id="attention">Needs attention</h2>
        <span class="faint">
          {count === 0 ? "" : counted(count, { one: "object", many: "objects" })}
          {groups.length > 1 ? `, ${groups.length} reasons` : ""}
        </span>
      </div>
      {groups.length + lasting.length === 0 ? (
        <p class="panel empty soft">{live.progress.value < 1 || doubts.length > 0 ? "Loading…" : <HealthMark health="healthy" text={nothing} />}</p>
      ) : (
        <ul class="panel row-list">
          {lasting.map(({ about, steps, messages, asOfMs }) => (
            <li key={about}>
              <HealthMark health="unknown" quiet />
              <span class="what">
                <strong>{doubtWords[about].title}</strong> <span class="faint">{steps.join(", ")}</span>
              </span>
              <span class="faint">{asOfMs === undefined ? null : <Moment at={asOfMs} />}</span>
              {messages.map((message) => (
                <span key={message} class="message">
                  {message}
                </span>
              ))}
            </li>
          ))}
          {groups.map((group) => (
            <Concern key={`${group.step}/${group.reason}/${group.health}`} group={group} />
          ))}
        </ul>
      )}
    </section>
  );
}

/** So many objects of one reason are named; a link leads to the others. */
const mostNamed = 4;

function Concern({ group: { step, reason, health, records } }: { readonly group: ConcernGroup }): JSX.Element {
  const stage = useStages().find((each) => each.step === step);
  const [first] = records;
  const rest = records.length - mostNamed;
  return (
    <li>
      <HealthMark health={health} quiet />
      <span class="what">
        <strong>{reason}</strong>{" "}
        <span class="faint">{records.length > 1 && stage ? counted(records.length, stage) : first && whereText(first)}</span>
      </span>
      <span class="faint">{first?.sinceMs === undefined ? null : <Moment at={first.sinceMs} />}</span>
      <span class="message">{first?.message}</span>
      <span class="message concern-objects">
        {records.slice(0, mostNamed).map((record) => (
          <span key={record.id}>
            <ObjectLink to={record.ref}>{record.title ?? record.ref.name}</ObjectLink>
            {records.length > 1 && record.ref.namespace !== "" ? <span class="faint"> in {record.ref.namespace}</span> : null}
          </span>
        ))}
        {rest > 0 && stage ? <a href={formatRoute({ ...home, view: viewOf(stage), search: reason, health })}>and {rest} more</a> : null}
      </span>
    </li>
  );
}

function ComingUp({ records }: { readonly records: readonly ObjectRecord[] }): JSX.Element {
  const { clock, live } = usePage();
  const coming = comingUp(records, clock.now.value, most);
  const doubtsOf = new Map(useStages().map((stage) => [stage.step, doubtsOn(live.connection.value, stageRecordOf(live, stage))]));
  const isUncertain = ({ step, ref }: ObjectRecord): boolean => doubtsOf.get(step)?.some((doubt) => outdates(doubt, ref)) ?? false;
  const doubts = useDoubts();
  const places = shownNamespaces(live.stages.value) ?? live.hello.value?.namespaces;
  const nothing = `Nothing is due by itself${places === undefined ? "" : ` in ${namespacesText(places)}`}.`;
  return (
    <section class="coming-up" aria-labelledby="coming-up">
      <div class="section-head">
        <h2 id="coming-up">Coming up</h2>
      </div>
      {coming.length === 0 ? (
        <p class="panel empty soft">
          {doubts.length === 0 ? nothing : doubts.every(({ about }) => about === "loading") ? "Loading…" : "What comes next is not known."}
        </p>
      ) : (
        <ul class="panel row-list">
          {coming.map((record) => (
            <li key={record.id}>
              {isUncertain(record) ? (
                <HealthMark health="unknown" quiet text="expected, not certain" />
              ) : (
                <span class="faint">
                  <ClockIcon />
                </span>
              )}
              <span class="what">
                <ObjectLink to={record.ref}>{record.title ?? record.ref.name}</ObjectLink> <span class="faint">{whereText(record)}</span>
              </span>
              <span>{record.next === undefined ? null : <Moment at={record.next.atMs} />}</span>
              <span class="message">{record.next?.what}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function whereText({ ref }: ObjectRecord): string {
  return ref.namespace === "" ? ref.kind : `${ref.kind} in ${ref.namespace}`;
}

// The way through the page: the stages, each with how it fares.

export function StageFlow(): JSX.Element {
  const { live, navigation } = usePage();
  const { view } = navigation.route.value;
  return (
    <nav class="flow" aria-label="Steps">
      <ol>
        {useStages().map((stage) => (
          <li key={stage.step}>
            <a href={formatRoute({ ...home, view: viewOf(stage) })} aria-current={view === viewOf(stage) ? "page" : undefined}>
              <HealthMark health={healthOn(live.connection.value, stageRecordOf(live, stage), countTables(...tablesOf(live, stage)))} quiet />
              {stage.verb}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}
