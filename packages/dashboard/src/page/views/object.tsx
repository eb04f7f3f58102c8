// The page of one object: how it fares, its conditions, its history, its Events, and what one would type to see the same.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ConditionView, Health, ObjectDetail, ObjectRef, RotationLane } from "../../contract/index.ts";
import type { LiveTables } from "../live-picture.ts";
import { usePage } from "../page-state.ts";
import { EmptyState } from "../parts/connection-state.tsx";
import { HealthMark } from "../parts/health-mark.tsx";
import { CopyButton, Moment } from "../parts/inline.tsx";
import { type DetailState, DifferenceList, useObjectDetail } from "../parts/object-detail.tsx";
import { formatRoute, home, type ObjectName } from "../route.ts";
import { stageInfos } from "../stages.ts";
import { keyTracks, servedText } from "../timeline/key-tracks.ts";
import { FactRow } from "../timeline/lanes.tsx";
import { rotationTracks } from "../timeline/rotation-tracks.ts";
import { ZoomBar } from "../timeline/timeline-controls.tsx";
import { Timeline, useRange } from "../timeline/timeline.tsx";
import { type Fact, suggestedSpan, type Track } from "../timeline/tracks.ts";
import { allTables, type ShownRecord } from "./stage.tsx";

// What there is to say about an object besides its conditions, as a list of facts.

/** The facts of a record; of one lane of it, if the object is a target. */
export function objectFacts(record: ShownRecord, lane?: RotationLane): readonly Fact[] {
  return [
    ...at("created", record.createdMs),
    ...at("so since", record.sinceMs),
    ...(lane === undefined ? ownFacts(record) : laneFacts(lane)),
    ...at("next", lane === undefined ? record.next?.atMs : lane.planned[0]?.atMs),
  ];
}

function ownFacts(record: ShownRecord): readonly Fact[] {
  switch (record.type) {
    case "issued":
      return [
        ...text("application", record.application && `${record.application.name} (${record.application.id})`),
        ...text("Secret", record.target?.secret),
        ...text("cluster", record.target?.clusterId),
        ...at("issued", record.issuedMs),
        ...at("next rotation", record.nextRotationMs),
        ...at("deleting since", record.deletingSinceMs),
      ];
    case "rotationSet":
      return [
        ...text("set", record.set),
        ...text("source", record.source && `${record.source.kind} ${record.source.name}`),
        ...at("source as it is since", record.sourceSinceMs),
        ...text("policy", record.policy),
        ...text("targets", String(record.lanes.length)),
      ];
    case "keySet":
      return [
        ...text("ConfigMap", record.configMap),
        ...text("endpoint", record.endpoint),
        ...text("served", servedText(record)),
        ...text("revision", record.revision === undefined ? undefined : String(record.revision)),
        ...at("updated", record.updatedMs),
        ...at("next removal", record.nextRemovalMs),
        ...at("next certificate expires", record.nextExpiryMs),
      ];
    case "checksum":
      return [
        ...digest("checksum", record.checksums[0]?.checksum),
        ...digest("SHA-256", record.checksums[0]?.sha256),
        ...text("objects", String(record.checksums[0]?.count ?? 0)),
        ...at("made", record.checksums[0]?.timestampMs),
        ...at("holds since", record.checksums[0]?.sinceMs),
        ...at("awaited until", record.checksums[0]?.announcedUntilMs),
        ...record.problems.map((problem): Fact => ({ name: `left out: ${problem.name}`, text: problem.reason })),
      ];
    case "agent":
      return [
        ...text("identity", record.identity),
        ...text("state", record.state),
        ...digest("checksum", record.checksum),
        ...text("agrees", record.matches === undefined ? undefined : record.matches ? "yes" : "no"),
        ...text("generation", record.generation),
        ...text("Secrets", String(record.secrets)),
        ...at("set promoted", record.promotedMs),
        ...at("verified", record.verifiedMs),
        ...at("last heard of", record.renewedMs),
        ...text("alarms", record.alarms.join(", ")),
      ];
    case "workload":
    default:
      return [
        ...text("phase", record.phase),
        ...text("outdated", record.outdated),
        ...text("why", record.why),
        ...text("the plan", record.decision && [record.decision.type, record.decision.reason ?? ""].filter(Boolean).join(": ")),
        ...at("until", record.decision?.untilMs),
        ...at("restarted", record.restartedMs),
      ];
  }
}

function laneFacts(lane: RotationLane): readonly Fact[] {
  const live = lane.held.find(({ toMs }) => toMs === undefined);
  return [
    ...text("keeps", lane.object && `${lane.object.kind} ${lane.object.name}`),
    ...text("place in the chain", String(lane.rank)),
    { name: "delay", spanMs: lane.delayMs },
    ...text("version", live && String(live.seq)),
    ...digest("digest", live?.digest),
    ...at("held since", live?.fromMs),
    ...(lane.gapMs === 0 ? [] : [{ name: "in no target for", spanMs: lane.gapMs }]),
  ];
}

function at(name: string, atMs: number | undefined): readonly Fact[] {
  return atMs === undefined ? [] : [{ name, atMs }];
}

function text(name: string, value: string | undefined): readonly Fact[] {
  return value === undefined || value === "" ? [] : [{ name, text: value }];
}

function digest(name: string, value: string | undefined): readonly Fact[] {
  return value === undefined || value === "" ? [] : [{ name, text: value, mono: true }];
}

