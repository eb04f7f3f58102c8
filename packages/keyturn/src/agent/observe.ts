// What the agent sees of its scope: watches that never end, and a consistent look at what they hold.
import {
  type Cache,
  type Caches,
  type Client,
  type Clock,
  collectionPath,
  isApiError,
  type KubeObject,
  nameOf,
  Namespace,
  Secret,
  type Selection,
  type WatchStatus,
} from "@keyturn/runtime";
import * as z from "zod";
import {
  checksumObserver,
  type ObservedChecksum,
  type ObservedSecret,
  type ObservedSet,
  observedSetOf,
  secretObserver,
} from "../controllers/checksum/difference.ts";
import type { AnnouncementKey } from "../controllers/checksum/announcement.ts";
import { contentDigestOf, type IdRules } from "../controllers/checksum/ids.ts";
import { isWide, type ScopeChoice, scopesOf } from "../controllers/checksum/scopes.ts";
import { wideName } from "../controllers/checksum/members.ts";
import { ChecksumReader } from "./checksum-reader.ts";
import { Contact } from "./contact.ts";
import { filesOf } from "./secret-folder.ts";
import type { ReadSecret, ReadSecrets } from "./snapshots.ts";

/** A scope, watched. */
export interface ScopeView {
  /** Undefined until the first list is complete. Of one state of the API server. */
  secrets(): ObservedSet | undefined;
  checksums(): readonly ObservedChecksum[] | "unknown" | "missing";
  /** What keeps the agent from seeing changes at present, in words; undefined if nothing does. */
  blocker(): string | undefined;
  /** When the API server last answered, on the monotonic scale: what is older is not known to be so still. Undefined if it has not answered yet. */
  heardMs(): number | undefined;
}

/** What an agent serves. */
export interface ServedScope {
  /** The namespace in which the scope's checksum is published. */
  readonly home: string;
  readonly scopeChoice: ScopeChoice;
  /** Which Secrets count, in each of its namespaces. */
  readonly selection: Pick<Selection, "labels" | "fields">;
  readonly rules: IdRules;
  /** Given: announcements count only if one of them has signed. */
  readonly keys: readonly AnnouncementKey[] | undefined;
}

/** Watches a scope from now on; `onChange` is called after every change. */
export function viewScope(
  { caches, client, clock, signal }: { readonly caches: Caches; readonly client: Client; readonly clock: Clock; readonly signal: AbortSignal },
  scope: ServedScope,
  onChange: () => void,
): ScopeView {
  const { home, scopeChoice, selection, rules, keys } = scope;
  const keep = secretObserver(rules);
  const watched = new Map<string, Cache<ObservedSecret>>();
  let known: ObservedSet | undefined;
  const changed = (): void => {
    known = undefined;
    onChange();
  };
  const secretsIn = (namespace: string): Cache<ObservedSecret> => {
    const cache = watched.get(namespace) ?? caches.watch(Secret, { ...selection, namespace, keep });
    if (!watched.has(namespace)) {
      watched.set(namespace, cache);
      cache.subscribe(changed);
      // An empty first list is a change too: nothing was known before.
      void cache.whenSynced().then(changed);
    }
    return cache;
  };
  const namespaces = namespacesOf(caches, scope, changed);
  for (const namespace of namespaces.now() ?? []) secretsIn(namespace);
  const checksums = new ChecksumReader({ caches, client, clock, namespace: home, observe: checksumObserver(keys) }, onChange, signal);

  const contact = new Contact({ client, clock, namespace: home }, onChange, signal);

  const all = (): readonly Cache<ObservedSecret>[] => (namespaces.now() ?? []).map(secretsIn);
  return {
    secrets() {
      const caching = all();
      if (namespaces.now() === undefined || !caching.every(({ synced }) => synced)) return undefined;
      return (known ??= setIn(caching, isWide(scopeChoice.rule)));
    },
    checksums: () => checksums.now(),
    blocker: () =>
      namespaces.blocker() ??
      all()
        .map((cache) => blockerOf(caches.statusOf(cache)))
        .find((blocker) => blocker !== undefined) ??
      blockerOf(caches.statusOf(checksums.cache)) ??
      checksums.trouble ??
      contact.trouble,
    heardMs: () => contact.heardMs,
  };
}

