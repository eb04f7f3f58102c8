// The page of one object: how it fares, its conditions, its history, its Events, and what one would type to see the same.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import {
  type ConditionView,
  type Doubt,
  type Fact,
  type ObjectDetail,
  type ObjectRecord,
  type ObjectReport,
  outdates,
  shellCommand,
} from "../../contract/index.ts";
import { doubtsOn, knownUntilMs, limitText, namespacesText } from "../doubt.ts";
import { stageRecordOf, tablesOf, usePage, useStages, viewOf } from "../page-state.ts";
import { EmptyState, UnknownState } from "../parts/connection-state.tsx";
import { HealthMark } from "../parts/health-mark.tsx";
import { CopyButton, Moment } from "../parts/inline.tsx";
import { type DetailState, DifferenceList, useObjectDetail } from "../parts/object-detail.tsx";
import { Thread, useThread } from "../parts/thread.tsx";
import { formatRoute, home, type ObjectName } from "../route.ts";
import { FactRow } from "../timeline/lanes.tsx";
import { ZoomBar } from "../timeline/timeline-controls.tsx";
import { Timeline, useRange } from "../timeline/timeline.tsx";
import { drawnTracks, type DrawnTrack, suggestedSpan } from "../timeline/tracks.ts";

// Finds what the page knows about an object: its record, and the lane if it is a target among others.

interface FoundObject {
  /** Differs when anything about it has changed. */
  readonly record: ObjectRecord;
  /** The record, or the lane of it that the object is. */
  readonly report: ObjectReport & { readonly facts: readonly Fact[] };
}

/** Undefined if no record is about it. */
function findObject(records: readonly ObjectRecord[], name: ObjectName): FoundObject | undefined {
  for (const record of records) {
    const lane = record.lanes?.find(({ ref, object }) => isSame(ref, name) || (object !== undefined && isSame(object, name)));
    if (lane) return { record, report: lane };
  }
  const record = records.find(({ ref, source }) => isSame(ref, name) || (source !== undefined && isSame(source, name)));
  return record && { record, report: record };
}

function isSame(ref: ObjectName, name: ObjectName): boolean {
  return ref.resource === name.resource && ref.namespace === name.namespace && ref.name === name.name;
}

export function ObjectPage({ name }: { readonly name: ObjectName }): JSX.Element {
  const { live } = usePage();
  const stages = useStages();
  const found = findObject(
    stages.flatMap((stage) => tablesOf(live, stage).flat()),
    name,
  );
  const detail = useObjectDetail(name, found?.record);
  const thread = useThread(name);
  const stage = stages.find(({ step }) => step === found?.record.step);
  const doubts = doubtsOn(live.connection.value, stage && stageRecordOf(live, stage));
  return (
    <>
      <nav class="crumbs" aria-label="Where this is">
        <a href={formatRoute(home)}>Overview</a>
        <span aria-hidden="true">/</span>
        {stage === undefined ? null : (
          <>
            <a href={formatRoute({ ...home, view: viewOf(stage) })}>{stage.title}</a>
            <span aria-hidden="true">/</span>
          </>
        )}
        <a href={formatRoute({ ...home, view: stage === undefined ? home.view : viewOf(stage), namespace: name.namespace })}>{name.namespace}</a>
      </nav>
      <header class="view-head">
        <div>
          <h1 class="object-name">{name.name}</h1>
          <p>
            {found?.report.ref.kind ?? name.resource}
            {name.namespace === "" ? "" : ` in ${name.namespace}`}
          </p>
        </div>
      </header>
      {found === undefined && thread.length === 0 ? <NotFound name={name} /> : null}
      {found === undefined ? null : <ObjectState found={found} detail={detail} knownMs={knownUntilMs(doubts)} />}
      {thread.length > 0 ? <Thread parts={thread} of={name} /> : null}
      <div class="object-grid">
        <div>
          {found === undefined ? null : (
            <Conditions conditions={found.report.conditions} isOld={doubts.some((doubt) => outdates(doubt, found.record.ref))} />
          )}
          {found === undefined && thread.length > 0 ? null : <WhatHappened detail={detail} />}
        </div>
        <div>
          {found === undefined ? null : <Facts facts={factsOf(found)} />}
          {detail.state === "there" ? <Commands commands={detail.detail.commands} /> : null}
          {found === undefined && thread.length > 0 && detail.state !== "there" ? (
            <Commands commands={[{ what: "see it", command: getCommand(name) }]} />
          ) : null}
        </div>
      </div>
    </>
  );
}

