// The namespaces in which a viewer may have rights, whether or not there is anything to see in them.
import { type Client, type Clock, isApiError, type Logger, Namespace } from "@keyturn/runtime";
import { SharedAnswers } from "./shared-answers.ts";

/** What they are found with. */
export interface ViewerNamespacesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** The namespaces that the operator is limited to; empty for all, which are then asked for. */
  readonly limitedTo: readonly string[];
}

/** Namespaces come seldom, and the answer is only needed for those who would be turned away. */
const freshMs = 10_000;

/** Gives them by name, in order. None are known where the right to list them is missing; the log says so. */
export function viewerNamespaces({ client, clock, log, limitedTo }: ViewerNamespacesOptions): () => Promise<readonly string[]> {
  if (limitedTo.length > 0) {
    const names = limitedTo.toSorted();
    return () => Promise.resolve(names);
  }
  const answers = new SharedAnswers<readonly string[]>({ clock, freshMs, most: 1 });
  return () =>
    answers.get("all", async () => {
      try {
        const { items } = await client.list(Namespace);
        return items.map(({ metadata }) => metadata.name).toSorted();
      } catch (error) {
        if (!isApiError(error, "Forbidden")) throw error;
        log.warn({}, "the operator lacks the right to list namespaces: who may look only where there is nothing yet is not let into the dashboard");
        return [];
      }
    });
}
