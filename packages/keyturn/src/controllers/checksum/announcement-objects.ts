// Announcements as objects: with the API server's time, no larger than etcd takes, perhaps signed; published, and perhaps waited for.
import {
  type Client,
  formatDuration,
  managedBySelector,
  Namespace,
  ownedWriter,
  ownershipOf,
  sleep,
  type Stored,
  systemClock,
} from "@keyturn/runtime";
import { keyturn, type Query } from "../../feature/feature.ts";
import { type AnnouncedChange, type AnnouncementKey, isSigned, maxAheadMs, signed } from "./announcement.ts";
import {
  carriedPeaks,
  type CheckSumObject,
  checkSumObject,
  keepCheckSum,
  named,
  type PublishedCheckSum,
  rfc3339,
  statementOf,
  timestampMsOf,
  withPeaks,
} from "./check-sum-object.ts";
import { newestSettled } from "./history.ts";
import type { MemberKind } from "./member-kind.ts";
import type { SetState } from "./members.ts";
import { limits } from "../../limits.ts";

type ChecksumKind = Pick<MemberKind, "checksums" | "prefix">;

/** The checksums of a scope that are ours. */
interface PublishedHere {
  readonly published: readonly PublishedCheckSum[];
  /** The ids of the one that counts; undefined if there is none, or it does not list them. */
  readonly settledIds: readonly string[] | undefined;
}

export async function publishedIn({ client, signal }: Query, namespace: string, { checksums, prefix }: ChecksumKind): Promise<PublishedHere> {
  const { items } = await client.list(checksums, { namespace, labels: managedBySelector(keyturn) }, signal);
  const ours = items.filter((object) => isOwned(object, namespace));
  const published = ours.map(keepCheckSum(prefix));
  const settled = newestSettled(published)?.object.metadata.name;
  return { published, settledIds: ours.find(({ metadata }) => metadata.name === settled)?.spec.ids };
}

function isOwned(object: Stored<CheckSumObject>, namespace: string): boolean {
  return ownershipOf(object, keyturn, { kind: Namespace, name: { name: namespace } }) === "ours";
}

/** The API server's time: the announcer's clock may be anything. Whoever signs must agree with it, roughly. */
export async function serverTime(
  { client, signal, nowMs }: Query,
  {
    namespace,
    kind: { checksums, prefix },
    key,
  }: { readonly namespace: string; readonly kind: ChecksumKind; readonly key: AnnouncementKey | undefined },
): Promise<number> {
  const probe = { metadata: { namespace, name: `${prefix}-time` }, spec: { timestamp: rfc3339(0) } };
  const { metadata } = await client.create(checksums, probe, { dryRun: true }, signal);
  const serverMs = Date.parse(metadata.creationTimestamp ?? "");
  if (Number.isNaN(serverMs)) throw new Error("the API server does not say what time it is");
  if (key) refuseOddTime(serverMs, nowMs);
  return serverMs;
}

/** What is signed cannot be taken back: agents believe no earlier word afterwards. So no API server alone says what time a word is of. */
export function refuseOddTime(serverMs: number, ownMs: number): void {
  if (Math.abs(serverMs - ownMs) <= maxAheadMs) return;
  throw new Error(
    `the API server says that it is ${rfc3339(serverMs)}, and this machine that it is ${rfc3339(ownMs)}: sign when they agree, for agents believe no word that is older than the last`,
  );
}

/** What is announced. */
interface Announced {
  readonly namespace: string;
  readonly state: SetState;
  /** Of one announcement each. */
  readonly parts: readonly (readonly AnnouncedChange[])[];
  readonly published: readonly PublishedCheckSum[];
  readonly serverMs: number;
  /** By the announcer's own clock. */
  readonly ownMs: number;
  readonly expiresInMs: number;
  readonly key: AnnouncementKey | undefined;
}

/** Signed announcements stay for as long as they speak for a certificate, so that there can be as many of them as certificates: larger lists of ids are left out of them. */
const signedIdsBytes = 64 * 1024;

/** Clocks that are kept right agree so far. */
const maxSkewMs = 60_000;

/**
 * When the first word is said. Who does not sign goes by the API server. Who signs goes by the own clock and by what the own key has signed: an API server that
 * dates words, or shows checksums of times to come, could have the later of two words count as the earlier.
 */
