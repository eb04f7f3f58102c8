// Whether pods have something new without a restart of ours: their template was changed once it was there, or all of them were made since.
import {
  type Client,
  collectionPath,
  ConfigMap,
  type DeepReadonly,
  isApiError,
  LruMap,
  objectPath,
  type ObjectKey,
  Pod,
  Secret,
} from "@keyturn/runtime";
import * as z from "zod";
import type { InspectorScope } from "../../workloads/inspector.ts";
import { livePhases } from "../../workloads/pod-selection.ts";
import { type WorkloadId, workloadRef } from "../../workloads/rollout-plan.ts";
import { restartableKinds, type Workload } from "../../workloads/workload.ts";
import { keepConfigMap, keepSecret, type KeptContent } from "./content.ts";

/** What sources held at a time. */
type Contents = ReadonlyMap<ObjectKey, KeptContent>;

interface Seen {
  readonly uid: string;
  /** Pods of any other template have these contents. Undefined: all have. */
  readonly templateDigest: string | undefined;
  readonly contents: Contents;
}

/** A source as the API server has it now. */
export interface ReadSource {
  readonly content: KeptContent;
  /** When it was last written, in whole seconds of the API server's clock; undefined if that is not known. */
  readonly writtenMs: number | undefined;
}

const maxKept = 20_000;
/** Where more workloads use a source, none of them is looked at when it changes. */
const maxLooks = 50;
/** Pods that were made in the same second, or by an API server whose clock is a second ahead, may have what was there before. */
const certainlyLaterMs = 2000;
const podsPage = 500;

/** Of all workloads, as far as it was looked at. */
export class ReplacedPods {
  readonly #scope: Pick<InspectorScope, "client" | "due" | "isWanted" | "signal">;
  readonly #changed = new LruMap<WorkloadId, Seen>(maxKept);
  readonly #made = new LruMap<WorkloadId, Seen>(maxKept);
  readonly #asked = new WeakMap<DeepReadonly<Workload>, string>();

  constructor(scope: Pick<InspectorScope, "client" | "due" | "isWanted" | "signal">) {
    this.#scope = scope;
  }

  /** True if the workload's pods have this, although they were not restarted for it. */
  have(id: WorkloadId, workload: DeepReadonly<Workload>, source: ObjectKey, content: KeptContent | undefined): boolean {
    // As long as old pods are there, their template may be put back.
    if (content === undefined || workload.progress === "rolling") return false;
    return [this.#changed.get(id), this.#made.get(id)].some(
      (seen) => seen?.uid === workload.source.uid && seen.templateDigest !== workload.templateDigest && seen.contents.get(source) === content,
    );
  }

