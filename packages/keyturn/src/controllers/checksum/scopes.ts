// What one checksum covers: a scope is what one fleet of gateways watches, as Tengine's flags say it. The simplest is a namespace.
import { type Cache, type Client, type ControllerScope, type KubeObject, Namespace, nameOf, type ObjectKey } from "@keyturn/runtime";
import type { FlagReader } from "../../feature/feature.ts";
import { UsageError } from "../../feature/flag.ts";
import { pausedAnnotation } from "../../feature/pause-and-selection.ts";
import { checksumFlags } from "./flags.ts";

/** Named namespaces, or those with certain labels. */
export type NamespaceChoice = { readonly type: "named"; readonly names: readonly string[] } | { readonly type: "labelled"; readonly labels: string };

/** How chosen namespaces are put together. */
export type ScopeRule =
  | { readonly type: "namespace" }
  | { readonly type: "all"; readonly publishIn: string }
  /** Namespaces with the same value of the label; those without it are scopes of their own. */
  | { readonly type: "label"; readonly key: string };

/** What checksums are published of. */
export interface ScopeChoice {
  readonly choice: NamespaceChoice;
  readonly rule: ScopeRule;
}

/** Reads the choice. Throws a `UsageError` for flags that do not go together. */
export function scopeChoiceOf(flag: FlagReader): ScopeChoice {
  const names = flag(checksumFlags.namespaces);
  const choice: NamespaceChoice = names.length > 0 ? { type: "named", names } : { type: "labelled", labels: flag(checksumFlags.namespaceSelector) };
  const [scope, publishIn] = [flag(checksumFlags.scope), flag(checksumFlags.publishIn)];
  if (scope === "namespace") return { choice, rule: { type: "namespace" } };
  if (scope === "all") {
    if (publishIn === undefined) throw new UsageError("--checksum.scope=all: say with --checksum.publish-in where the checksum is to be published");
    if (names.length > 0 && !names.includes(publishIn)) throw new UsageError("--checksum.publish-in: it must be one of --checksum.namespaces");
    return { choice, rule: { type: "all", publishIn } };
  }
  if (choice.type === "named")
    throw new UsageError("--checksum.scope: labels of namespaces need --checksum.namespace-selector, not --checksum.namespaces");
  return { choice, rule: { type: "label", key: scope } };
}

/** The same for whoever names the namespace in which the checksum is published, as agents do. */
export function scopeChoiceIn(home: string, flag: FlagReader): ScopeChoice {
  return scopeChoiceOf((each) => (each.name === checksumFlags.publishIn.name ? each.parse(home) : flag(each)));
}

/** The flags with which whoever asks about a scope says which one it is; none for a namespace alone. */
export function scopeArguments({ choice, rule }: ScopeChoice): readonly string[] {
  if (rule.type === "namespace") return [];
  return [
    rule.type === "all" ? `--checksum.scope=all` : `--checksum.scope=${rule.key}`,
    ...(rule.type === "all" ? [`--checksum.publish-in=${rule.publishIn}`] : []),
    choice.type === "named" ? `--checksum.namespaces=${choice.names.join(",")}` : `--checksum.namespace-selector=${choice.labels}`,
  ];
}

/** One scope. */
export interface Scope {
  /** The namespace in which its checksum is published. */
  readonly home: string;
  /** In the order of their names. */
  readonly namespaces: readonly string[];
}

/** Puts chosen namespaces together; `labels` are a namespace's own. A scope by label is published in the first of its namespaces by name. */
export function scopesOf(namespaces: Iterable<string>, rule: ScopeRule, labelOf: (namespace: string) => string | undefined): readonly Scope[] {
  const sorted = [...namespaces].toSorted();
  if (rule.type === "namespace") return sorted.map((name) => ({ home: name, namespaces: [name] }));
  if (rule.type === "all") return sorted.length > 0 ? [{ home: rule.publishIn, namespaces: sorted }] : [];
  const groups = Map.groupBy(sorted, (name) => {
    const value = labelOf(name);
    return value === undefined ? `namespace ${name}` : `label ${value}`;
  });
  return Array.from(groups.values(), (group) => ({ home: group[0] ?? "", namespaces: group }));
}

/** True if the names of objects alone do not say which they are: a checksum of such a scope has `namespace/name`. */
export function isWide({ type }: ScopeRule): boolean {
  return type !== "namespace";
}

/** The scope that a namespace belongs to, for whoever asks from outside. Rejects if it belongs to none. */
export async function scopeOfNamespace(client: Client, namespace: string, scopeChoice: ScopeChoice, signal: AbortSignal): Promise<Scope> {
  const found = (await scopesFor(client, scopeChoice, signal))(namespace);
  if (!found) throw new Error(`namespace ${namespace} belongs to no scope: see --checksum.namespace-selector and --checksum.scope`);
  return found;
}

