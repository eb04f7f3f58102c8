// A notification: which Events people are notified of, and in which words.
import type { Event } from "@keyturn/runtime";
import type { Feature } from "../feature/feature.ts";
import type { NotificationFormat, NotifiedEvents } from "./webhook.ts";

/** What is sent. The names are part of the interface: receivers rely on them. */
export interface Notification {
  readonly time: string;
  /** As `--notify.cluster` says. */
  readonly cluster?: string;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** Such as `sidecars`. */
  readonly controller: string;
  readonly object: { readonly apiVersion: string; readonly kind: string; readonly namespace?: string; readonly name: string };
}

/** The notification of an Event, which has no secrets in it. */
export function notificationOf(event: Event, cluster?: string): Notification {
  const { apiVersion = "", kind = "", namespace, name = "" } = event.regarding ?? {};
  return {
    time: event.eventTime ?? "",
    ...(cluster && { cluster }),
    type: event.type === "Warning" ? "Warning" : "Normal",
    reason: event.reason,
    message: event.note ?? "",
    controller: event.reportingController.replace(/^.*\//, ""),
    object: { apiVersion, kind, ...(namespace !== undefined && { namespace }), name },
  };
}

/** The body of the request. `dropped` are notifications that were lost since the last one that was sent. */
export function notificationBody(notification: Notification, format: NotificationFormat, dropped: number): string {
  return JSON.stringify(format === "slack" ? { text: slackText(notification, dropped) } : { ...notification, dropped });
}

function slackText({ cluster, type, reason, message, object }: Notification, dropped: number): string {
  const where = [cluster, object.namespace].filter((part) => part !== undefined).join("/");
  const what = `${object.kind} ${object.name}${where === "" ? "" : ` in ${where}`}`;
  const lost = dropped > 0 ? [`(${dropped} notifications before this one were lost)`] : [];
  return [`${type === "Warning" ? ":warning: " : ""}*${escaped(reason)}* ${escaped(what)}`, escaped(message), ...lost].join("\n");
}

/** The three characters that mean something to Slack: https://docs.slack.dev/messaging/formatting-message-text#escaping */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Which Events people asked to be notified of. */
export function isNotable(events: NotifiedEvents, registry: readonly Feature[]): (event: Pick<Event, "type" | "reason">) => boolean {
  const rows = registry.flatMap(({ reasons }) => Object.entries(reasons));
  const notable = new Set(rows.filter(([, { notable: isSo }]) => isSo).map(([reason]) => reason));
  return ({ type, reason }) => events === "all" || type === "Warning" || (events === "life" && notable.has(reason));
}