// Finds what the page knows about an object: its record, and the lane if it is a target among others.

interface FoundObject {
  readonly ref: ObjectRef;
  /** Differs when anything about it has changed. */
  readonly record: ShownRecord;
  readonly health: Health;
  readonly reason: string;
  readonly message: string;
  readonly conditions: readonly ConditionView[];
  readonly facts: readonly Fact[];
  readonly tracks: readonly Track[];
}

/** Undefined if no record is about it. */
function findObject(tables: LiveTables, name: ObjectName): FoundObject | undefined {
  const lane = tables.rotationSet.value.flatMap((record) =>
    record.lanes
      .filter(({ ref, object }) => isSame(ref, name) || (object !== undefined && isSame(object, name)))
      .map((found) => ({ record, lane: found })),
  )[0];
  if (lane !== undefined) {
    const { health, reason, message, conditions, ref } = lane.lane;
    return {
      ref,
      record: lane.record,
      health,
      reason,
      message,
      conditions,
      facts: objectFacts(lane.record, lane.lane),
      tracks: rotationTracks(lane.record),
    };
  }
  for (const { step } of stageInfos) {
    const record = allTables(tables, step)
      .flat()
      .find(
        (candidate) =>
          isSame(candidate.ref, name) || (candidate.type === "rotationSet" && candidate.source !== undefined && isSame(candidate.source, name)),
      );
    if (record === undefined) continue;
    const { ref, health, reason, message, conditions } = record;
    return { ref, record, health, reason, message, conditions, facts: objectFacts(record), tracks: tracksOf(record) };
  }
  return undefined;
}

function isSame(ref: ObjectName, name: ObjectName): boolean {
  return ref.resource === name.resource && ref.namespace === name.namespace && ref.name === name.name;
}

function tracksOf(record: ShownRecord): readonly Track[] {
  if (record.type === "rotationSet") return rotationTracks(record);
  return record.type === "keySet" ? keyTracks(record) : [];
}

export function ObjectPage({ name }: { readonly name: ObjectName }): JSX.Element {
  const { live } = usePage();
  const found = findObject(live.tables, name);
  const detail = useObjectDetail(name, found?.record);
  const info = stageInfos.find(({ step }) => step === found?.record.step);
  return (
    <>
      <nav class="crumbs" aria-label="Where this is">
        <a href={formatRoute(home)}>Overview</a>
        <span aria-hidden="true">/</span>
        {info === undefined ? null : (
          <>
            <a href={formatRoute({ ...home, view: info.view })}>{info.title}</a>
            <span aria-hidden="true">/</span>
          </>
        )}
        <span>{name.namespace}</span>
      </nav>
      <header class="view-head">
        <div>
          <h1 class="object-name">{name.name}</h1>
          <p>
            {found?.ref.kind ?? name.resource}
            {name.namespace === "" ? "" : ` in ${name.namespace}`}
          </p>
        </div>
      </header>
      {found === undefined ? (
        <EmptyState title="Nothing is known about this object" command={`kubectl get ${name.resource} ${name.name} -n ${name.namespace}`}>
          It may have been deleted, or nothing has to be done about it.
        </EmptyState>
      ) : (
        <ObjectState found={found} detail={detail} />
      )}
      <div class="object-grid">
        <div>
          {found === undefined ? null : <Conditions conditions={found.conditions} />}
          <WhatHappened detail={detail} />
        </div>
        <div>
          {found === undefined ? null : <Facts facts={found.facts} />}
          {detail.state === "there" ? <Commands detail={detail.detail} /> : null}
        </div>
      </div>
    </>
  );
}

function ObjectState({ found, detail }: { readonly found: FoundObject; readonly detail: DetailState }): JSX.Element {
  return (
    <>
      <div class={`panel object-state tone-${found.health}`}>
        <HealthMark health={found.health} quiet />
        <p>
          <strong>{found.reason === "" ? "No reason given" : found.reason}</strong> <span class="soft">{found.message}</span>
        </p>
      </div>
      {found.tracks.length === 0 ? null : <ObjectTimeline tracks={found.tracks} />}
      {found.record.type === "checksum" ? (
        <section class="section" aria-labelledby="differences">
          <h2 id="differences">Difference</h2>
          <div class="panel">
            <DifferenceList detail={detail} />
          </div>
        </section>
      ) : null}
    </>
  );
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

function ObjectTimeline({ tracks }: { readonly tracks: readonly Track[] }): JSX.Element {
  const { clock } = usePage();
  const suggested = useMemo(() => suggestedSpan(tracks, clock.read()), []);
  const control = useRange(suggested);
  return (
    <section aria-labelledby="over-time">
      <div class="section-head">
        <h2 id="over-time">Over time</h2>
        <ZoomBar control={control} alone />
      </div>
      <Timeline label="This object over time" tracks={tracks} control={control} />
    </section>
  );
}

function Conditions({ conditions }: { readonly conditions: readonly ConditionView[] }): JSX.Element {
  return (
    <section class="section" aria-labelledby="conditions">
      <h2 id="conditions">Conditions</h2>
      {conditions.length === 0 ? (
        <p class="panel empty soft">It has none.</p>
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
              <HealthMark health={event.type === "Warning" ? "degraded" : "healthy"} quiet text={event.type} />
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
        <p class="panel empty soft">Nothing is remembered.</p>
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

function Commands({ detail: { commands } }: { readonly detail: ObjectDetail }): JSX.Element {
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
