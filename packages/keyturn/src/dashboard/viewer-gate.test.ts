// Who is let in, and with what rights over time.
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, it } from "vitest";
import type { AccessCheck, AccessVerdict } from "./access-check.ts";
import { RefusedRequest } from "./refused-request.ts";
import { rightsOf, unlimitedRights } from "./rights.ts";
import { rightsOverTime, ViewerGate } from "./viewer-gate.ts";

const few = rightsOf(new Map([["pods", "everywhere"]]));
const allowed = (rights = unlimitedRights): AccessVerdict => ({ type: "allowed", viewer: { user: "u", rights } });
const unavailable: AccessVerdict = { type: "unavailable", message: "not now" };

/** Answers one after the other. */
function answering(...verdicts: readonly AccessVerdict[]): AccessCheck & { readonly asked: () => number } {
  let asked = 0;
  return {
    access: "token",
    known: () => undefined,
    check: async () => verdicts[asked++] ?? { type: "unknown" },
    mayList: async () => true,
    asked: () => asked,
  };
}

it("keeps to what was known last while nobody can be asked, and never goes back to more", async () => {
  const rights = rightsOverTime(answering(allowed(few), unavailable, { type: "unknown" }, unavailable), "token", unlimitedRights);
  expect([await rights(), await rights(), await rights(), await rights()]).toEqual([few, few, undefined, undefined]);
});

it("refuses everybody else in a way of its own, and asks nobody for those who fail too often", async () => {
  const access = answering({ type: "unknown" }, { type: "forbidden", message: "nothing to see" }, unavailable, allowed());
  const gate = new ViewerGate(access, { failures: { burst: 3, perMs: 0.001 }, clock: new VirtualClock() });
  const enter = (bearer: string, client = "a"): Promise<unknown> =>
    gate.enter(bearer, client).then(
      ({ user }) => user,
      (error: unknown) => (error instanceof RefusedRequest ? [error.refused.status, error.refused.reason] : error),
    );
  expect(await enter("")).toEqual([401, "token"]);
  expect([await enter("x"), await enter("x"), await enter("x"), await enter("x")]).toEqual([
    [401, "token"],
    [403, "rights"],
    [503, "unavailable"],
    "u",
  ]);
  expect([await enter("x"), await enter("x")]).toEqual([
    [401, "token"],
    [429, "rate"],
  ]);
  expect(access.asked()).toBe(5);
  expect(await enter("x", "b")).toEqual([401, "token"]);
});
