// Announces a state before it is written: its checksum is published first, so that a batch of changes is adopted as one.
import { Buffer } from "node:buffer";
import {
  type Client,
  formatDuration,
  type Ingress,
  type KubeObject,
  managedBySelector,
  Namespace,
  ownedWriter,
  ownershipOf,
  type Secret,
} from "@keyturn/runtime";
import { parseAllDocuments } from "yaml";
import * as z from "zod";
import { keyturn, type Query, type Report } from "../../feature/feature.ts";
import { type CheckSumObject, checkSumObject, isOfState, keepCheckSum, type PublishedCheckSum, timestampMsOf } from "./check-sum-object.ts";
import { differenceOf } from "./difference.ts";
import type { MemberKind } from "./member-kind.ts";
import { MemberSet, type Problem, type SetState } from "./members.ts";
import { historyOf } from "./plan.ts";

/** What is announced. */
export interface Batch {
  readonly manifests: readonly Manifest[];
  /** Objects that are going to be deleted, in the query's namespace. */
  readonly deletions: readonly { readonly kind: Manifest["kind"]; readonly name: string }[];
}

/** How it is announced. */
interface AnnounceOptions {
  readonly secrets: MemberKind<Secret>;
  readonly ingresses: MemberKind<Ingress>;
  readonly expiresInMs: number;
  /** Announces even if what is published is not what is there, or another announcement is open. */
  readonly force: boolean;
}

/** One checksum that was announced, or the state that is there already. */
interface Announced {
  readonly namespace: string;
  readonly kind: string;
  /** Undefined if nothing changes. */
  readonly checksum: CheckSumObject | undefined;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly problems: readonly Problem[];
}

/** Announces each namespace and kind that the batch concerns. Nothing is announced unless all can be. */
export async function announceBatch(query: Query, { manifests, deletions }: Batch, options: AnnounceOptions): Promise<Report> {
  const { secrets, ingresses } = options;
  const inNamespace = new Map<string, Manifest[]>();
  const of = (namespace: string): Manifest[] => inNamespace.get(namespace) ?? inNamespace.set(namespace, []).get(namespace) ?? [];
  for (const manifest of manifests) of(manifest.metadata.namespace ?? query.namespace).push(manifest);
  if (deletions.length > 0) of(query.namespace);
  const prepared = [];
  for (const [namespace, here] of inNamespace) {
    const isSecret = (manifest: Manifest): manifest is SecretManifest => manifest.kind === "Secret";
    const isIngress = (manifest: Manifest): manifest is IngressManifest => manifest.kind === "Ingress";
    const place = { query, namespace, options };
    const gone = (kind: Manifest["kind"]): readonly string[] =>
      namespace === query.namespace ? deletions.filter((deletion) => deletion.kind === kind).map(({ name }) => name) : [];
    prepared.push(
      await prepare({ ...place, memberKind: secrets, changes: here.filter(isSecret), applied: appliedSecret, deletions: gone("Secret") }),
    );
    prepared.push(
      await prepare({ ...place, memberKind: ingresses, changes: here.filter(isIngress), applied: appliedIngress, deletions: gone("Ingress") }),
    );
  }
  const announced = prepared.filter((each) => each !== undefined);
  if (announced.length === 0) throw new Error("there is no Secret and no Ingress to announce in what was given");
  for (const each of announced) if (each.checksum) await publish(query, each.checksum, each.kind === secrets.checksums.kind ? secrets : ingresses);
  return reportOf(announced, options);
}