function getCommand({ resource, namespace, name }: ObjectName): string {
  return shellCommand`kubectl get ${resource} ${name} ${namespace === "" ? [] : ["-n", namespace]}`;
}

/** That there is no record says little while not all can be seen. */
function NotFound({ name }: { readonly name: ObjectName }): JSX.Element {
  const { live } = usePage();
  const { resource, namespace } = name;
  const command = getCommand(name);
  const own = live.stages.value.filter(({ resources }) => resources.includes(resource));
  const doubts = (own.length > 0 ? own : live.stages.value).flatMap((record) => doubtsOn(live.connection.value, record));
  const limits = own.flatMap(({ shownIn }) => (shownIn && !shownIn.includes(namespace) ? [limitText(shownIn)] : []));
  const asked = live.hello.value?.namespaces;
  if (asked && !asked.includes(namespace)) limits.push(`shown: ${namespacesText(asked)}, as asked for`);
  const all: readonly Doubt[] = [...doubts, ...limits.map((message) => ({ about: "rights", message }) as const)];
  const distinct = all.filter(({ message }, index) => all.findIndex((other) => other.message === message) === index);
  if (distinct.length > 0) return <UnknownState what="is such an object" doubts={distinct} command={command} />;
  return (
    <EmptyState title="Nothing is known about this object" command={command}>
      It may have been deleted, or nothing has to be done about it.
    </EmptyState>
  );
}

function ObjectState({
  found: { record, report },
  detail,
  knownMs,
}: {
  readonly found: FoundObject;
  readonly detail: DetailState;
  readonly knownMs: number | undefined;
}): JSX.Element {
  const tracks = drawnTracks(record);
  const { differences, differencesHidden } = detail.state === "there" ? detail.detail : {};
  return (
    <>
      <div class={`panel object-state tone-${report.health}`}>
        <HealthMark health={report.health} quiet />
        <p>
          <strong>{report.reason === "" ? "No reason given" : report.reason}</strong> <span class="soft">{report.message}</span>
        </p>
      </div>
      {tracks.length === 0 ? null : <ObjectTimeline tracks={tracks} knownMs={knownMs} />}
      {differences === undefined && differencesHidden === undefined ? null : (
        <section class="section" aria-labelledby="differences">
          <h2 id="differences">Difference</h2>
          <div class="panel">
            <DifferenceList detail={detail} />
          </div>
        </section>
      )}
    </>
  );
}

/** What there is to say about an object besides its conditions. */
function factsOf({ record: { createdMs }, report: { sinceMs, facts } }: FoundObject): readonly Fact[] {
  return [
    ...(createdMs === undefined ? [] : [{ name: "created", atMs: createdMs }]),
    ...(sinceMs === undefined ? [] : [{ name: "in this state since", atMs: sinceMs }]),
    ...facts,
  ];
}

function Facts({ facts }: { readonly facts: readonly Fact[] }): JSX.Element {
  return (
    <section class="section" aria-labelledby="facts">
      <h2 id="facts">Facts</h2>
      <dl class="panel facts">
        {facts.map((fact) => (
          <FactRow key={fact.name} fact={fact} />
        ))}
      </dl>
    </section>
  );
}