function saidFirstMs({ published, serverMs, ownMs, key }: Announced): number {
  const afterwards = (checksum: PublishedCheckSum): number => timestampMsOf(checksum) + 1000;
  if (!key) return Math.max(serverMs, ...published.map(afterwards));
  const isOwn = (checksum: PublishedCheckSum): boolean => isSigned(statementOf(checksum), [key]);
  const firstMs = Math.max(
    ownMs,
    ...published.map((checksum) => (isOwn(checksum) ? afterwards(checksum) : Math.min(afterwards(checksum), ownMs + maxSkewMs))),
  );
  const later = published.find((checksum) => checksum.object.spec.announcement?.signature && afterwards(checksum) > firstMs);
  if (!later) return firstMs;
  const { metadata, spec } = later.object;
  throw new Error(
    `${metadata.name} was signed with another key at ${spec.timestamp}, and this machine's clock says ${rfc3339(ownMs)}: set the clocks right, for agents believe no word that is older than the last`,
  );
}

/** The announcements, in the order in which they are to be created. An announcement comes after what is published, and later ones after it. */
export function announcementObjects({ checksums, prefix }: ChecksumKind, announced: Announced): readonly CheckSumObject[] {
  const { namespace, state, parts, published, serverMs, expiresInMs, key } = announced;
  // A time that is far ahead would shut out all that follow.
  const ahead = published.find((checksum) => timestampMsOf(checksum) > serverMs + maxAheadMs);
  if (ahead) {
    const { metadata, spec } = ahead.object;
    throw new Error(
      `${checksums.kind} ${metadata.name} in ${namespace} says that it is of ${spec.timestamp}, which is still to come; delete it first`,
    );
  }
  const firstMs = saidFirstMs(announced);
  return parts.map((changes, index) => {
    const announcement = { expires: rfc3339(serverMs + expiresInMs), changes: [...changes] };
    if (JSON.stringify(changes).length > limits.idsBytes)
      throw new Error(`${changes.length} changes do not fit into one object: announce them in parts`);
    const { spec } = checkSumObject(state, { namespace, prefix, timestampMs: firstMs + 1000 * index, announcement });
    const fits = JSON.stringify(spec).length <= limits.idsBytes && (!key || JSON.stringify(spec.ids).length <= signedIdsBytes);
    const fitting = fits ? spec : withoutIds(spec);
    const saying = key ? { ...fitting, announcement: signed({ namespace, kind: checksums.kind, spec: fitting }, key) } : fitting;
    return withPeaks(named(namespace, prefix, saying), carriedPeaks(newestSettled(published), changes));
  });
}

function withoutIds(spec: CheckSumObject["spec"]): CheckSumObject["spec"] {
  const { ids: _, ...rest } = spec;
  return rest;
}

/** Creates an announcement. */
export async function publish({ client, signal }: Query, checksum: CheckSumObject, { checksums }: ChecksumKind): Promise<void> {
  const owner = { kind: Namespace, name: { name: checksum.metadata.namespace ?? "" } };
  const writer = ownedWriter({ client, operator: keyturn, controller: "announce", owner, signal });
  await writer.apply(checksums, checksum, { seen: "absent" });
}

/** How often is looked. */
const lookEveryMs = 1000;

/** Resolves when the operator has seen the announced state. Rejects if it is given up before, or the time is over. */
export async function waitUntilReached(
  { client, signal }: { readonly client: Client; readonly signal: AbortSignal },
  { kind, checksum, waitMs }: { readonly kind: ChecksumKind; readonly checksum: CheckSumObject; readonly waitMs: number },
): Promise<void> {
  const { namespace = "", name = "" } = checksum.metadata;
  for (let waitedMs = 0; waitedMs <= waitMs; waitedMs += lookEveryMs) {
    const object = await client.get(kind.checksums, { namespace, name }, signal);
    if (!object) throw new Error(`the announcement ${name} in ${namespace} was given up: its time was over, or somebody deleted it`);
    if (object.status?.reached !== undefined) return;
    await sleep(systemClock, lookEveryMs, signal);
  }
  throw new Error(`the announced state of ${name} in ${namespace} has not come within ${formatDuration(waitMs)}; it is still awaited`);
}
