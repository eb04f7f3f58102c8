// What people see of EventingAuths.
import { type Cell, type Health, type ObjectRecord, type ObjectRef, shellCommand } from "@keyturn/dashboard/contract";
import { type DeepReadonly, findCondition, keyOf, nameOf, resourceOf, type Stored } from "@keyturn/runtime";
import {
  againAtMs,
  cellAt,
  defined,
  factAt,
  factText,
  happened,
  type HealthReport,
  healthReportOf,
  inNamespace,
  keepShown,
  laidOut,
  objectReport,
  type ObjectStory,
  pauseCommands,
  readyHealth,
  type RecordBase,
  type Records,
  timeMs,
} from "../../feature/record.ts";
import { abandonAnnotation, EventingAuth } from "./api.ts";
import { eventingAuthFlags } from "./flags.ts";
import { issuedAtOf } from "./conditions.ts";
import type { ConditionReason } from "./reasons.ts";

/** A runtime with its application. */
interface Issued extends RecordBase {
  readonly application?: { readonly name: string; readonly id: string };
  /** Where the Secret is: in which cluster, under which name. */
  readonly target?: { readonly clusterId: string; readonly secret: string };
  /** When the credentials were issued. */
  readonly issuedMs?: number;
  /** Known only where the operator's flags are. */
  readonly nextRotationMs?: number;
  readonly deletingSinceMs?: number;
}

/** What passes by itself. */
const passing: ReadonlySet<string> = new Set<ConditionReason>(["InProgress", "TargetConnecting", "DeletionWaiting"]);

/** What is known of one object. `rotateAfterMs` is the operator's flag: 0 for never, or not known. */
export function issuedOf(
  object: DeepReadonly<Stored<EventingAuth>>,
  { rotateAfterMs, nowMs }: { readonly rotateAfterMs: number; readonly nowMs: number },
): { readonly issued: Issued; readonly againAtMs: number | undefined } {
  const { metadata, status } = object;
  const { iasApplication, secret } = status ?? {};
  const issued = issuedAtOf(status?.conditions);
  const nextRotationMs = issued?.exact && rotateAfterMs > 0 ? issued.atMs + rotateAfterMs : undefined;
  const report = objectReport(EventingAuth, object, {
    ...eventingAuthHealth(object),
    detail: [iasApplication ? `application ${iasApplication.uuid}` : "no application", ...(secret ? [`Secret ${secret.namespacedName}`] : [])].join(
      ", ",
    ),
    about: [metadata.name],
    next: nextRotationMs === undefined ? undefined : { atMs: nextRotationMs, what: "gets new credentials" },
  });
  const credentials: Issued = {
    id: issuedId(metadata),
    step: "eventing-auth",
    ...report,
    ...defined("createdMs", timeMs(metadata.creationTimestamp)),
    ...(iasApplication && { application: { name: iasApplication.name, id: iasApplication.uuid } }),
    ...(secret && { target: { clusterId: secret.clusterId, secret: secret.namespacedName } }),
    ...defined("issuedMs", issued?.atMs),
    ...defined("nextRotationMs", nextRotationMs),
    ...defined("deletingSinceMs", timeMs(metadata.deletionTimestamp)),
  };
  return { issued: credentials, againAtMs: againAtMs(report, nowMs) };
}

function eventingAuthHealth(object: DeepReadonly<Stored<EventingAuth>>): HealthReport {
  const verdict = readyHealth(object, ({ status, reason }): Health => {
    if (status === "True") return "healthy";
    return passing.has(reason) ? "progressing" : "failed";
  });
  if (verdict.health !== "healthy") return verdict;
  // Ready is the original's word for "made"; whether it works is known from these.
  const doubts = ["TargetReachable", "CredentialsValid"].map((type) => findCondition(object.status?.conditions, type));
  const doubt = doubts.find((condition) => condition?.status === "False" && !passing.has(condition.reason));
  return doubt ? healthReportOf(doubt, "degraded") : verdict;
}

function issuedId({ namespace = "", name }: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `issued/${namespace}/${name}`;
}

const none: Cell = { main: "none yet", look: "faint" };

