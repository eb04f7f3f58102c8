// `keyturn diff`: how the Secrets of a namespace differ from their published checksum.
import { Secret } from "@keyturn/runtime";
import { SecretCheckSum } from "../controllers/checksum/api.ts";
import type { IdRules } from "../controllers/checksum/object-id.ts";
import type { Query, Report } from "../controllers/report.ts";
import { isOfState, newestFirst, type ObservedChecksum, observedChecksum } from "./observed-checksum.ts";
import { secretObserver } from "./observed-secret.ts";
import { differencesTo, leftOutOf, type ObservedSet, observedSetOf } from "./observed-set.ts";
import { differenceInWords, type SecretDifference } from "./set-difference.ts";

/** Which Secrets count, the same as for the control plane. */
export interface DiffOptions {
  readonly rules: IdRules;
  readonly labels: string | undefined;
  readonly types: "tls" | "all";
  /** Every namespace that has a checksum, instead of the query's one. */
  readonly allNamespaces: boolean;
}

/** What is found in one namespace. */
export interface NamespaceDiff {
  readonly namespace: string;
  readonly secrets: number;
  /** The newest checksum object; undefined if there is none. */
  readonly checksum: string | undefined;
  /** Until when the state of that object is awaited, if it was announced ahead. */
  readonly announcedUntil: string | undefined;
  /** The newest object that the Secrets match; undefined if there is none. */
  readonly matches: string | undefined;
  /** Against the newest object. */
  readonly differences: readonly SecretDifference[];
  readonly leftOut: readonly { readonly secret: string; readonly reason: string }[];
}

/** Compares, by the rules that control plane and agents share. */
export async function diffReport(query: Query, options: DiffOptions): Promise<Report> {
  const diffs = await namespaceDiffs(query, options);
  return { text: diffs.length === 0 ? "no namespace has a checksum" : diffs.map(inWords).join("\n"), data: diffs };
}

/** The same as data: one for each namespace that was asked about. */
export async function namespaceDiffs(
  { client, namespace, signal }: Pick<Query, "client" | "namespace" | "signal">,
  options: DiffOptions,
): Promise<readonly NamespaceDiff[]> {
  const { items } = await client.list(SecretCheckSum, options.allNamespaces ? {} : { namespace }, signal);
  const byNamespace = Map.groupBy(items, (object) => object.metadata.namespace ?? "");
  if (!options.allNamespaces && !byNamespace.has(namespace)) byNamespace.set(namespace, []);
  const observe = secretObserver(options.rules);
  const diffs: NamespaceDiff[] = [];
  for (const [name, objects] of [...byNamespace].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const selection = {
      namespace: name,
      ...(options.labels && { labels: options.labels }),
      ...(options.types === "tls" && { fields: "type=kubernetes.io/tls" }),
    };
    const secrets = await client.list(Secret, selection, signal);
    const set = observedSetOf(new Map(secrets.items.map((secret) => [secret.metadata.name, observe(secret)])));
    diffs.push(diffOf(name, set, newestFirst(objects.map(observedChecksum))));
  }
  return diffs;
}

function diffOf(namespace: string, set: ObservedSet, objects: readonly ObservedChecksum[]): NamespaceDiff {
  const [newest] = objects;
  const isMatch = newest !== undefined && isOfState(newest, set.state);
  const { announcedUntilMs } = newest ?? {};
  return {
    namespace,
    secrets: set.state.ids.length,
    checksum: newest?.name,
    announcedUntil: announcedUntilMs === undefined ? undefined : new Date(announcedUntilMs).toISOString(),
    matches: objects.find((object) => isOfState(object, set.state))?.name,
    differences: isMatch || !newest?.ids ? [] : differencesTo(newest.ids, set),
    leftOut: Array.from(leftOutOf(set), ([secret, reason]) => ({ secret, reason })),
  };
}

function inWords(diff: NamespaceDiff): string {
  const { differences, leftOut } = diff;
  return [
    `namespace ${diff.namespace}: ${verdict(diff)}`,
    ...differences.map((difference) => `  ${difference.direction.padEnd(10)}  ${differenceInWords(difference)}`),
    ...leftOut.map(({ secret, reason }) => `  ${"left out".padEnd(10)}  ${secret} does not count: ${reason}`),
  ].join("\n");
}

function verdict({ secrets, checksum, announcedUntil, matches, differences }: NamespaceDiff): string {
  if (checksum === undefined) return `${secrets} Secrets count, and there is no checksum`;
  if (matches === checksum) return `${secrets} Secrets, exactly as checksum ${checksum} says`;
  const awaited = announcedUntil === undefined ? "" : `, which is announced and awaited until ${announcedUntil}`;
  const count = differences.length > 0 ? `${differences.length} Secrets differ` : "the Secrets differ in what is not listed";
  return `${count} from checksum ${checksum}${awaited}${matches === undefined ? "" : `; they match ${matches}, which is older`}`;
}
