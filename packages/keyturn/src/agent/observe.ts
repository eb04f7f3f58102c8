// What the agent sees of its namespace: watches that never end, and a consistent look at what they hold.
import { type Cache, type Caches, type Client, collectionPath, nameOf, Secret, type Selection, type WatchStatus } from "@keyturn/runtime";
import * as z from "zod";
import { SecretCheckSum } from "../controllers/checksum/api.ts";
import {
  type ObservedChecksum,
  observedChecksum,
  type ObservedSecret,
  type ObservedSet,
  observedSetOf,
  secretObserver,
} from "../controllers/checksum/difference.ts";
import { contentDigestOf, type IdRules } from "../controllers/checksum/ids.ts";
import { filesOf, type ReadSecret, type ReadSecrets } from "./snapshots.ts";

/** A namespace, watched. */
export interface NamespaceView {
  /** Undefined until the first list is complete. Of one state of the API server. */
  secrets(): ObservedSet | undefined;
  checksums(): readonly ObservedChecksum[] | "unknown" | "missing";
  /** What keeps the agent from seeing changes at present, in words; undefined if nothing does. */
  blocker(): string | undefined;
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
    blocker: () => blockerOf(caches.statusOf(secrets)) ?? blockerOf(caches.statusOf(checksums)),
  };
}

/** Made from the whole cache at a time, never change by change: changes of a relist come one after the other, and no state between two of them ever was. */
function setIn(cache: Cache<ObservedSecret>): ObservedSet {
  return observedSetOf(new Map(Array.from(cache.entries(), ([key, secret]) => [nameOf(key).name, secret])));
}

function blockerOf({ resource, state }: WatchStatus): string | undefined {
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

// The content of Secrets is read when a snapshot is written. Nothing of it stays in memory.

const data = z.record(z.string(), z.string()).nullish();
const pageSchema = z.object({
  metadata: z.object({ continue: z.string().optional() }),
  items: z.array(z.object({ metadata: z.object({ name: z.string() }), data })),
});

/** A page of Secrets is about a megabyte, and all that is held of a namespace's contents at any time. */
const pageSize = 200;
/** Up to so many Secrets are read one by one; more of them with the rest of their namespace, in pages. */
const maxSingleReads = 100;

/** Reads from the API server's latest state. Rejects as `Client` does. */
export function secretSource(client: Client, selection: Selection & { readonly namespace: string }, signal: AbortSignal): ReadSecrets {
  const { namespace } = selection;

  async function* readSingly(names: ReadonlySet<string>): ReturnType<ReadSecrets> {
    for (const name of names) {
      const secret = await client.get(Secret, { namespace, name }, signal);
      if (secret) yield asRead(name, secret.data ?? {});
    }
  }

  async function* readPages(names: ReadonlySet<string>): ReturnType<ReadSecrets> {
    const query = new URLSearchParams({ limit: String(pageSize) });
    if (selection.labels) query.set("labelSelector", selection.labels);
    if (selection.fields) query.set("fieldSelector", selection.fields);
    for (;;) {
      const page = pageSchema.parse(
        await client.request({ method: "GET", path: `${collectionPath(Secret, namespace)}?${query.toString()}` }, signal),
      );
      for (const item of page.items) if (names.has(item.metadata.name)) yield asRead(item.metadata.name, item.data ?? {});
      if (!page.metadata.continue) return;
      query.set("continue", page.metadata.continue);
    }
  }

  return (names) => (names.size > maxSingleReads ? readPages(names) : readSingly(names));
}

function asRead(name: string, content: Readonly<Record<string, string>>): ReadSecret {
  return { name, digest: contentDigestOf(content), files: filesOf(content) };
}
