// What the agent sees of its namespace: watches that never end, and a consistent look at what they hold.
import { type Cache, type Caches, nameOf, Secret, type Selection, type WatchStatus } from "@keyturn/runtime";
import { SecretCheckSum } from "../controllers/checksum/api.ts";
import type { IdRules } from "../controllers/checksum/object-id.ts";
import { type ObservedChecksum, observedChecksum } from "./observed-checksum.ts";
import { type ObservedSecret, secretObserver } from "./observed-secret.ts";
import { type ObservedSet, observedSetOf } from "./observed-set.ts";

/** A namespace, watched. */
export interface NamespaceView {
  /** Undefined until the first list is complete. Of one state of the API server. */
  secrets(): ObservedSet | undefined;
  checksums(): readonly ObservedChecksum[] | "unknown" | "missing";
  /** What keeps the agent from seeing changes at present, in words; undefined if nothing does. */
  hindrance(): string | undefined;
}

/** Watches a namespace from now on; `onChange` is called after every change. */
export function viewNamespace(
  caches: Caches,
  { selection, rules }: { readonly selection: Selection & { readonly namespace: string }; readonly rules: IdRules },
  onChange: () => void,
): NamespaceView {
  const secrets = caches.watch(Secret, { ...selection, keep: secretObserver(rules) });
  const checksums = caches.watch(SecretCheckSum, { namespace: selection.namespace, keep: observedChecksum });
  let known: ObservedSet | undefined;
  secrets.subscribe(() => {
    known = undefined;
    onChange();
  });
  checksums.subscribe(onChange);
  // An empty first list is a change too: nothing was known before.
  for (const cache of [secrets, checksums]) void cache.whenSynced().then(onChange);

  return {
    secrets: () => (secrets.synced ? (known ??= setIn(secrets)) : undefined),
    checksums() {
      if (caches.statusOf(checksums).state.type === "missing") return "missing";
      return checksums.synced ? Array.from(checksums.entries(), ([, object]) => object) : "unknown";
    },
    hindrance: () => hindranceOf(caches.statusOf(secrets)) ?? hindranceOf(caches.statusOf(checksums)),
  };
}

/** Made from the whole cache at a time, never change by change: changes of a relist come one after the other, and no state between two of them ever was. */
function setIn(cache: Cache<ObservedSecret>): ObservedSet {
  return observedSetOf(new Map(Array.from(cache.entries(), ([key, secret]) => [nameOf(key).name, secret])));
}

function hindranceOf({ resource, state }: WatchStatus): string | undefined {
  switch (state.type) {
    case "forbidden":
      return `the right to ${state.rule} is missing`;
    case "retrying":
      return `${resource}: ${state.error}`;
    case "idle":
    case "syncing":
      return `${resource}: the first list is not complete`;
    case "missing":
    case "live":
    default:
      return undefined;
  }
}