/** What one namespace and kind come to: its objects as they are, with the batch laid over them. */
async function prepare<T extends KubeObject, M extends Manifest>(batch: {
  readonly query: Query;
  readonly namespace: string;
  readonly options: AnnounceOptions;
  readonly memberKind: MemberKind<T>;
  readonly changes: readonly M[];
  readonly applied: (manifest: M, live: T | undefined) => T;
  readonly deletions: readonly string[];
}): Promise<Announced | undefined> {
  const { query, namespace, options, memberKind, changes, applied, deletions } = batch;
  if (changes.length === 0 && deletions.length === 0) return undefined;
  const { items } = await query.client.list(memberKind.objects, { namespace, ...memberKind.selection }, query.signal);
  const live = new Map(items.map((object) => [object.metadata.name, object]));
  const members = new MemberSet();
  const put = (name: string, object: T): void => {
    const member = memberKind.selects(object) ? memberKind.member(object) : "other";
    if (member === "other") members.delete(name);
    else members.set(name, member);
  };
  for (const [name, object] of live) put(name, object);
  const before = members.state();
  const published = await publishedIn(query.client, { namespace, memberKind, signal: query.signal });
  if (!options.force) refuseUnlessQuiet(published, { state: before, namespace, kind: memberKind.checksums.kind, nowMs: query.nowMs });
  for (const manifest of changes) put(manifest.metadata.name, applied(manifest, live.get(manifest.metadata.name)));
  for (const name of deletions) members.delete(name);
  const intended = members.state();
  const { notPublished: added, notLive: removed } = differenceOf(intended.ids, before.ids);
  const isSame = intended.checksum === before.checksum && intended.sha256 === before.sha256;
  const timestampMs = Math.max(query.nowMs, ...published.map((checksum) => timestampMsOf(checksum) + 1000));
  const expiresMs = query.nowMs + options.expiresInMs;
  const checksum = isSame ? undefined : checkSumObject(intended, { namespace, prefix: memberKind.prefix, timestampMs, expiresMs });
  const named = new Set(changes.map(({ metadata: { name } }) => name));
  return { namespace, kind: memberKind.checksums.kind, checksum, added, removed, problems: members.problems().filter(({ name }) => named.has(name)) };
}

async function publishedIn<T extends KubeObject>(
  client: Client,
  { namespace, memberKind, signal }: { readonly namespace: string; readonly memberKind: MemberKind<T>; readonly signal: AbortSignal },
): Promise<readonly PublishedCheckSum[]> {
  const { items } = await client.list(memberKind.checksums, { namespace, labels: managedBySelector(keyturn) }, signal);
  const owner = { kind: Namespace, name: { name: namespace } };
  return items.filter((object) => ownershipOf(object, keyturn, owner) === "ours").map(keepCheckSum(memberKind.prefix));
}

/** An announcement is about a change to what is published. If that is not what is there, the two would not be told apart. */
function refuseUnlessQuiet(
  published: readonly PublishedCheckSum[],
  { state, namespace, kind, nowMs }: { readonly state: SetState; readonly namespace: string; readonly kind: string; readonly nowMs: number },
): void {
  const { awaited, settled } = historyOf(published, { state, maxAnnouncementMs: Infinity, nowMs });
  const where = `cannot announce a ${kind} in namespace ${namespace}`;
  if (awaited) {
    const { name } = awaited.checksum.object.metadata;
    throw new Error(`${where}: ${name} is announced and still awaited; wait for it, delete it, or announce in its place with --force`);
  }
  if (!settled[0] || isOfState(settled[0].checksum, state)) return;
  throw new Error(
    `${where}: the newest checksum is not of the objects as they are; wait until it is, see that the --checksum.* flags are the operator's, or announce all the same with --force`,
  );
}

async function publish<T extends KubeObject>(
  { client, signal }: Query,
  checksum: CheckSumObject,
  { checksums }: Pick<MemberKind<T>, "checksums">,
): Promise<void> {
  const owner = { kind: Namespace, name: { name: checksum.metadata.namespace ?? "" } };
  const writer = ownedWriter({ client, operator: keyturn, controller: "announce", owner, signal });
  await writer.apply(checksums, checksum, { seen: "absent" });
}

function reportOf(announced: readonly Announced[], { expiresInMs }: AnnounceOptions): Report {
  const lines = announced.flatMap(({ namespace, kind, checksum, added, removed, problems }) => [
    checksum
      ? `announced ${kind} ${checksum.metadata.name} in ${namespace}: ${checksum.spec.checksum} of ${checksum.spec.count}, ${added.length} new and ${removed.length} gone; write them within ${formatDuration(expiresInMs)}`
      : `nothing changes for ${kind} in ${namespace}, so nothing is announced`,
    ...problems.map(({ name, reason }) => `  ${name}: ${reason}`),
  ]);
  const data = announced.map(({ checksum, ...rest }) => ({
    ...rest,
    name: checksum?.metadata.name ?? null,
    checksum: checksum?.spec.checksum ?? null,
    count: checksum?.spec.count ?? null,
    expires: checksum?.spec.announcement?.expires ?? null,
  }));
  return { text: lines.join("\n"), data };
}

