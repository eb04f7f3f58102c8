// `keyturn plan secret/db`: which workloads a change of one Secret or ConfigMap would restart, in which order, and which not. Without reading its content.
import {
  type Client,
  collectionPath,
  ConfigMap,
  type DeepReadonly,
  defineKind,
  isApiError,
  type Kind,
  type KubeObject,
  type PodTemplateSpec,
  Secret,
} from "@keyturn/runtime";
import * as z from "zod";
import type { Query, Report } from "../../feature/feature.ts";
import { UsageError } from "../../feature/flag.ts";
import { renderTable } from "../../text.ts";
import type { Inspector } from "../../workloads/inspector.ts";
import { dataOfRow, decisionInWords, type PlanScope, plannedOnce, unrememberedNote } from "../../workloads/plan-report.ts";
import { idOfWorkload } from "../../workloads/fleet.ts";
import { joinedDigest } from "../../workloads/restart-digest.ts";
import { templateOf, type Workload } from "../../workloads/workload.ts";
import { followedBy, type FollowOptions, priorityOf, sourceWords } from "./annotations.ts";
import { entryName } from "./content.ts";
import { type Reference, referencesOf, type SourceKind } from "./references.ts";

/** Known as far as what its pods use needs it. */
interface CronJob extends KubeObject {
  readonly spec?: { readonly jobTemplate?: { readonly spec?: { readonly template?: PodTemplateSpec } } };
}
const CronJob = defineKind<CronJob>({ group: "batch", version: "v1", kind: "CronJob", plural: "cronjobs", namespaced: true });

const kindsByWord: Readonly<Record<string, SourceKind>> = {
  secret: "Secret",
  secrets: "Secret",
  configmap: "ConfigMap",
  configmaps: "ConfigMap",
  secretproviderclass: "SecretProviderClass",
  secretproviderclasses: "SecretProviderClass",
};

/** What a subject may begin with. */
export const sourceKindWords: readonly string[] = Object.keys(kindsByWord);

/** What is asked about: of one kind, or a Secret and a ConfigMap of one name. */
interface Source {
  readonly kinds: readonly SourceKind[];
  readonly name: string;
}

function sourceOf(text: string): Source {
  const [first = "", second, ...more] = text.split("/");
  if (second === undefined) return { kinds: ["Secret", "ConfigMap"], name: first };
  const kind = kindsByWord[first.toLowerCase()];
  if (!kind || second === "" || more.length > 0)
    throw new UsageError(`"${text}" is neither a Secret nor a ConfigMap: ask for secret/NAME or configmap/NAME`);
  return { kinds: [kind], name: second };
}

/** One way in which a workload depends on the source. */
interface Use {
  readonly entry: string;
  readonly kind: SourceKind;
  /** Where the workload is restarted only for what is marked. */
  readonly onlyIfMatched: boolean;
  readonly words: string;
}

const usedAs: Readonly<Record<Reference["via"], string>> = {
  env: "read when a container starts",
  file: "mounted, and updated by kubelet",
  mount: "mounted by a secret store",
  pull: "to pull images",
};

interface UseOptions {
  readonly source: Source;
  readonly options: FollowOptions;
}

function isOf(source: Source): (each: Pick<Reference, "kind" | "name">) => boolean {
  return ({ kind, name }) => source.kinds.includes(kind) && source.name === name;
}

/** What a template has of the source, in words, and the ways in which that is used. */
function usesIn(template: DeepReadonly<PodTemplateSpec>, source: Source): readonly Pick<Use, "entry" | "words">[] {
  const references = referencesOf(template).filter(isOf(source));
  return references.map((reference) => ({ entry: entryName(reference), words: `${thingInWords(reference)}, ${usedAs[reference.via]}` }));
}

function thingInWords({ kind, name, key }: Pick<Reference, "kind" | "name" | "key">): string {
  const object = `${kind.toLowerCase()} ${name}`;
  return key === undefined ? object : `${key} of ${object}`;
}

/** How a template uses `secret/NAME` or `configmap/NAME`, in words; undefined if it does not. Throws a `UsageError` for anything else. */
export function usesOf(template: DeepReadonly<PodTemplateSpec>, text: string): string | undefined {
  const uses = usesIn(template, sourceOf(text.includes("/") ? text : `${text}/`));
  return uses.length === 0 ? undefined : inWords(uses.map(({ words }) => words));
}

