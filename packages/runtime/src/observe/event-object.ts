// The Event object for something that happened, within the limits that the API server enforces.
import type { Event } from "../client/core-kinds.ts";
import { apiVersionOf } from "../client/kind.ts";
import { formatMicroTime } from "../client/micro-time.ts";
import type { EventToRecord } from "./event-recorder.ts";
import { redactText } from "./redact.ts";

/** Limits of events.k8s.io/v1: https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/apis/core/validation/events.go */
const longestNoteBytes = 1024;
const longestWord = 128;
/** Leaves room for what makes a name unique in the 253 characters of an object's name. */
const longestNamePrefix = 200;

/** Who reports, when, and what makes the Event's name unique. */
export interface EventOrigin {
  /** A qualified name such as `keyturn.io/jwks`. */
  readonly reportingController: string;
  /** The pod, or whatever tells processes apart. */
  readonly reportingInstance: string;
  readonly nowMs: number;
  /** Lower-case letters and digits, different for each Event of one object. */
  readonly suffix: string;
}

/** The Event to create. Events about cluster-scoped objects live in the namespace `default`, as the API server demands. */
export function eventObject(
  { kind, object, type, reason, action = "Reconcile", message }: EventToRecord,
  { reportingController, reportingInstance, nowMs, suffix }: EventOrigin,
): Event {
  const { namespace, name, uid, resourceVersion } = object;
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { namespace: namespace ?? "default", name: `${namePrefix(name)}.${suffix}` },
    eventTime: formatMicroTime(nowMs),
    type,
    reason: reason.slice(0, longestWord),
    action: action.slice(0, longestWord),
    note: cutBytes(redactText(message), longestNoteBytes),
    regarding: {
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      ...(namespace !== undefined && { namespace }),
      name,
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
    reportingController,
    reportingInstance: reportingInstance.slice(0, longestWord),
  };
}

/** Names of objects such as roles may hold characters that names of Events may not. */
function namePrefix(name: string): string {
  const allowed = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]/g, "-")
    .slice(0, longestNamePrefix)
    .split(".")
    .map((label) => label.replaceAll(/^-+|-+$/g, ""))
    .filter((label) => label !== "")
    .join(".");
  return allowed === "" ? "object" : allowed;
}

function cutBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  const ellipsis = "…";
  let end = most - Buffer.byteLength(ellipsis);
  // A byte 10xxxxxx continues a character; cut before its first byte.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString() + ellipsis;
}
