// A collection read object by object: one page of it in memory at a time, and the event loop free in between.
import type { Clock } from "../clock.ts";
import { sharedTimeSlice } from "../watch/time-slice.ts";
import type { Client, Selection } from "./client.ts";
import { collectionPath, type Kind, resourceOf } from "./kind.ts";
import type { KubeObject, Stored } from "./object.ts";
import { decodePage } from "./object-answer.ts";

/** client-go's page size. */
const pageSize = 500;

/** What a collection is read with. */
export interface PagedListOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly selection?: Selection;
}

/** All objects of a collection at one resourceVersion. Rejects as `Client` does; with `Gone` if it takes longer than the server remembers. */
export async function* pagedList<T extends KubeObject>(
  kind: Kind<T>,
  { client, clock, selection: { namespace, labels, fields } = {} }: PagedListOptions,
  signal?: AbortSignal,
): AsyncGenerator<Stored<T>, void> {
  const query = new URLSearchParams({ limit: String(pageSize), ...(labels && { labelSelector: labels }), ...(fields && { fieldSelector: fields }) });
  const slice = sharedTimeSlice(clock);
  for (;;) {
    const body = await client.request({ method: "GET", path: `${collectionPath(kind, namespace)}?${query.toString()}` }, signal);
    const page = decodePage(body, kind, `list ${resourceOf(kind)}`);
    for (const object of page.items) {
      yield object;
      if (slice.used) await slice.pause();
    }
    if (page.continue === undefined) return;
    query.set("continue", page.continue);
  }
}