/** What a workload would be restarted for. */
function followedUses({ annotations, ...workload }: DeepReadonly<Workload>, { source, options }: UseOptions): readonly Use[] {
  const template = templateOf(workload);
  const followed = followedBy(annotations, template, options).filter(isOf(source));
  const seen = usesIn(template, source);
  return followed.map((each) => {
    const entry = entryName(each);
    const words = seen.filter((use) => use.entry === entry).map((use) => use.words);
    return {
      entry,
      kind: each.kind,
      onlyIfMatched: each.onlyIfMatched,
      words: inWords(words.length > 0 ? words : [`${thingInWords(each)}, by name`]),
    };
  });
}

function inWords(all: readonly string[]): string {
  return [...new Set(all)].join("; ");
}

// What Secrets and ConfigMaps of the name say of themselves, from their metadata alone.

type Words = ReturnType<typeof sourceWords>;

interface SourceMetadata {
  /** By `Kind/namespace`; nothing for what is not there. */
  readonly words: ReadonlyMap<string, Words>;
  readonly notes: readonly string[];
}

const metadataItems = z.array(z.object({ metadata: z.object({ namespace: z.string(), annotations: z.record(z.string(), z.string()).optional() }) }));
/** The API server writes an empty list of metadata as `null`. */
const metadataSchema = z.object({ items: metadataItems.nullish() });

async function metadataOf({ client, signal }: Query, { kinds, name }: Source, place: { readonly namespace?: string }): Promise<SourceMetadata> {
  const words = new Map<string, Words>();
  const notes: string[] = [];
  for (const kind of [Secret, ConfigMap] as readonly Kind[]) {
    if (!kinds.some((each) => each === kind.kind)) continue;
    try {
      for (const { metadata } of await metadataNamed(client, { kind, name, place }, signal)) {
        words.set(`${kind.kind}/${metadata.namespace}`, sourceWords(metadata.annotations));
      }
    } catch (error) {
      if (!isApiError(error, "Forbidden")) throw error;
      const annotations = "reloader.stakater.com/ignore and reloader.stakater.com/match";
      notes.push(`you may not list ${kind.plural}, so what ${kind.kind.toLowerCase()} ${name} says by ${annotations} is not counted in`);
    }
  }
  return { words, notes };
}

