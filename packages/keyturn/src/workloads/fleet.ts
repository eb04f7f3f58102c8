// All workloads and what their inspections say, kept up to date for whoever wants it: the controller while it leads, the page and commands while somebody looks.
import {
  type Cache,
  type Client,
  type Clock,
  type ControllerScope,
  type DeepReadonly,
  earliest,
  type Kind,
  keyOf,
  type KubeObject,
  type Logger,
  type Metrics,
  nameOf,
  type ObjectKey,
  sleep,
  type Stored,
} from "@keyturn/runtime";
import type { Selects } from "../feature/pause-and-selection.ts";
import { type Admission, AdmissionFailures, askAdmission } from "./admission.ts";
import { RestartTimes } from "./annotations.ts";
import type { Finding, Inspector, InspectorDefinition } from "./inspector.ts";
import { joinedDigest, splitDigest } from "./restart-digest.ts";
import type { Remembered, RestartMemory } from "./restart-memory.ts";
import {
  type Candidate,
  type Inspection,
  isLasting,
  lastOf,
  type Limits,
  type ObservedFleet,
  type Records,
  type WorkloadId,
  workloadId,
  workloadRef,
} from "./rollout-plan.ts";
import { TakenOffRecords } from "./taken-off.ts";
import { restartableKinds, Rollout, servesRollouts, templateOf, type Workload } from "./workload.ts";

/** Which workloads there are. */
export interface FleetOptions {
  readonly inspectors: readonly InspectorDefinition[];
  /** Which workloads are looked at. */
  readonly selects: Selects;
  readonly skipNamespaces: readonly string[];
  readonly argoRollouts: boolean;
  /** Right before a restart, the API server makes a pod of the template without storing it. */
  readonly checkAdmission: boolean;
}

/** Where they are looked at from. */
interface FleetScope extends Pick<ControllerScope, "watch"> {
  readonly client: Client;
  readonly clock: Clock;
  readonly metrics?: Metrics;
  /** Aborts when nobody looks any more. */
  readonly signal: AbortSignal;
  readonly asker: "operator" | "viewer";
  /** The API server's time. Default: the clock's. */
  readonly now?: () => number;
  /** Default: it cannot be had. */
  readonly installationKey?: ControllerScope["installationKey"];
  /** Reads what the operator remembers of its restarts. Default: it is not known. */
  readonly recall?: (signal: AbortSignal) => Promise<RestartMemory | undefined>;
}

/** What is known of one id. */
interface Entry {
  readonly candidate: Candidate | undefined;
  /** On the monotonic scale: when it is to be inspected again although nothing has changed. */
  readonly againMs: number | undefined;
}

/** How often it is looked whether the CRD of Rollouts is there. */
const lookForRolloutsMs = 15_000;

/**
 * Guarantees: nothing is inspected, and so nobody asked, unless somebody calls `refresh`; what one caller has refreshed is not inspected again for another.
 * Listeners hear of every id that is due and of every candidate that has changed.
 */
export class Fleet {
  /** By the name of their kind. Rollouts join when their CRD is there. */
  readonly workloads = new Map<string, Cache<Workload>>();
  /** Whether the controller leads; the fleet of somebody who looks is always wanted. */
  isLed = false;
  /** What the operator has restarted, if that is known here. */
  memory: RestartMemory | undefined;
  readonly #scope: FleetScope;
  readonly #options: FleetOptions;
  readonly #inspectors: readonly { readonly name: string; readonly inspector: Inspector }[];
  readonly #entries = new Map<WorkloadId, Entry>();
  readonly #due = new Set<WorkloadId>();
  readonly #restartTimes = new RestartTimes();
  readonly #admissionFailures: AdmissionFailures;
  readonly #takenOff = new TakenOffRecords();
  readonly #dueListeners: ((id: WorkloadId) => void)[] = [];
  readonly #changeListeners: ((id: WorkloadId) => void)[] = [];

