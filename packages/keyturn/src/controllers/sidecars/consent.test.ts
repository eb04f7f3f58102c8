import { expect, test } from "vitest";
import { consentLabel, withoutConsent } from "./consent.ts";

const saying = (said: string | undefined) => (said === undefined ? {} : { [consentLabel]: said });

test.each([
  [undefined, undefined, undefined, "NotOptedIn"],
  [undefined, "enabled", undefined, undefined],
  [undefined, "disabled", "OptedOut", "OptedOut"],
  // The workload's own label decides.
  ["enabled", "disabled", undefined, undefined],
  ["disabled", "enabled", "OptedOut", "OptedOut"],
  ["perhaps", "enabled", undefined, "NotOptedIn"],
])("a workload that says %s in a namespace that says %s: %s, with opt-in %s", (own, namespace, byDefault, withOptIn) => {
  expect(withoutConsent(saying(own), saying(namespace), { optIn: false })).toBe(byDefault);
  expect(withoutConsent(saying(own), saying(namespace), { optIn: true })).toBe(withOptIn);
});