async function metadataNamed(
  client: Client,
  { kind, name, place }: { readonly kind: Kind; readonly name: string; readonly place: { readonly namespace?: string } },
  signal: AbortSignal,
): Promise<z.infer<typeof metadataItems>> {
  const path = `${collectionPath(kind, place.namespace)}?fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
  const headers = { accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" };
  return metadataSchema.parse(await client.request({ method: "GET", path, headers }, signal)).items ?? [];
}

/** What is so of the source itself that keeps a workload from being restarted for it; undefined if nothing is, or if that is not known. */
function heldBack({ kind, onlyIfMatched }: Use, namespace: string, { words }: SourceMetadata): string | undefined {
  const said = words.get(`${kind}/${namespace}`);
  if (said?.isIgnored) return "reloader.stakater.com/ignore is on it";
  return said && onlyIfMatched && !said.isMatched ? "reloader.stakater.com/match is not on it" : undefined;
}

// The report.

/** Planned as if the source had just changed. */
export async function sourcePlanReport(
  query: Query,
  text: string,
  { options, ...scope }: PlanScope & { readonly options: FollowOptions },
): Promise<Report> {
  const source = sourceOf(text);
  const place = scope.allNamespaces ? {} : { namespace: query.namespace };
  const metadata = await metadataOf(query, source, place);
  const wanted = (workload: DeepReadonly<Workload>): readonly Use[] =>
    followedUses(workload, { source, options }).filter((use) => heldBack(use, workload.ref.namespace, metadata) === undefined);
  const inspectors = scope.fleet.inspectors.map((each) => Object.assign({}, each, { indexes: {}, setUp: () => asIfChanged(wanted) }));
  const { rows, due, fleet } = await plannedOnce(query, { ...scope, fleet: { ...scope.fleet, inspectors } });
  const planned = new Map(rows.filter(({ outdated }) => outdated !== undefined).map((row) => [row.id, row]));
  const inOrder = due.flatMap((id) => planned.get(id) ?? []);
  const isDue = new Set(due);
  const blocked = [...planned.values()].filter(({ id }) => !isDue.has(id));
  const left = Array.from(fleet.workloads.values(), (cache) =>
    Array.from(cache.entries()).flatMap(([key, workload]) => {
      const uses = usesIn(templateOf(workload), source);
      const held = followedUses(workload, { source, options });
      if (planned.has(idOfWorkload(cache.kind, key)) || uses.length + held.length === 0) return [];
      const [reason] = held.flatMap((use) => heldBack(use, workload.ref.namespace, metadata) ?? []);
      const why = inWords((held.length > 0 ? held : uses).map(({ words }) => words));
      return [
        {
          ref: workload.ref,
          reason: reason ?? (workload.isSelected ? "its annotations ask for no restart" : "the operator does not look after it"),
          why,
        },
      ];
    }),
  ).flat();
  const { cronJobs, notes } = await cronJobsUsing(query, source, place);
  const table = [
    ...inOrder.map(({ ref, decision, why }, index) => [ref, String(index + 1), decisionInWords(decision), why] as const),
    ...blocked.map(({ ref, decision, why }) => [ref, "", decisionInWords(decision), why] as const),
    ...left.map(({ ref, reason, why }) => [ref, "", `leave: ${reason}`, why] as const),
    ...cronJobs.map(({ ref, why }) => [ref, "", "nothing to restart: its next Job has it", why] as const),
  ];
  const title = `${source.kinds.map((kind) => kind.toLowerCase()).join(" or ")} ${source.name}`;
  const answer =
    table.length === 0
      ? `no workload uses ${title}`
      : renderTable(
          ["namespace", "order", "workload", "decision", "why"],
          table.map(([ref, order, decision, why]) => [ref.namespace, order, `${ref.kind.toLowerCase()}/${ref.name}`, decision, why]),
        );
  return {
    text: [answer, ...metadata.notes, ...notes, ...(planned.size > 0 ? unrememberedNote(fleet) : [])].join("\n\n"),
    data: {
      source: { kinds: source.kinds, name: source.name },
      remembered: fleet.memory !== undefined,
      workloads: [...inOrder.map((row, index) => Object.assign(dataOfRow(row), { order: index + 1 })), ...blocked.map(dataOfRow)],
      left: left.map(({ ref, reason, why }) => Object.assign({ reason, why }, ref)),
      cronJobs: cronJobs.map(({ ref, why }) => Object.assign({ why }, ref)),
      notes: [...metadata.notes, ...notes],
    },
  };
}

/** Finds everything outdated that wants to be restarted for the source, as it is right after a change of all of it. */
function asIfChanged(wanted: (workload: DeepReadonly<Workload>) => readonly Use[]): Inspector {
  const nothing = { replaced: true, blocker: undefined, againInMs: undefined };
  const inspect: Inspector["inspect"] = (_id, workload) => {
    const uses = workload ? wanted(workload) : [];
    if (!workload || uses.length === 0) return workload?.restarting ? { ...nothing, inspection: { type: "current" } } : undefined;
    const untried = uses.map(({ entry }) => `consumers:${entry}@next`);
    const message = inWords(uses.map(({ words }) => words));
    const inspection = { type: "outdated", reason: "CredentialChanged", message, digest: joinedDigest(untried) } as const;
    return { ...nothing, inspection, untried, priority: priorityOf(workload.annotations) };
  };
  return {
    caches: [],
    inspect,
    lookAgain: (workload) => Promise.resolve(inspect("", workload)),
    ids: () => [],
    uidOf: () => undefined,
    answered: () => Promise.resolve(),
  };
}

async function cronJobsUsing({ client, signal }: Query, source: Source, place: { readonly namespace?: string }) {
  try {
    const { items } = await client.list(CronJob, place, signal);
    const cronJobs = items.flatMap(({ metadata: { namespace = "", name }, spec }) => {
      const uses = usesIn(spec?.jobTemplate?.spec?.template ?? {}, source);
      const ref = { kind: CronJob.kind, namespace, name };
      return uses.length > 0 ? [{ ref, why: inWords(uses.map(({ words }) => words)) }] : [];
    });
    return { cronJobs, notes: [] };
  } catch (error) {
    if (!isApiError(error, "Forbidden")) throw error;
    return { cronJobs: [], notes: ["you may not list cronjobs.batch, so whether one uses it is not known"] };
  }
}
