// The page of one object: how it fares, its conditions, its history, its Events, and what one would type to see the same.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ConditionView, ObjectDetail } from "../../contract/index.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { DifferenceList } from "../parts/difference-list.tsx";
import { EmptyState } from "../parts/empty-state.tsx";
import { HealthMark } from "../parts/health-mark.tsx";
import { Moment } from "../parts/moment.tsx";
import { formatRoute, home, type ObjectName } from "../route/route.ts";
import { usePage } from "../state/page.ts";
import { type DetailState, useObjectDetail } from "../state/use-object-detail.ts";
import { FactRow } from "../timeline/bar-card.tsx";
import { suggestedSpan } from "../timeline/suggested-span.ts";
import { Timeline } from "../timeline/timeline.tsx";
import type { Fact, Track } from "../timeline/track.ts";
import { useRange } from "../timeline/use-range.ts";
import { ZoomBar } from "../timeline/zoom-bar.tsx";
import { findObject, type FoundObject } from "./found-object.ts";
import { stepInfos } from "./step-info.ts";

export function ObjectPage({ name }: { readonly name: ObjectName }): JSX.Element {
  const { live } = usePage();
  const found = findObject(live.tables, name);
  const detail = useObjectDetail(name, found?.record);
  const info = stepInfos.find(({ step }) => step === found?.record.step);
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
              <HealthMark health={event.type === "Warning" ? "warning" : "ok"} quiet text={event.type} />
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