/** Which scope each namespace belongs to at present; undefined for one that is not chosen. */
export async function scopesFor(
  client: Client,
  { choice, rule }: ScopeChoice,
  signal: AbortSignal,
): Promise<(namespace: string) => Scope | undefined> {
  if (rule.type === "namespace") return (namespace) => ({ home: namespace, namespaces: [namespace] });
  const items = choice.type === "named" ? [] : (await client.list(Namespace, { labels: choice.labels }, signal)).items;
  const staying = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const labels = new Map(staying.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
  const chosen = choice.type === "named" ? choice.names : labels.keys();
  const scopes = scopesOf(chosen, rule, (name) => (rule.type === "label" ? labels.get(name)?.[rule.key] : undefined));
  return (namespace) => scopes.find(({ home, namespaces }) => home === namespace || namespaces.includes(namespace));
}

/** Scopes at work. */
export interface Scopes {
  isChosen(namespace: string): boolean;
  /** Where the checksum of a namespace's scope is published; the namespace itself if it is not chosen. */
  homeOf(namespace: string): string;
  /** The namespaces of the scope that is published there; none if there is no such scope. */
  namespacesOf(home: string): readonly string[];
  /** The annotation that pauses a namespace, as it was written. Named namespaces are not looked at themselves. */
  pausedBy(namespace: string): string | undefined;
  /** What the choice rests on; undefined if nothing has to be known for it. */
  readonly restsOn: Cache<unknown> | undefined;
}

/** What is kept of a namespace. In one that is on its way out nothing can be created any more. */
interface NamespaceState {
  readonly isThereToStay: boolean;
  readonly paused: string | undefined;
  readonly label: string | undefined;
}

/** Follows the choice; a scope whose namespaces change is looked at at once. `isSkipped`: namespaces that are left as they are, whatever the choice says. */
export function watchScopes(
  { watch, trigger }: Pick<ControllerScope, "watch" | "trigger">,
  { choice, rule }: ScopeChoice,
  isSkipped: (namespace: string) => boolean,
): Scopes {
  if (choice.type === "named") {
    const scopes = scopesOf(
      choice.names.filter((name) => !isSkipped(name)),
      rule,
      () => undefined,
    );
    return scopesAtWork(() => scopes, { pausedBy: () => undefined, restsOn: undefined });
  }
  const keep = ({ metadata: { deletionTimestamp, annotations, labels } }: KubeObject): NamespaceState => ({
    isThereToStay: deletionTimestamp === undefined,
    paused: annotations?.[pausedAnnotation],
    label: rule.type === "label" ? labels?.[rule.key] : undefined,
  });
  const labelled = watch(Namespace, { only: "metadata", labels: choice.labels, keep });
  let known: readonly Scope[] | undefined;
  labelled.subscribe(() => (known = undefined));
  const current = (): readonly Scope[] => {
    const chosen = Array.from(labelled.entries(), ([key, { isThereToStay }]) =>
      isThereToStay && !isSkipped(nameOf(key).name) ? [nameOf(key).name] : [],
    );
    return (known ??= scopesOf(chosen.flat(), rule, (name) => labelled.get(name)?.label));
  };
  // A namespace that comes, goes or moves concerns the scope that it leaves and the one that it joins, and one that is published elsewhere for it.
  let homes: readonly string[] = [];
  trigger(labelled, ({ key }) => {
    if (rule.type === "namespace") return [key];
    const before = homes;
    homes = current().map(({ home }) => home);
    return [...new Set([key, ...before, ...homes])];
  });
  return scopesAtWork(current, { pausedBy: (namespace: ObjectKey) => labelled.get(namespace)?.paused, restsOn: labelled });
}

function scopesAtWork(current: () => readonly Scope[], rest: Pick<Scopes, "pausedBy" | "restsOn">): Scopes {
  let seen: readonly Scope[] | undefined;
  let [homes, members] = [new Map<string, string>(), new Map<string, readonly string[]>()];
  const refresh = (): void => {
    const scopes = current();
    if (scopes === seen) return;
    seen = scopes;
    homes = new Map(scopes.flatMap(({ home, namespaces }) => namespaces.map((namespace) => [namespace, home])));
    members = new Map(scopes.map(({ home, namespaces }) => [home, namespaces]));
  };
  return {
    ...rest,
    isChosen(namespace) {
      refresh();
      return homes.has(namespace);
    },
    homeOf(namespace) {
      refresh();
      return homes.get(namespace) ?? namespace;
    },
    namespacesOf(home) {
      refresh();
      return members.get(home) ?? [];
    },
  };
}

/** Where to watch: in each of the named namespaces, or wherever the operator works. */
export function placesOf(choice: NamespaceChoice): readonly { readonly namespace?: string }[] {
  return choice.type === "named" ? choice.names.map((namespace) => ({ namespace })) : [{}];
}