/** The namespaces of a scope, as they come and go. */
interface ScopeNamespaces {
  /** Undefined while they are not known. */
  now(): readonly string[] | undefined;
  blocker(): string | undefined;
}

function namespacesOf(caches: Caches, { home, scopeChoice: { choice, rule } }: ServedScope, onChange: () => void): ScopeNamespaces {
  if (!isWide(rule)) return { now: () => [home], blocker: () => undefined };
  if (choice.type === "named") return { now: () => choice.names, blocker: () => undefined };
  const keep = ({
    metadata: { labels, deletionTimestamp },
  }: KubeObject): { readonly label: string | undefined; readonly isThereToStay: boolean } => ({
    label: rule.type === "label" ? labels?.[rule.key] : undefined,
    isThereToStay: deletionTimestamp === undefined,
  });
  const cache = caches.watch(Namespace, { only: "metadata", labels: choice.labels, keep });
  cache.subscribe(onChange);
  void cache.whenSynced().then(onChange);
  const now = (): readonly string[] | undefined => {
    if (!cache.synced) return undefined;
    // As for the operator: in one on its way out, which can take for ever, nothing can be published.
    const names = Array.from(cache.entries()).flatMap(([key, { isThereToStay }]) => (isThereToStay ? [nameOf(key).name] : []));
    const scopes = scopesOf(names, rule, (name) => cache.get(name)?.label);
    return scopes.find((scope) => scope.home === home)?.namespaces;
  };
  const moved = `no checksum of a scope is published in ${home} (any more): give the agent the namespace that comes first by name in its scope`;
  return { now, blocker: () => blockerOf(caches.statusOf(cache)) ?? (cache.synced && !now() ? moved : undefined) };
}

/** Made from the whole caches at a time, never change by change: changes of a relist come one after the other, and no state between two of them ever was. */
function setIn(caches: readonly Cache<ObservedSecret>[], isOfMany: boolean): ObservedSet {
  const secrets = new Map<string, ObservedSecret>();
  for (const cache of caches) {
    for (const [key, secret] of cache.entries()) {
      const { namespace = "", name } = nameOf(key);
      secrets.set(isOfMany ? wideName(namespace, name) : name, secret);
    }
  }
  return observedSetOf(secrets);
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
export function secretSource(client: Client, { home, scopeChoice, selection }: ServedScope, signal: AbortSignal): ReadSecrets {
  const isOfMany = isWide(scopeChoice.rule);
  return async function* read(names) {
    const byNamespace = Map.groupBy(names, (name) => (isOfMany ? name.slice(0, name.indexOf("/")) : home));
    for (const [namespace, here] of byNamespace) {
      const prefix = isOfMany ? `${namespace}/` : "";
      const plain = new Set(here.map((name) => name.slice(prefix.length)));
      for await (const secret of namespaceSource(client, { ...selection, namespace }, signal)(plain)) yield { ...secret, name: prefix + secret.name };
    }
  };
}

/** The same in one namespace. */
function namespaceSource(client: Client, selection: Selection & { readonly namespace: string }, signal: AbortSignal): ReadSecrets {
  const { namespace } = selection;

  async function* readSingly(names: ReadonlySet<string>): ReturnType<ReadSecrets> {
    for (const name of names) {
      const secret = await client.get(Secret, { namespace, name }, signal);
      if (secret) yield asRead(name, secret.data ?? {});
    }
  }

  async function* readPages(names: ReadonlySet<string>): ReturnType<ReadSecrets> {
    const awaited = new Set(names);
    for (let before = Infinity; awaited.size < before;) {
      before = awaited.size;
      try {
        for await (const secret of readPagesOnce(awaited)) {
          yield secret;
          awaited.delete(secret.name);
        }
        return;
      } catch (error) {
        // A slow disk takes longer than the API server remembers where the list was. What is written is written: go on with the rest.
        if (!isApiError(error, "Gone") || awaited.size === before) throw error;
      }
    }
  }

  async function* readPagesOnce(names: ReadonlySet<string>): ReturnType<ReadSecrets> {
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
