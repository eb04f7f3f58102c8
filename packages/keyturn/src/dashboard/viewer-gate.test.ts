// Who is let in, and with what rights over time.
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, it } from "vitest";
import { RefusedRequest } from "./request-limits.ts";
import { rightsOverTime, SharedAnswers, ViewerGate } from "./viewer-gate.ts";
import { type AccessCheck, type AccessDecision, rightsOf, unlimitedRights } from "./viewer-rights.ts";

const few = rightsOf(new Map([["pods", "everywhere"]]));
const allowed = (rights = unlimitedRights): AccessDecision => ({ type: "allowed", viewer: { user: "u", rights } });
const unavailable: AccessDecision = { type: "unavailable", message: "not now" };

/** Answers one after the other. */
function answering(...decisions: readonly AccessDecision[]): AccessCheck & { readonly asked: () => number } {
  let asked = 0;
  return {
    access: "token",
    known: () => undefined,
    check: async () => decisions[asked++] ?? { type: "unknown" },
    mayList: async () => true,
    asked: () => asked,
  };
}

it("keeps to what was known last while nobody can be asked, and never goes back to more", async () => {
  const clock = new VirtualClock();
  const rights = rightsOverTime({ access: answering(allowed(few), unavailable, { type: "unknown" }, unavailable), clock }, "token", unlimitedRights);
  expect([await rights(), await rights(), await rights(), await rights()]).toEqual([few, few, undefined, undefined]);
});

it("does not wait for an API server that hangs: what was known last holds until the answer is there", async () => {
  const clock = new VirtualClock();
  const answer = Promise.withResolvers<AccessDecision>();
  const rights = rightsOverTime({ access: { ...answering(), check: () => answer.promise }, clock }, "token", few);
  const first = rights();
  await clock.advance(3_000);
  expect(await first).toBe(few);
  answer.resolve({ type: "unknown" });
  expect(await rights()).toBeUndefined();
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

it("lets those go on whose token was good, whoever else tries tokens from the same address", async () => {
  let isTakenBack = false;
  const access: AccessCheck = {
    ...answering(),
    known: (bearer) => (bearer === "good" ? { decision: isTakenBack ? { type: "unknown" } : allowed(), isFresh: false } : undefined),
    check: async (bearer) => (bearer === "good" && !isTakenBack ? allowed() : { type: "unknown" }),
  };
  const gate = new ViewerGate(access, { failures: { burst: 2, perMs: 1e-9 }, clock: new VirtualClock() });
  const enter = (bearer: string): Promise<unknown> =>
    gate.enter(bearer, "the ingress").then(
      ({ user }) => user,
      (error: unknown) => (error instanceof RefusedRequest ? error.refused.status : error),
    );
  expect([await enter("a"), await enter("b"), await enter("c"), await enter("good"), await enter("good")]).toEqual([401, 401, 429, "u", "u"]);
  isTakenBack = true;
  expect(await enter("good")).toBe(429);
});

// One question for many who ask.

it("asks once while an answer is on its way or fresh, and again after that or a failure", async () => {
  const clock = new VirtualClock();
  const answers = new SharedAnswers<number>({ clock, freshMs: 1000, most: 10 });
  let asked = 0;
  const get = (): Promise<number> => answers.get("key", async () => ++asked);
  expect(await Promise.all([get(), get()])).toEqual([1, 1]);
  await clock.advance(999);
  expect(await get()).toBe(1);
  await clock.advance(1);
  expect(await get()).toBe(2);
  const failing = (): Promise<number> => answers.get("other", () => Promise.reject(new Error("no")));
  await expect(failing()).rejects.toThrow("no");
  expect(await answers.get("other", async () => 7)).toBe(7);
});
