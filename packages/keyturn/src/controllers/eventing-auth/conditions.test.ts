// What the status says, and that it says nothing new when nothing is new.
import type { Stored } from "@keyturn/runtime";
import { expect, test } from "vitest";
import type { EventingAuth, EventingAuthStatus } from "./api.ts";
import {
  applicationCreated,
  applicationFailed,
  type ConditionReports,
  issuedAtOf,
  reportOf,
  secretCreated,
  secretFailed,
  type StatusFacts,
  statusOf,
  targetReached,
  tokenIssued,
} from "./conditions.ts";

const at = (status?: EventingAuthStatus): Stored<EventingAuth> => ({
  metadata: { name: "runtime", uid: "u", resourceVersion: "1", generation: 2 },
  spec: {},
  ...(status && { status }),
});
function after(
  object: Stored<EventingAuth>,
  reports: ConditionReports,
  { nowMs, ...facts }: StatusFacts & { readonly nowMs: number },
): EventingAuthStatus {
  return statusOf(reportOf(object, reports, facts), object, nowMs);
}
const good = { application: applicationCreated, secret: secretCreated, target: targetReached };
const firstMs = Date.parse("2026-01-01T00:00:00Z");

test("ready once both of the predecessor's conditions are true, and not before", () => {
  expect(after(at(), { application: applicationCreated }, { nowMs: firstMs }).state).toBe("NotReady");
  expect(after(at(), good, { nowMs: firstMs }).state).toBe("Ready");
  expect(after(at(after(at(), good, { nowMs: firstMs })), { application: applicationFailed("no") }, { nowMs: firstMs }).state).toBe("NotReady");
});

test("what failed is said before what is only not there yet", () => {
  const { conditions } = after(at(), { secret: secretFailed('namespaces "kyma-system" not found') }, { nowMs: firstMs });
  expect(conditions?.find(({ type }) => type === "Ready")).toMatchObject({
    reason: "SecretCreationFailed",
    message: 'namespaces "kyma-system" not found',
  });
});

test("the same again is the same status, whenever it is said", () => {
  const before = after(at(), good, { nowMs: firstMs });
  expect(after(at(before), good, { nowMs: firstMs + 86_400_000 })).toEqual(before);
});

test("a change of one condition leaves the times of the others", () => {
  const before = after(at(), good, { nowMs: firstMs });
  const changed = after(at(before), { application: applicationFailed("failed to create api secret") }, { nowMs: firstMs + 60_000 });
  expect(changed.conditions?.map(({ type, lastTransitionTime }) => `${type} ${lastTransitionTime}`)).toEqual([
    "IASApplicationReady 2026-01-01T00:01:00Z",
    "SecretReady 2026-01-01T00:00:00Z",
    "TargetReachable 2026-01-01T00:00:00Z",
    "Ready 2026-01-01T00:01:00Z",
  ]);
});

test("facts stay", () => {
  const iasApplication = { name: "runtime", uuid: "1" };
  const before = after(at(), good, { nowMs: firstMs, iasApplication });
  expect(after(at(before), good, { nowMs: firstMs }).iasApplication).toEqual(iasApplication);
});

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

test("the date of credentials is exact once a token was issued, else since there is a Secret, else not known", () => {
  expect(issuedAtOf([written, checked])).toEqual({ atMs: issuedMs, exact: true });
  expect(issuedAtOf([written])).toEqual({ atMs: Date.UTC(2026, 0, 1), exact: false });
  expect(issuedAtOf([condition("CredentialsValid", "False", checked.message), condition("SecretReady", "False", "")])).toBeUndefined();
  expect(issuedAtOf(undefined)).toBeUndefined();
});
