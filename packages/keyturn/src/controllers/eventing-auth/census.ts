// The census of the identity provider: which applications of ours nobody claims, and who has one too many. Taken now and then by whoever leads.
import type { Cache, ControllerScope, KeyView, ObjectKey, Outcome, Run, Stored } from "@keyturn/runtime";
import type { EventingAuth } from "./api.ts";
import { IdentityError } from "./identity/provider-http.ts";
import type { IdentityProvider, MadeApplication } from "./identity/provider.ts";

/** What the list of all applications comes to. */
interface ApplicationCensus {
  /** Made by Keyturn for objects that are not there. They may be another installation's, if that shares the tenant. */
  readonly orphans: readonly MadeApplication[];
  /** The uids of objects that have one besides the one in their status. */
  readonly doubled: ReadonlySet<string>;
}

/** Compares the applications of a tenant with the objects that claim them: by id, and by the mark. */
export function takeCensus(
  made: readonly MadeApplication[],
  objects: Iterable<Pick<Stored<EventingAuth>, "metadata" | "status">>,
): ApplicationCensus {
  const recordedOf = new Map<string, string | undefined>();
  const claimed = new Set<string>();
  for (const { metadata, status } of objects) {
    const id = status?.iasApplication?.uuid;
    recordedOf.set(metadata.uid, id);
    if (id !== undefined) claimed.add(id);
  }
  const unclaimed = made.filter(({ id }) => !claimed.has(id));
  return {
    orphans: unclaimed.filter(({ uid }) => !recordedOf.has(uid)),
    // One whose object has no id yet is about to be adopted.
    doubled: new Set(unclaimed.filter(({ uid }) => recordedOf.get(uid) !== undefined).map(({ uid }) => uid)),
  };
}

/** Stands for the list of all applications. Keys of objects have a namespace. */
export const censusKey: ObjectKey = "applications";

interface CensusOptions {
  readonly scope: ControllerScope;
  readonly objects: Cache<Stored<EventingAuth>>;
  /** Shows how many nobody claims. */
  readonly orphans: KeyView<number>;
  readonly provider: () => IdentityProvider | undefined;
  readonly everyMs: number;
  /** Called with the uids of objects that have one too many, whenever it is known who they are. */
  readonly onDoubled: (uids: ReadonlySet<string>) => void;
}

/** Takes a census with each run of `censusKey`, the first when its time has come. A provider without a list has none. */
export function censusTaker({ scope, objects, orphans, provider, everyMs, onDoubled }: CensusOptions): (run: Run) => Promise<Outcome> {
  const show = scope.show(orphans);
  scope.enqueue(censusKey, { afterMs: everyMs });
  return async ({ signal, log }) => {
    const made = await provider()
      ?.listMade?.(signal)
      .catch((error: unknown) => {
        if (!(error instanceof IdentityError)) throw error;
        log.warn({ error: error.message }, "cannot list the applications of the identity provider to find those that nobody claims");
        return undefined;
      });
    const census =
      made &&
      takeCensus(
        made,
        Array.from(objects.entries(), ([, object]) => object),
      );
    // What is not known is not shown.
    show(censusKey, census?.orphans.length);
    if (census) onDoubled(census.doubled);
    return { requeueAfterMs: everyMs };
  };
}