// Secrets and Ingresses as they stand in manifests, and what becomes of a live object when one is applied.

const texts = z.record(z.string(), z.string().nullable());
const metadata = z.object({ name: z.string().min(1), namespace: z.string().optional(), labels: texts.optional(), annotations: texts.optional() });
const secretSchema = z.object({
  kind: z.literal("Secret"),
  metadata,
  type: z.string().optional(),
  data: texts.optional(),
  stringData: texts.optional(),
});
const ingressSchema = z.object({ kind: z.literal("Ingress"), metadata, spec: z.object({ ingressClassName: z.string().optional() }).optional() });
const listSchema = z.object({ kind: z.string().endsWith("List"), items: z.array(z.unknown()) });
const kindSchema = z.object({ kind: z.string() });

/** An object that is going to be written. */
type Manifest = z.infer<typeof secretSchema> | z.infer<typeof ingressSchema>;
export type SecretManifest = Extract<Manifest, { kind: "Secret" }>;
type IngressManifest = Extract<Manifest, { kind: "Ingress" }>;

/** Reads the Secrets and Ingresses in YAML or JSON text; other kinds are passed over. Throws, without quoting the text, if it cannot be read. */
export function parseManifests(text: string, source: string): readonly Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors;
    // The parser's own message quotes the text, which may be a private key.
    if (error) throw new Error(`cannot read ${source}: it is not valid YAML at line ${error.linePos?.[0].line ?? "?"} (${error.code})`);
    return manifestsIn(document.toJS(), source);
  });
}

function manifestsIn(value: unknown, source: string): readonly Manifest[] {
  const list = listSchema.safeParse(value);
  if (list.success) return list.data.items.flatMap((item) => manifestsIn(item, source));
  const kind = kindSchema.safeParse(value).data?.kind;
  if (kind !== "Secret" && kind !== "Ingress") return [];
  const result = z.discriminatedUnion("kind", [secretSchema, ingressSchema]).safeParse(value);
  if (result.success) return [result.data];
  const places = result.error.issues.map(({ path }) => path.join(".")).join(", ");
  throw new Error(`cannot read ${source}: a ${kind} in it has no valid ${places}`);
}

/** The Secret as it will be: what the manifest does not mention stays as it is. */
export function appliedSecret({ metadata: { name, labels, annotations }, type, data, stringData }: SecretManifest, live: Secret | undefined): Secret {
  const encoded = Object.entries(stringData ?? {}).map(
    ([key, value]) => [key, value === null ? null : Buffer.from(value).toString("base64")] as const,
  );
  // As the API server sends it: without line breaks.
  const canonical = Object.entries(data ?? {}).map(
    ([key, value]) => [key, value === null ? null : Buffer.from(value, "base64").toString("base64")] as const,
  );
  const resultingType = live?.type ?? type;
  return {
    metadata: { name, labels: merged(live?.metadata.labels, labels), annotations: merged(live?.metadata.annotations, annotations) },
    ...(resultingType !== undefined && { type: resultingType }),
    data: merged(live?.data, Object.fromEntries([...canonical, ...encoded])),
  };
}

/** The Ingress as it will be, as far as a checksum looks at it. */
export function appliedIngress({ metadata: { name, labels, annotations }, spec }: IngressManifest, live: Ingress | undefined): Ingress {
  const ingressClassName = spec?.ingressClassName ?? live?.spec?.ingressClassName;
  return {
    metadata: { name, labels: merged(live?.metadata.labels, labels), annotations: merged(live?.metadata.annotations, annotations) },
    ...(ingressClassName !== undefined && { spec: { ingressClassName } }),
  };
}

/** `null` takes an entry out. */
function merged(
  live: Readonly<Record<string, string>> = {},
  changes: Readonly<Record<string, string | null>> = {},
): Readonly<Record<string, string>> {
  const entries = Object.entries({ ...live, ...changes });
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== null));
}