export function issuedRecord(issued: Issued): ObjectRecord {
  const { ref, reason, application, target, issuedMs, nextRotationMs, deletingSinceMs, next } = issued;
  return laidOut(issued, {
    table: "issued",
    cells: {
      runtime: { main: ref.name, sub: ref.namespace, look: "link" },
      state: { main: deletingSinceMs === undefined ? reason : `deleting: ${reason}`, look: "health" },
      application: application ? { main: application.name, sub: application.id, subLook: "mono" } : none,
      secret: target ? { main: target.secret, sub: `cluster ${target.clusterId}` } : none,
      issued: { ...cellAt(issuedMs, "not known"), onPhone: "issued" },
      rotation: cellAt(nextRotationMs, "none planned"),
    },
    texts: [application?.name ?? "", application?.id ?? "", target?.secret ?? ""],
    facts: [
      ...factText("application", application && `${application.name} (${application.id})`),
      ...factText("Secret", target?.secret),
      ...factText("cluster", target?.clusterId),
      ...factAt("issued", issuedMs),
      ...factAt("next rotation", nextRotationMs),
      ...factAt("deleting since", deletingSinceMs),
      ...factAt("next", next?.atMs),
    ],
  });
}

export function issuedStory(ref: ObjectRef, { createdMs, issuedMs, deletingSinceMs, reason }: Issued): ObjectStory {
  const abandon = shellCommand`kubectl annotate ${ref.resource} ${ref.name} ${inNamespace(ref)} --overwrite ${abandonAnnotation}=target`;
  return {
    history: [
      ...happened(createdMs, "was created"),
      ...happened(issuedMs, "its credentials were issued"),
      ...happened(deletingSinceMs, "somebody asked for its deletion"),
    ],
    commands: [
      ...pauseCommands(ref, reason),
      ...(deletingSinceMs === undefined ? [] : [{ what: "let it go although its cluster does not answer", command: abandon }]),
    ],
  };
}

export const eventingAuthRecords: Records = {
  layout: {
    title: "Issue",
    about: "An application at the identity provider for each runtime, and its credentials in the runtime's cluster.",
    tables: [
      {
        id: "issued",
        title: "Issued credentials",
        empty: {
          title: "No runtime has credentials yet",
          text: "An EventingAuth is made for every Kyma, and can also be made by hand. Its application and its Secret follow.",
          command: "kubectl get kymas,eventingauths -A",
        },
        columns: [
          { id: "runtime", title: "Runtime", width: "minmax(190px, 1.6fr)" },
          { id: "state", title: "State", width: "minmax(130px, 1fr)" },
          { id: "application", title: "Application", width: "minmax(130px, 1.2fr)", phone: "hidden" },
          { id: "secret", title: "Secret", width: "minmax(130px, 1.2fr)", phone: "hidden" },
          { id: "issued", title: "Issued", width: "minmax(96px, 0.6fr)", phone: "line" },
          { id: "rotation", title: "Next rotation", width: "minmax(96px, 0.6fr)", phone: "hidden" },
        ],
      },
    ],
  },
  watch({ watch, touch, flag }) {
    const rotateAfterMs = flag(eventingAuthFlags.rotateAfter);
    const cache = watch(EventingAuth, { keep: keepShown });
    cache.subscribe(({ key }) => touch(issuedId(nameOf(key))));
    return {
      step: "eventing-auth",
      resources: [resourceOf(EventingAuth)],
      caches: () => [cache],
      ids: () => Array.from(cache.entries(), ([key]) => issuedId(nameOf(key))),
      make(id, nowMs) {
        const [, namespace = "", name = ""] = id.split("/");
        const object = cache.get(keyOf({ namespace, name }));
        if (!object) return undefined;
        const { issued, againAtMs: laterMs } = issuedOf(object, { rotateAfterMs, nowMs });
        return { record: issuedRecord(issued), againAtMs: laterMs, story: (ref) => issuedStory(ref, issued) };
      },
      find: (resource, name) => (resource === resourceOf(EventingAuth) ? { kind: EventingAuth, id: issuedId(name) } : undefined),
    };
  },
};
