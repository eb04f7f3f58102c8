// Notifications as a part of the operator's process. Only Events that this process writes are told, so that of several replicas the one that leads speaks.
import { type Companion, fileText } from "@keyturn/runtime";
import type { NotificationFormat, NotifiedEvents } from "./flags.ts";
import { Notifier } from "./notifier.ts";
import { Webhook } from "./webhook.ts";

/** What the flags say. */
export interface NotifyOptions {
  /** Undefined or empty: nobody is told. */
  readonly urlFile: string | undefined;
  readonly format: NotificationFormat;
  readonly events: NotifiedEvents;
  readonly cluster: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The companions that tell: one, or none. */
export function notifyCompanions({ urlFile, env, ...settings }: NotifyOptions): readonly Companion[] {
  if (!urlFile) return [];
  return [
    {
      start({ clock, random, log, metrics, onEvent }) {
        const webhook = new Webhook({ url: fileText(urlFile, "the URL of the webhook", clock), clock, env });
        const notifier = new Notifier({ ...settings, post: (body, signal) => webhook.post(body, signal), clock, random, log, metrics });
        onEvent((event) => notifier.notify(event));
        const parts = new AsyncDisposableStack();
        parts.use(webhook);
        parts.use(notifier);
        return Promise.resolve(parts);
      },
    },
  ];
}
