// What is told about one object beyond its record: commands, Events, history. Many may ask at a time: the API server is asked once.
import type { CommandView, DashboardRecord, DifferenceView, EventView, HistoryEntry, ObjectDetail, ObjectRef } from "@keyturn/dashboard/contract";
import { type Client, type Clock, Event, isApiError, type Kind, type Logger, resourceOf, Secret } from "@keyturn/runtime";
import { SecretCheckSum } from "../controllers/checksum/api.ts";
import { differenceInWords, type DiffOptions, namespaceDiffs } from "../controllers/checksum/difference.ts";
import { abandonAnnotation } from "../controllers/eventing-auth/api.ts";
import { revokeAnnotation } from "../controllers/jwks/api.ts";
import { consentLabel } from "../controllers/sidecars/annotations.ts";
import { pausedAnnotation } from "../feature/pause-and-selection.ts";
import { objectRef, type RecordSource, shownText, timeMs } from "../feature/record.ts";
import type { RecordStore } from "./record-store.ts";
import type { AskedObject, Asker } from "./server.ts";
import { SharedAnswers } from "./viewer-gate.ts";

// The commands that somebody would type to see, or to change, what the page of an object shows.

/** The commands for an object. Names of objects need no quotes: Kubernetes allows no character in them that a shell would take for something else. */
export function objectCommands(ref: ObjectRef, record: DashboardRecord | undefined): readonly CommandView[] {
  const { resource, namespace, name } = ref;
  const where = namespace === "" ? "" : ` -n ${namespace}`;
  const object = `${resource} ${name}${where}`;
  return [
    { what: "see it", command: `kubectl get ${object} -o yaml` },
    { what: "see it in words, with its Events", command: `kubectl describe ${object}` },
    { what: "follow its Events", command: `kubectl events${where} --for ${resource}/${name} --watch` },
    ...(record ? ownCommands(ref, record, where) : []),
  ];
}

function ownCommands({ resource, name }: ObjectRef, record: DashboardRecord, where: string): readonly CommandView[] {
  const pause = { what: "leave it as it is for now", command: `kubectl annotate ${resource} ${name}${where} ${pausedAnnotation}=true` };
  switch (record.type) {
    case "rotationSet":
      return [
        { what: "what happens next, and when", command: `keyturn plan ${record.set}${where}` },
        { what: "what has happened", command: `keyturn history ${record.set}${where}` },
        pause,
      ];
    case "keySet": {
      const [key] = record.keys;
      const document = `kubectl get configmap ${record.configMap}${where} -o jsonpath='{.data.jwks\\.json}'`;
      return [
        { what: "see the document", command: document },
        ...(key ? [{ what: "withdraw a key at once", command: `kubectl annotate ${resource} ${name}${where} ${revokeAnnotation}=${key.kid}` }] : []),
        pause,
      ];
    }
    case "checksum":
    case "agent":
      return [{ what: "which Secrets differ", command: `keyturn diff${where}` }, ...(record.type === "checksum" ? [pause] : [])];
    case "issued":
      return [
        pause,
        ...(record.deletingSinceMs === undefined
          ? []
          : [
              {
                what: "let it go although its cluster does not answer",
                command: `kubectl annotate ${resource} ${name}${where} ${abandonAnnotation}=target`,
              },
            ]),
      ];
    case "workload":
      return [
        { what: "what would be restarted", command: `keyturn plan sidecars${where}` },
        { what: "how its rollout fares", command: `kubectl rollout status ${resource}/${name}${where}` },
        { what: "never restart it for its sidecar", command: `kubectl label ${resource} ${name}${where} ${consentLabel}=disabled` },
      ];
    case "step":
    default:
      return [];
  }
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
export function objectHistory(ref: ObjectRef, record: DashboardRecord | undefined): readonly HistoryEntry[] {
  const entries = record ? entriesOf(ref, record) : [];
  return entries.filter(({ atMs }) => atMs > 0).toSorted((left, right) => right.atMs - left.atMs);
}

function entriesOf(ref: ObjectRef, record: DashboardRecord): readonly HistoryEntry[] {
  switch (record.type) {
    case "rotationSet":
      return [
        ...created(record),
        ...record.versions.map(({ seq, digest, seenMs }) => ({ atMs: seenMs, what: `the source became version ${seq} (${short(digest)})` })),
        ...record.lanes.flatMap(({ ref: target, held }) =>
          held.map(({ seq, fromMs, backfilled }) => ({
            atMs: fromMs,
            what: `${target.name === ref.name ? "got" : `${target.name} got`} version ${seq}${backfilled ? ", filled in for want of an older one" : ""}`,
          })),
        ),
        ...record.frozen.flatMap(({ fromMs, toMs }) => [
          { atMs: fromMs, what: "the source was gone or could not be read" },
          ...(toMs === undefined ? [] : [{ atMs: toMs, what: "the source was back" }]),
        ]),
      ];
    case "keySet":
      return [
        ...created(record),
        ...record.keys.flatMap(({ kid, sinceMs, replacedMs, removeMs, state }) => [
          { atMs: sinceMs, what: `key ${short(kid)} was published` },
          ...(replacedMs === undefined ? [] : [{ atMs: replacedMs, what: `key ${short(kid)} was replaced` }]),
          ...(state === "Removed" && removeMs !== undefined ? [{ atMs: removeMs, what: `key ${short(kid)} went` }] : []),
        ]),
      ];
    case "checksum":
      return record.checksums.map(({ checksum, count, sinceMs, timestampMs, announcedUntilMs }) => ({
        atMs: sinceMs ?? timestampMs,
        what: `checksum ${short(checksum)} of ${count} objects was ${announcedUntilMs === undefined ? "published" : "announced"}`,
      }));
    case "agent":
      return [
        ...created(record),
        ...(record.promotedMs === undefined ? [] : [{ atMs: record.promotedMs, what: `took over checksum ${short(record.checksum)}` }]),
      ];
    case "issued":
      return [
        ...created(record),
        ...(record.issuedMs === undefined ? [] : [{ atMs: record.issuedMs, what: "its credentials were issued" }]),
        ...(record.deletingSinceMs === undefined ? [] : [{ atMs: record.deletingSinceMs, what: "somebody asked for its deletion" }]),
      ];
    case "workload":
      return record.restartedMs === undefined ? [] : [{ atMs: record.restartedMs, what: "was restarted for its sidecar" }];
    case "step":
    default:
      return [];
  }
}

function created({ createdMs }: { readonly createdMs?: number }): readonly HistoryEntry[] {
  return createdMs === undefined ? [] : [{ atMs: createdMs, what: "was created" }];
}

function short(digest: string): string {
  return digest.slice(0, 12);
}

// What is told about one object beyond its record. Many may ask at a time: the API server is asked once.

/** What details are made with. */
interface ObjectDetailsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: RecordStore;
  readonly sources: () => readonly RecordSource[];
  /** Which Secrets count for checksums. */
  readonly secrets: Omit<DiffOptions, "allNamespaces">;
  readonly signal: AbortSignal;
}