  /** Declares the watches. */
  constructor(scope: FleetScope, options: FleetOptions) {
    const { watch, client, clock, metrics, signal, asker } = scope;
    this.#scope = scope;
    this.#options = options;
    this.#admissionFailures = new AdmissionFailures(clock);
    for (const { kind } of restartableKinds.values()) if (kind !== Rollout) this.#watch(kind);
    const { workloads } = this;
    const ids = (namespace?: string): readonly WorkloadId[] => this.ids(namespace);
    const due = (changed: Iterable<WorkloadId>): void => this.#isDue(changed);
    this.#inspectors = options.inspectors.map((definition) => ({
      name: definition.name,
      inspector: definition.setUp({
        watch,
        client,
        clock,
        metrics,
        signal,
        asker,
        installationKey: () => scope.installationKey?.(signal) ?? Promise.resolve(undefined),
        isWanted: () => asker === "viewer" || this.isLed,
        workloads,
        ids,
        due,
      }),
    }));
  }

  /** Everything that is watched. */
  get caches(): readonly Cache<unknown>[] {
    return [...this.workloads.values(), ...this.#inspectors.flatMap(({ inspector }) => inspector.caches)];
  }

  /** The workload as the cache shows it, and of which version that is. */
  workload(id: WorkloadId): DeepReadonly<Workload> | undefined {
    const { kind, ...name } = workloadRef(id);
    return this.workloads.get(kind)?.get(keyOf(name));
  }

  resourceVersion(id: WorkloadId): string | undefined {
    const { kind, ...name } = workloadRef(id);
    return this.workloads.get(kind)?.identity(keyOf(name))?.resourceVersion;
  }

  uid(id: WorkloadId): string | undefined {
    const { kind, ...name } = workloadRef(id);
    return this.workloads.get(kind)?.identity(keyOf(name))?.uid ?? this.#inspectors.map(({ inspector }) => inspector.uidOf(id)).find(Boolean);
  }

  /** Everything that is inspected, of one namespace or all. */
  ids(namespace?: string): readonly WorkloadId[] {
    const ids = new Set<WorkloadId>();
    for (const cache of this.workloads.values()) for (const [key] of cache.entries(namespace)) ids.add(idOfWorkload(cache.kind, key));
    for (const { inspector } of this.#inspectors) for (const id of inspector.ids(namespace)) ids.add(id);
    return Array.from(ids);
  }

  /** Those that wait to be refreshed. */
  get due(): ReadonlySet<WorkloadId> {
    return this.#due;
  }

  /** Calls `listener` with every id that is due. */
  onDue(listener: (id: WorkloadId) => void): void {
    this.#dueListeners.push(listener);
  }

  /** Calls `listener` with every id whose candidate has changed. */
  onChange(listener: (id: WorkloadId) => void): void {
    this.#changeListeners.push(listener);
  }

  /** Inspects what the id names if that is due. Returns in how many ms it is due again without a change; undefined if only a change can make it so. */
  refresh(id: WorkloadId): number | undefined {
    const nowMs = this.#scope.clock.monotonic();
    const known = this.#entries.get(id);
    if (known && !this.#due.has(id) && (known.againMs === undefined || known.againMs > nowMs)) {
      return known.againMs === undefined ? undefined : known.againMs - nowMs;
    }
    this.#due.delete(id);
    const { candidate, againInMs, isGone } = this.#inspect(id);
    if (isGone) this.#entries.delete(id);
    else this.#entries.set(id, { candidate, againMs: againInMs === undefined ? undefined : nowMs + againInMs });
    if (JSON.stringify(known?.candidate) !== JSON.stringify(candidate)) for (const listener of this.#changeListeners) listener(id);
    return againInMs;
  }

  /** Whether there is something to plan for an id, as of the last refresh. */
  candidate(id: WorkloadId): Candidate | undefined {
    return this.#entries.get(id)?.candidate;
  }

  /** Everything that a plan is made from, as far as caches know. */
  observed({ restartDelayMs }: Pick<Limits, "restartDelayMs">, nowMs: number): ObservedFleet {
    const candidates = Array.from(this.#entries.values()).flatMap(({ candidate }) => candidate ?? []);
    const unlabelled = Array.from(this.memory ?? []).flatMap(([id, known]) => (this.#rollsUnlabelled(id, known) ? [id] : []));
    return {
      candidates,
      memory: this.memory,
      unlabelled,
      rolling: new Map(),
      lastRestartMs: restartDelayMs > 0 ? this.#lastRestartMs(nowMs) : undefined,
    };
  }

  /** Reads what the operator remembers, unless it is this process that leads and writes it. */
  async recall(): Promise<void> {
    const { recall, signal } = this.#scope;
    const memory = this.isLed ? undefined : await recall?.(signal);
    if (!this.isLed) this.memory = memory;
  }

  /** Refreshes everything, until nobody is being asked. */
  async refreshAll(): Promise<void> {
    for (const id of this.ids()) this.refresh(id);
    for (const { inspector } of this.#inspectors) await inspector.answered();
    for (const id of this.ids()) this.refresh(id);
  }

  /**
   * The candidate, inspected from what was read and asked just now, and outdated only if the API server admits a new pod of it, as far as it may be asked.
   * Undefined if there is nothing to plan any more.
   */
  async lookAgain(id: WorkloadId, { client, signal }: { readonly client: Client; readonly signal: AbortSignal }): Promise<Candidate | undefined> {
    const workload = this.workload(id);
    if (!workload || workload.deleting) return undefined;
    let asked: Promise<Admission> | undefined;
    const admission = (): Promise<Admission> => (asked ??= this.#askAdmission(workload, client, signal));
    const looks = this.#inspectors.map(async ({ name, inspector }) => {
      return { name, finding: await inspector.lookAgain(workload, { client, signal, admission }) };
    });
    const found = await Promise.all(looks);
    const wanted = combined(found).inspection;
    if (wanted.type !== "outdated") return this.#candidateOf(id, workload, found);
    const answer = await admission();
    this.#admissionFailures.keep(id, restartInput(wanted, workload), answer);
    // When it may be asked again is the next refresh's to say.
    this.#isDue([id]);
    const candidate = this.#candidateOf(id, workload, found);
    return candidate && { ...candidate, isUnchecked: answer.type === "unasked" };
  }

  /** Rollouts join if they are asked for and the API server serves them. True if there is nothing more to look for. */
  async lookForRollouts(): Promise<boolean> {
    if (!this.#options.argoRollouts || this.workloads.has(Rollout.kind)) return true;
    const { client, signal } = this.#scope;
    if (!(await servesRollouts(client, signal))) return false;
    this.#watch(Rollout);
    // What has been observed as a pod of nobody may be one of theirs.
    this.#isDue(this.ids());
    return true;
  }

  /** Looks for Rollouts again and again: whoever waited for a CRD that never comes would do nothing at all. Never rejects. */
  async followRollouts(log: Logger): Promise<void> {
    const { clock, signal } = this.#scope;
    while (!signal.aborted) {
      try {
        if (await this.lookForRollouts()) return;
      } catch (error) {
        // How the API server fares is logged by every watch; this is only asked again.
        log.debug({ err: error }, "could not find out whether Argo Rollouts are served");
      }
      // Rejects only when the signal aborts, which the loop sees by itself.
      await sleep(clock, lookForRolloutsMs, signal).catch(() => {});
    }
  }

  /** When the workload was last restarted; see `RestartTimes`. */
  restartedAtMs({ ref, restartedAt }: Pick<DeepReadonly<Workload>, "ref" | "restartedAt">): number | undefined {
    return this.#restartTimes.timeOf(workloadId(ref), restartedAt, this.#now());
  }

  #now(): number {
    return this.#scope.now?.() ?? this.#scope.clock.now();
  }

  #askAdmission(workload: DeepReadonly<Workload>, client: Client, signal: AbortSignal): Promise<Admission> {
    if (!this.#options.checkAdmission) return Promise.resolve({ type: "unasked", message: "the API server is not to be asked" });
    return askAdmission(client, { ...workload.source, template: templateOf(workload) }, signal);
  }

  #lastRestartMs(nowMs: number): number | undefined {
    const times = Array.from(this.workloads.values()).flatMap((cache) => Array.from(cache.entries(), ([, workload]) => this.restartedAtMs(workload)));
    // What was first observed after this run began is of no later time for it.
    return lastOf(
      times.map((time) => (time === undefined ? undefined : Math.min(time, nowMs))),
      nowMs,
    );
  }

  #rollsUnlabelled(id: WorkloadId, { uid, generation, isOver }: Remembered): boolean {
    const workload = isOver ? undefined : this.workload(id);
    if (!workload || workload.restarting || workload.source.uid !== uid) return false;
    return workload.generation > generation && workload.progress !== "finished";
  }

  #inspect(id: WorkloadId): { readonly candidate: Candidate | undefined; readonly againInMs: number | undefined; readonly isGone: boolean } {
    const isRestartable = this.workloads.has(workloadRef(id).kind);
    const workload = this.workload(id);
    if (isRestartable && !workload) {
      this.#restartTimes.forget(id);
      this.#admissionFailures.forget(id);
      this.#takenOff.forget(id);
    }
    if (isRestartable && (!workload || workload.deleting)) return { candidate: undefined, againInMs: undefined, isGone: !workload };
    // What we have begun is finished, whoever looks after it from then on.
    if (workload && !workload.restarting && !workload.isSelected) return { candidate: undefined, againInMs: undefined, isGone: false };
    const found = this.#inspectors.map(({ name, inspector }) => ({ name, finding: inspector.inspect(id, workload) }));
    const times = found.flatMap(({ finding }) => finding?.againInMs ?? []);
    const isGone = !workload && found.every(({ finding }) => !finding);
    const refusedForMs = this.#refusal(id, workload, combined(found).inspection)?.forMs ?? [];
    const candidate = this.#candidateOf(id, workload, found);
    const heldForMs = workload ? this.#takenOff.heldForMs(id, workload, candidate?.records, this.#scope.clock.monotonic()) : 0;
    const againInMs = earliest(times.concat(refusedForMs, heldForMs > 0 && candidate?.records ? heldForMs : []));
    return { candidate: heldForMs > 0 ? withheld(candidate, this.#now() + heldForMs) : candidate, againInMs, isGone };
  }

  #refusal(id: WorkloadId, workload: DeepReadonly<Workload> | undefined, inspection: Inspection) {
    return workload && inspection.type === "outdated" ? this.#admissionFailures.of(id, restartInput(inspection, workload)) : undefined;
  }

  #candidateOf(id: WorkloadId, workload: DeepReadonly<Workload> | undefined, found: readonly Found[]): Candidate | undefined {
    const wanted = combined(found, workload?.restartedFor);
    const inspection = this.#refusal(id, workload, wanted.inspection)?.failure ?? wanted.inspection;
    const records = workload && this.#recordsOf(workload, found);
    if (inspection.type === "current" && !workload?.restarting && !records) return undefined;
    const { progress = "finished", restarting = false, isStarted = true, generation = 0, paused, restartedFor } = workload ?? {};
    return {
      ref: workloadRef(id),
      uid: workload?.source.uid ?? "",
      generation,
      isStarted,
      inspection,
      by: wanted.by,
      progress,
      restarting,
      restartedAtMs: workload && this.restartedAtMs(workload),
      replaced: found.every(({ finding }) => finding?.replaced ?? true),
      blocker: workload?.blocker ?? wanted.blocker,
      paused,
      restartedFor,
      records,
      untried: found.flatMap(({ finding }) => finding?.untried ?? []),
      priority: Math.max(0, ...found.map(({ finding }) => finding?.priority ?? 0)),
    };
  }

  /** What is to be written of what its pods were started with, as far as it does not stand there. */
  #recordsOf({ records }: DeepReadonly<Workload>, found: readonly Found[]): Records | undefined {
    const annotations = new Map(this.#options.inspectors.map(({ name, recordAnnotation }) => [name, recordAnnotation]));
    const due = (record: (finding: Finding) => string | undefined): Readonly<Record<string, string>> =>
      Object.fromEntries(
        found.flatMap(({ name, finding }) => {
          const annotation = annotations.get(name);
          const text = finding && record(finding);
          return annotation === undefined || text === undefined || records[annotation] === text ? [] : [[annotation, text]];
        }),
      );
    const now = due(({ record }) => record);
    const withRestart = due(({ record, recordOfRestart = record }) => recordOfRestart);
    return Object.keys({ ...now, ...withRestart }).length > 0 ? { now, withRestart } : undefined;
  }

  #watch(kind: Kind): void {
    const { keep } = restartableKinds.get(kind.kind) ?? {};
    if (!keep) throw new Error(`there is no way to restart a ${kind.kind}`);
    const { selects, skipNamespaces, inspectors } = this.#options;
    const choices = {
      selects,
      reads: (name: string) => inspectors.some(({ reads }) => reads?.(name)),
      records: inspectors.flatMap(({ recordAnnotation }) => recordAnnotation ?? []),
    };
    const keepWorkload = (object: Stored<KubeObject>): Workload => keep(object, choices);
    const indexes: Record<string, (workload: DeepReadonly<Workload>) => readonly string[]> = Object.assign(
      {},
      ...inspectors.map((each) => each.indexes),
    );
    const cache = this.#scope.watch(kind, { ...fieldsOutside(skipNamespaces), keep: keepWorkload, indexes });
    this.workloads.set(kind.kind, cache);
    cache.subscribe(({ key }) => this.#isDue([idOfWorkload(kind, key)]));
  }

  #isDue(ids: Iterable<WorkloadId>): void {
    for (const id of ids) {
      this.#due.add(id);
      for (const listener of this.#dueListeners) listener(id);
    }
  }
}

interface Found {
  readonly name: string;
  readonly finding: Finding | undefined;
}

type Combined = Pick<Candidate, "by" | "inspection" | "blocker">;

/**
 * What several inspectors say of one workload. Where one of them does not know what a new pod would be, nobody's wish is followed, unless that lasts and others
 * would wait for ever. Then those are believed that want it restarted and may have it, and then those that may not.
 */
function combined(found: readonly Found[], restartedFor?: string): Combined {
  const findings = found.flatMap(({ name, finding }) => (finding ? [{ name, ...finding }] : []));
  const unknown = findings.filter(({ inspection }) => inspection.type === "unknown");
  const outdated = findings.flatMap(({ name, inspection, blocker }) => (inspection.type === "outdated" ? [{ name, inspection, blocker }] : []));
  const free = outdated.filter(({ blocker }) => blocker === undefined);
  const wanted = free.length > 0 ? free : outdated.slice(0, 1);
  const [first] = wanted;
  const open = unknown.find(({ inspection }) => !isLasting(inspection)) ?? (first ? undefined : unknown[0]);
  if (open) return { by: { [open.name]: "" }, inspection: open.inspection, blocker: undefined };
  if (!first) return { by: askedBy(findings, restartedFor), inspection: { type: "current" }, blocker: undefined };
  const { reason } = first.inspection;
  const message = wanted.map(({ inspection }) => inspection.message).join("; ");
  const digest = joinedDigest(wanted.map(({ inspection }) => inspection.digest));
  const by = Object.fromEntries(wanted.map(({ name, inspection }) => [name, inspection.reason]));
  return { by, inspection: { type: "outdated", reason, message, digest }, blocker: first.blocker };
}

/** The candidate whose records are not written until then, because somebody takes them off again and again. */
function withheld(candidate: Candidate | undefined, untilMs: number): Candidate | undefined {
  if (!candidate?.records) return candidate;
  const message = "somebody takes off what is written here about the start of its pods, again and again; it is written ever more seldom";
  return { ...candidate, recordHeld: { reason: "RecordTakenOff", message, untilMs } };
}

/** Those that the restart under way is for, by what their digests begin with; an operator with one inspector needs no such beginnings. */
function askedBy(findings: readonly { readonly name: string }[], restartedFor = ""): Combined["by"] {
  const names = findings.map(({ name }) => name);
  const asked = splitDigest(restartedFor).flatMap((digest) => names.find((name) => digest.startsWith(`${name}:`)) ?? names[0] ?? []);
  return Object.fromEntries(asked.map((name) => [name, ""]));
}

/** What a refusal is about: the restart for the same and of the same template would be refused again. */
export function restartInput({ digest }: { readonly digest: string }, { templateDigest }: Pick<Workload, "templateDigest">): string {
  return `${templateDigest} ${digest}`;
}

/** A selection of everything outside of these namespaces. */
export function fieldsOutside(namespaces: readonly string[], fields: readonly string[] = []): { readonly fields?: string } {
  const all = [...fields, ...namespaces.map((name) => `metadata.namespace!=${name}`)];
  return all.length > 0 ? { fields: all.join(",") } : {};
}

/** The id of a workload by its place in the cache of its kind. */
export function idOfWorkload(kind: Pick<Kind, "kind">, key: ObjectKey): WorkloadId {
  const { namespace = "", name } = nameOf(key);
  return workloadId({ kind: kind.kind, namespace, name });
}
