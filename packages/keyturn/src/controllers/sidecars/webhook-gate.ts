// Calls to one webhook, a few at a time: istiod is not flooded, and a slow webhook keeps only its own callers waiting.
import type { MutatingWebhook } from "@keyturn/runtime";
import { Semaphore } from "../../semaphore.ts";
import type { WebhookCaller } from "./injection/webhook-caller.ts";

/** Limits each server of webhooks to so many calls at a time. */
export function gateCalls(caller: WebhookCaller, atATime: number): WebhookCaller {
  const gates = new Map<string, Semaphore>();
  return {
    review(webhook, pod, signal) {
      const server = serverOf(webhook);
      const gate = gates.get(server) ?? new Semaphore(atATime);
      gates.set(server, gate);
      return gate.run(() => caller.review(webhook, pod, signal));
    },
    close: () => caller.close(),
  };
}

function serverOf({ clientConfig: { url, service } }: MutatingWebhook): string {
  return url ?? `${service?.namespace}/${service?.name}`;
}