/** A page asks again every few seconds while somebody looks; everybody else who looks gets the same answer. */
const eventsFreshMs = 3000;
const differencesFreshMs = 10_000;
const maxAnswers = 500;
const patienceMs = 10_000;

/** Tells about objects that have a record. */
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
    const { ref, record } = found;
    return {
      ref,
      ...(await this.#eventsOf(ref, asker)),
      history: objectHistory(ref, record),
      commands: objectCommands(ref, record),
      ...(resource === resourceOf(SecretCheckSum) && (await this.#differencesIn(namespace, asker))),
    };
  }

  #find(
    resource: string,
    name: { readonly namespace: string; readonly name: string },
  ): { readonly ref: ObjectRef; readonly record: DashboardRecord } | undefined {
    for (const source of this.#options.sources()) {
      const place = source.find?.(resource, name);
      const json = place && this.#options.store.json(place.id);
      // Written by the store itself, from a record.
      if (place && json !== undefined) return { ref: objectRef(place.kind, name), record: JSON.parse(json) as DashboardRecord };
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

  async #differencesIn(namespace: string, asker: Asker): Promise<Pick<ObjectDetail, "differences" | "differencesHidden">> {
    if (!(await asker.mayList(Secret, namespace))) return { differencesHidden: `you may not list secrets in namespace ${namespace}` };
    return this.#differences
      .get(namespace, () => this.#compare(namespace))
      .then(
        (differences) => ({ differences }),
        (error: unknown) => ({ differencesHidden: this.#reason(error, Secret, namespace) }),
      );
  }

  async #compare(namespace: string): Promise<readonly DifferenceView[]> {
    const { client, secrets } = this.#options;
    const [diff] = await namespaceDiffs({ client, namespace, signal: this.#patience() }, { ...secrets, allNamespaces: false });
    return (diff?.differences ?? []).map((difference) => ({
      direction: difference.direction,
      name: difference.secret ?? "",
      message: shownText(differenceInWords(difference)),
    }));
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
