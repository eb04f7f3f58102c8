// The date of credentials, read back from what the plan says about them.
import { expect, it } from "vitest";
import { issuedAtOf } from "./observe.ts";
import { tokenIssued } from "./plan.ts";

const issuedMs = Date.UTC(2026, 5, 1, 12, 30, 15, 250);
const condition = (type: string, status: "True" | "False", message: string) => ({
  type,
  status,
  reason: "R",
  message,
  lastTransitionTime: "2026-01-01T00:00:00Z",
});
const checked = condition("CredentialsValid", "True", tokenIssued(issuedMs).message);
const written = condition("SecretReady", "True", "");

it("is exact once a token was issued, else since there is a Secret, else not known", () => {
  expect(issuedAtOf([written, checked])).toEqual({ atMs: issuedMs, exact: true });
  expect(issuedAtOf([written])).toEqual({ atMs: Date.UTC(2026, 0, 1), exact: false });
  expect(issuedAtOf([condition("CredentialsValid", "False", checked.message), condition("SecretReady", "False", "")])).toBeUndefined();
  expect(issuedAtOf(undefined)).toBeUndefined();
});
