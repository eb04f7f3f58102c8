// What is told about one object beyond its record. Many may ask at a time: the API server is asked once.
import type { DashboardRecord, DifferenceView, EventView, ObjectDetail, ObjectRef } from "@keyturn/dashboard/contract";
import { type Client, type Clock, Event, isApiError, type Kind, type Logger, resourceOf, Secret } from "@keyturn/runtime";
import { type DiffOptions, namespaceDiffs } from "../../agent/diff-report.ts";
import { differenceInWords } from "../../agent/set-difference.ts";
import { SecretCheckSum } from "../../controllers/checksum/api.ts";
import type { RecordSource } from "../record-source.ts";
import type { RecordStore } from "../record-store.ts";
import { objectRef, shownText } from "../records/record-base.ts";
import type { AskedObject, Asker } from "../request-handler.ts";
import { SharedAnswers } from "../shared-answers.ts";
import { objectCommands } from "./object-commands.ts";
import { objectEvents } from "./object-events.ts";
import { objectHistory } from "./object-history.ts";

/** What details are made with. */
export interface ObjectDetailsOptions {
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
const mostAnswers = 500;
const patienceMs = 10_000;

/** Tells about objects that have a record. */
export class ObjectDetails {
  readonly #options: ObjectDetailsOptions;
  readonly #events: SharedAnswers<readonly EventView[]>;
  readonly #differences: SharedAnswers<readonly DifferenceView[]>;

  constructor(options: ObjectDetailsOptions) {
    this.#options = options;
    const { clock } = options;
    this.#events = new SharedAnswers({ clock, freshMs: eventsFreshMs, most: mostAnswers });
    this.#differences = new SharedAnswers({ clock, freshMs: differencesFreshMs, most: mostAnswers });
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