function ObjectTimeline({ tracks, knownMs }: { readonly tracks: readonly DrawnTrack[]; readonly knownMs: number | undefined }): JSX.Element {
  const { clock } = usePage();
  const suggested = useMemo(() => suggestedSpan(tracks, clock.read()), []);
  const control = useRange(suggested);
  return (
    <section aria-labelledby="over-time">
      <div class="section-head">
        <h2 id="over-time">Over time</h2>
        <ZoomBar control={control} alone />
      </div>
      <Timeline label="This object over time" tracks={tracks} control={control} knownMs={knownMs} />
    </section>
  );
}

function Conditions({ conditions, isOld }: { readonly conditions: readonly ConditionView[]; readonly isOld: boolean }): JSX.Element {
  return (
    <section class="section" aria-labelledby="conditions">
      <h2 id="conditions">Conditions{isOld ? <span class="faint"> as last reported</span> : null}</h2>
      {conditions.length === 0 ? (
        <p class="panel empty soft">No conditions.</p>
      ) : (
        <div class="panel scroll-x" tabIndex={0} role="group" aria-label="Table of conditions">
          <table class="plain-table">
            <thead>
              <tr>
                <th scope="col">Type</th>
                <th scope="col">Status</th>
                <th scope="col">Reason and message</th>
                <th scope="col">Since</th>
              </tr>
            </thead>
            <tbody>
              {conditions.map((condition) => (
                <tr key={condition.type}>
                  <td class="fit">{condition.type}</td>
                  <td class="fit">{condition.status}</td>
                  <td>
                    <strong>{condition.reason}</strong> <span class="soft">{condition.message}</span>
                  </td>
                  <td class="fit">{condition.sinceMs === undefined ? "" : <Moment at={condition.sinceMs} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function WhatHappened({ detail }: { readonly detail: DetailState }): JSX.Element {
  if (detail.state === "loading") return <p class="loading">Loading history and Events…</p>;
  if (detail.state === "refused") return <p class="section panel empty soft">History and Events could not be had: {detail.why}</p>;
  return (
    <>
      <Events detail={detail.detail} />
      <History detail={detail.detail} />
    </>
  );
}

function Events({ detail: { events, eventsHidden } }: { readonly detail: ObjectDetail }): JSX.Element {
  return (
    <section class="section" aria-labelledby="events">
      <h2 id="events">Events</h2>
      {events === undefined || events.length === 0 ? (
        <p class="panel empty soft">
          {events === undefined ? `Not shown: ${eventsHidden ?? "you may not list them"}` : "None; the cluster keeps them for an hour or so."}
        </p>
      ) : (
        <ul class="panel row-list">
          {events.map((event) => (
            <li key={`${event.reason}/${event.firstMs}/${event.note}`}>
              {event.type === "Warning" ? <HealthMark health="degraded" quiet text="Warning" /> : <span aria-hidden="true">·</span>}
              <span class="what">
                <strong>{event.reason}</strong> {event.count > 1 ? <span class="faint">{event.count} times</span> : null}
              </span>
              <span class="faint">
                <Moment at={event.lastMs} />
              </span>
              <span class="message">{event.note}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function History({ detail: { history } }: { readonly detail: ObjectDetail }): JSX.Element {
  return (
    <section class="section" aria-labelledby="history">
      <h2 id="history">History</h2>
      {history.length === 0 ? (
        <p class="panel empty soft">No history.</p>
      ) : (
        <ol class="panel row-list">
          {history.map((entry) => (
            <li key={`${entry.atMs}/${entry.what}`}>
              <span aria-hidden="true">·</span>
              <span class="what">{entry.what}</span>
              <span class="faint">
                <Moment at={entry.atMs} />
              </span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function Commands({ commands }: Pick<ObjectDetail, "commands">): JSX.Element {
  return (
    <section class="section" aria-labelledby="commands">
      <h2 id="commands">On the command line</h2>
      <ul class="panel">
        {commands.map(({ what, command }) => (
          <li class="command" key={command}>
            <p>{what}</p>
            <pre>{command}</pre>
            <CopyButton text={command} what={what} />
          </li>
        ))}
      </ul>
    </section>
  );
}