  /** A source has just changed. What its users' template is now was not made for the new content; a later one is. */
  changed(users: readonly WorkloadId[], source: ObjectKey, content: KeptContent): void {
    if (users.length <= maxLooks && this.#scope.isWanted()) for (const id of users) void this.#lookAtTemplate(id, source, content).catch(() => {});
  }

  /** Finds out, without being waited for and once for each state of the workload, whether its pods were made since these were written. */
  ask(id: WorkloadId, workload: DeepReadonly<Workload>, read: () => Promise<ReadonlyMap<ObjectKey, ReadSource>>, input: string): void {
    if (this.#asked.get(workload) === input || !this.#scope.isWanted()) return;
    this.#asked.set(workload, input);
    const { client, signal } = this.#scope;
    const answer = read().then((sources) => this.areNew(id, workload, sources, { client, signal }));
    // What could not be asked is asked with the next change of the workload.
    answer.then((isNew) => isNew && this.#scope.due([id])).catch(() => {});
  }

  /** True if every pod was made after these were written, which is then known. */
  async areNew(
    id: WorkloadId,
    workload: DeepReadonly<Workload>,
    sources: ReadonlyMap<ObjectKey, ReadSource>,
    { client, signal }: { readonly client: Client; readonly signal: AbortSignal },
  ): Promise<boolean> {
    const times = Array.from(sources.values(), ({ writtenMs }) => writtenMs ?? Infinity);
    const latestMs = Math.max(...times);
    if (sources.size === 0 || latestMs === Infinity) return false;
    const firstMs = await firstPodMs(client, workload, signal);
    if (firstMs === undefined || firstMs - latestMs < certainlyLaterMs) return false;
    const contents = new Map(Array.from(sources, ([source, { content }]) => [source, content]));
    this.#made.set(id, { uid: workload.source.uid, templateDigest: undefined, contents });
    return true;
  }

  async #lookAtTemplate(id: WorkloadId, source: ObjectKey, content: KeptContent): Promise<void> {
    const { client, signal } = this.#scope;
    const { kind, ...name } = workloadRef(id);
    const restartable = restartableKinds.get(kind);
    const object = restartable && (await client.get(restartable.kind, name, signal));
    if (!object) return;
    const {
      templateDigest,
      source: { uid },
    } = restartable.keep(object);
    const known = this.#changed.get(id);
    const before = known?.uid === uid && known.templateDigest === templateDigest ? known.contents : [];
    this.#changed.set(id, { uid, templateDigest, contents: new Map([...before, [source, content]]) });
  }
}

const podSchema = z.object({
  metadata: z.object({
    creationTimestamp: z.string(),
    deletionTimestamp: z.string().optional(),
    ownerReferences: z.array(z.object({ uid: z.string() })).optional(),
  }),
});
const podsSchema = z.object({ metadata: z.object({ continue: z.string().optional() }), items: z.array(podSchema).nullish() });

/** When the oldest of its pods was made; undefined if that cannot be known. */
async function firstPodMs(
  client: Client,
  { ref, selector, source, desired }: DeepReadonly<Workload>,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (selector === "") return undefined;
  const query = new URLSearchParams({ labelSelector: selector, fieldSelector: livePhases, limit: String(podsPage) });
  const headers = { accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" };
  const path = `${collectionPath(Pod, ref.namespace)}?${query.toString()}`;
  const { metadata, items } = podsSchema.parse(await client.request({ method: "GET", path, headers }, signal));
  if (metadata.continue) return undefined;
  const isOwn = ({ metadata: { deletionTimestamp, ownerReferences = [] } }: z.infer<typeof podSchema>): boolean =>
    deletionTimestamp === undefined &&
    (restartableKinds.get(ref.kind)?.viaReplicaSets === true || ownerReferences.some(({ uid }) => uid === source.uid));
  const times = (items ?? []).filter(isOwn).map((pod) => Date.parse(pod.metadata.creationTimestamp));
  return times.length < Math.max(desired, 1) ? undefined : times.reduce((first, time) => Math.min(first, time));
}

const sourceSchema = z.object({
  metadata: z.object({
    annotations: z.record(z.string(), z.string()).optional(),
    managedFields: z.array(z.object({ time: z.string().optional() })).optional(),
  }),
  data: z.record(z.string(), z.string()).optional(),
  binaryData: z.record(z.string(), z.string()).optional(),
});

/** Reads a Secret or ConfigMap; undefined if there is none. */
export async function readSource(
  client: Client,
  { kind, namespace, name }: { readonly kind: "Secret" | "ConfigMap"; readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<ReadSource | undefined> {
  try {
    // As JSON: it alone tells when something was written.
    const path = objectPath(kind === "Secret" ? Secret : ConfigMap, { namespace, name });
    const { metadata, data, binaryData } = sourceSchema.parse(await client.request({ method: "GET", path }, signal));
    const stored = { metadata: { name, uid: "", resourceVersion: "", annotations: metadata.annotations ?? {} }, ...(data && { data }) };
    const content = kind === "Secret" ? keepSecret(stored) : keepConfigMap({ ...stored, ...(binaryData && { binaryData }) });
    const times = (metadata.managedFields ?? []).map(({ time = "" }) => Date.parse(time));
    return { content, writtenMs: times.length > 0 && !times.some(Number.isNaN) ? Math.max(...times) : undefined };
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  }
}
