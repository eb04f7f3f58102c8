// What is shown of one object beyond its record: commands, Events, history. Many may ask at a time: the API server is asked once.
import {
  type CommandView,
  type DifferenceView,
  type EventView,
  type HistoryEntry,
  type ObjectDetail,
  type ObjectRef,
  shellCommand,
} from "@keyturn/dashboard/contract";
import { type Client, type Clock, Event, isApiError, type Kind, type Logger, resourceOf } from "@keyturn/runtime";
import type { Feature, FlagReader } from "../feature/feature.ts";
import { inNamespace, objectRef, type ObjectStory, type RecordSource, shownText, timeMs } from "../feature/record.ts";
import type { RecordStore } from "./record-store.ts";
import type { AskedObject, Asker } from "./server.ts";
import { SharedAnswers } from "./viewer-gate.ts";

// The commands that somebody would type to see, or to change, what the page of an object shows.

/** The commands for an object: those that any object has, and those of its feature. */
export function objectCommands(ref: ObjectRef, story: ObjectStory | undefined): readonly CommandView[] {
  const { resource, name } = ref;
  const where = inNamespace(ref);
  return [
    { what: "see it", command: shellCommand`kubectl get ${resource} ${name} ${where} -o yaml` },
    { what: "see it in words, with its Events", command: shellCommand`kubectl describe ${resource} ${name} ${where}` },
    { what: "follow its Events", command: shellCommand`kubectl events ${where} --for ${resource}/${name} --watch` },
    { what: "follow it through all steps", command: shellCommand`keyturn status ${name} ${where}` },
    ...(story?.commands ?? []),
  ];
}

// The Events of one object, read when somebody looks.

/** More are not read by anybody. */
const maxEvents = 100;

/** The newest first. */
async function objectEvents(client: Client, { kind, namespace, name }: ObjectRef, signal: AbortSignal): Promise<readonly EventView[]> {
  const fields = `regarding.kind=${kind},regarding.name=${name}`;
  const { items } = await client.list(Event, { namespace: namespace === "" ? "default" : namespace, fields }, signal);
  return items
    .map(eventView)
    .toSorted((left, right) => right.lastMs - left.lastMs)
    .slice(0, maxEvents);
}

/** Events that were made through the old API have their times and counts elsewhere. */
interface OldEvent {
  readonly deprecatedFirstTimestamp?: string | null;
  readonly deprecatedLastTimestamp?: string | null;
  readonly deprecatedCount?: number;
}

function eventView(event: Event & OldEvent): EventView {
  const { type, reason, note = "", action, eventTime, series, reportingController, metadata } = event;
  const firstMs = timeMs(eventTime) ?? timeMs(event.deprecatedFirstTimestamp) ?? timeMs(metadata.creationTimestamp) ?? 0;
  return {
    type: type === "Warning" ? "Warning" : "Normal",
    reason,
    note: shownText(note),
    action,
    firstMs,
    lastMs: timeMs(series?.lastObservedTime) ?? timeMs(event.deprecatedLastTimestamp) ?? firstMs,
    count: series?.count ?? event.deprecatedCount ?? 1,
    controller: reportingController,
  };
}

// What has happened to an object, as far as its record remembers.

/** The newest first. */
export function objectHistory(story: ObjectStory | undefined): readonly HistoryEntry[] {
  return (story?.history ?? []).filter(({ atMs }) => atMs > 0).toSorted((left, right) => right.atMs - left.atMs);
}

// Details that a page asks for. Many may ask at a time: the API server is asked once.

/** What details are made with. */
interface ObjectDetailsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: RecordStore;
  readonly sources: () => readonly RecordSource[];
  readonly registry: readonly Feature[];
  /** The controllers' flags: what counts depends on them. */
  readonly flag: FlagReader;
  readonly signal: AbortSignal;
}

/** A page asks again every few seconds while somebody looks; everybody else who looks gets the same answer. */
const eventsFreshMs = 3000;
const differencesFreshMs = 10_000;
const maxAnswers = 500;
const patienceMs = 10_000;

/** Details of objects that have a record. */
export class ObjectDetails {
  readonly #options: ObjectDetailsOptions;
  readonly #events: SharedAnswers<readonly EventView[]>;
  readonly #differences: SharedAnswers<readonly DifferenceView[]>;

  constructor(options: ObjectDetailsOptions) {
    this.#options = options;
    const { clock } = options;
    this.#events = new SharedAnswers({ clock, freshMs: eventsFreshMs, most: maxAnswers });
    this.#differences = new SharedAnswers({ clock, freshMs: differencesFreshMs, most: maxAnswers });
  }

  /** The details; undefined if nothing of that name is shown. */
  async of({ resource, namespace, name }: AskedObject, asker: Asker): Promise<ObjectDetail | undefined> {
    const found = this.#find(resource, { namespace, name });
    if (!found) return undefined;
    const { ref, story } = found;
    return {
      ref,
      ...(await this.#eventsOf(ref, asker)),
      history: objectHistory(story),
      commands: objectCommands(ref, story),
      ...(await this.#differencesOf(ref, asker)),
    };
  }

  #find(
    resource: string,
    name: { readonly namespace: string; readonly name: string },
  ): { readonly ref: ObjectRef; readonly story: ObjectStory | undefined } | undefined {
    const { store, clock, sources } = this.#options;
    for (const source of sources()) {
      const place = source.find?.(resource, name);
      if (!place || store.json(place.id) === undefined) continue;
      const ref = objectRef(place.kind, name);
      return { ref, story: source.make(place.id, clock.now())?.story?.(ref) };
    }
    return undefined;
  }

  async #eventsOf(ref: ObjectRef, asker: Asker): Promise<Pick<ObjectDetail, "events" | "eventsHidden">> {
    const { namespace } = ref;
    if (!(await asker.mayList(Event, namespace))) return { eventsHidden: `you may not list ${resourceOf(Event)} in namespace ${namespace}` };
    const { client } = this.#options;
    const asked = this.#events.get(`${ref.resource}/${namespace}/${ref.name}`, () => objectEvents(client, ref, this.#patience()));
    return asked.then(
      (events) => ({ events }),
      (error: unknown) => ({ eventsHidden: this.#reason(error, Event, namespace) }),
    );
  }

  async #differencesOf({ resource, namespace }: ObjectRef, asker: Asker): Promise<Pick<ObjectDetail, "differences" | "differencesHidden">> {
    const differences = this.#options.registry.map(({ records }) => records.differences).find((each) => each && resourceOf(each.of) === resource);
    if (!differences) return {};
    const { needs, places, find } = differences;
    const { client, flag } = this.#options;
    try {
      for (const place of await places({ client, namespace, signal: this.#patience() }, flag))
        if (!(await asker.mayList(needs, place))) return { differencesHidden: `you may not list ${resourceOf(needs)} in namespace ${place}` };
      const found = await this.#differences.get(`${resource}/${namespace}`, () => find({ client, namespace, signal: this.#patience() }, flag));
      return { differences: found };
    } catch (error) {
      return { differencesHidden: this.#reason(error, needs, namespace) };
    }
  }

  #patience(): AbortSignal {
    return AbortSignal.any([this.#options.signal, AbortSignal.timeout(patienceMs)]);
  }

  #reason(error: unknown, kind: Kind, namespace: string): string {
    if (isApiError(error, "Forbidden")) return `the right to list ${resourceOf(kind)} in namespace ${namespace} is missing`;
    this.#options.log.warn({ err: error, resource: resourceOf(kind), namespace }, "could not read for the dashboard");
    return `${resourceOf(kind)} in namespace ${namespace} could not be read now`;
  }
}
