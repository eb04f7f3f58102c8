import type { MutatingWebhook } from "@keyturn/runtime";
import { expect, test } from "vitest";
import type { ReviewOutcome } from "./admission.ts";
import { gateCalls } from "./webhook.ts";

const webhook = (name: string): MutatingWebhook => ({
  name: "namespace.sidecar-injector.istio.io",
  clientConfig: { service: { namespace: "istio-system", name } },
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
});
const pod = { metadata: {} };
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a webhook that does not answer holds up its own callers only", async () => {
  const outcome: ReviewOutcome = { type: "failed", message: "" };
  const open: (() => void)[] = [];
  let slowCalls = 0;
  const caller = gateCalls(
    {
      review: async ({ clientConfig }) => {
        if (clientConfig.service?.name === "quick") return outcome;
        slowCalls++;
        await new Promise<void>((resolve) => open.push(resolve));
        return outcome;
      },
      close() {},
    },
    2,
  );
  const slow = Array.from({ length: 5 }, () => caller.review(webhook("slow"), pod));
  expect(await caller.review(webhook("quick"), pod)).toBe(outcome);
  expect(slowCalls).toBe(2);
  open.shift()?.();
  await settled();
  expect(slowCalls).toBe(3);
  while (open.length > 0) {
    open.shift()?.();
    await settled();
  }
  expect(await Promise.all(slow)).toHaveLength(5);
});
