import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { Expectations } from "./expectations.ts";
import type { Expectation } from "./injection/expectation.ts";

const known: Expectation = { type: "known", sidecar: undefined, webhooks: [] };
const failed: Expectation = { type: "failed", webhook: "w", message: "no answer" };
const refused: Expectation = { type: "refused", webhook: "w", message: "bad annotation" };

function store(answers: readonly (Expectation | Error)[]) {
  const clock = new VirtualClock();
  const notified: string[] = [];
  const expectations = new Expectations({ clock, onAnswer: (asker) => notified.push(asker) });
  let asked = 0;
  const ask = (): Promise<Expectation> => {
    const answer = answers[asked++] ?? known;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  return {
    clock,
    notified,
    expectations,
    get: (key: string, asker: string) => expectations.get(key, asker, ask),
    renew: (key: string, asker: string) => expectations.renew(key, asker, ask),
    asked: () => asked,
  };
}

test("one call serves everybody with the same question, and all are notified", async () => {
  const { get, notified, asked, clock } = store([known]);
  expect(get("k", "a").expectation.type).toBe("pending");
  expect(get("k", "b").expectation.type).toBe("pending");
  await clock.advance(0);
  expect(notified).toEqual(["a", "b"]);
  expect(get("k", "c")).toEqual({ expectation: known, againInMs: undefined });
  expect(asked()).toBe(1);
});

test.each([failed, refused])("$type is asked again after 5 s, 10 s, 20 s, and said to be so until then", async (answer) => {
  const { get, asked, clock } = store([answer, answer.type === "failed" ? new Error("boom") : answer, answer, known]);
  const waits: (number | undefined)[] = [];
  for (let round = 0; round < 3; round++) {
    get("k", "a");
    await clock.advance(0);
    const { expectation, againInMs } = get("k", "a");
    expect(expectation.type).toBe(answer.type);
    waits.push(againInMs);
    await clock.advance(againInMs ?? 0);
  }
  expect(waits).toEqual([5000, 10_000, 20_000]);
  expect(get("k", "a").expectation.type).toBe(answer.type);
  await clock.advance(0);
  expect(get("k", "a").expectation).toBe(known);
  expect(asked()).toBe(4);
});

test("after clear everything is asked anew", async () => {
  const { get, asked, expectations, clock } = store([known, known]);
  get("k", "a");
  await clock.advance(0);
  expectations.clear();
  expect(get("k", "a").expectation.type).toBe("pending");
  await clock.advance(0);
  expect(asked()).toBe(2);
});

test("what is known is asked again on request, and a failure then takes its place", async () => {
  const { get, renew, notified, clock } = store([known, failed, known, failed]);
  get("k", "a");
  await clock.advance(0);
  expect(await renew("k", "a")).toBe(failed);
  expect(notified).toEqual(["a", "a"]);
  expect(get("k", "a")).toEqual({ expectation: failed, againInMs: 5000 });
  expect(await renew("k", "a")).toBe(known);
  expect(get("k", "a").expectation).toBe(known);
  // An answer in between begins the waits anew.
  await renew("k", "a");
  expect(get("k", "a").againInMs).toBe(5000);
});

test("what a webhook said that no longer answers is asked anew, and nothing else", async () => {
  const of = (webhook: string): Expectation => ({ type: "known", sidecar: undefined, webhooks: [webhook] });
  const { get, notified, expectations, clock } = store([of("w"), of("v")]);
  get("k", "a");
  get("l", "b");
  await clock.advance(0);
  expectations.doubt("w", ["a", "b"]);
  expect(notified).toEqual(["a", "b", "a", "b"]);
  expect(get("l", "b").expectation).toEqual(of("v"));
  expect(get("k", "a").expectation.type).toBe("pending");
});

test("templates that change all the time fill no memory", async () => {
  const { get, asked, clock } = store([]);
  for (let index = 0; index < 60_000; index++) get(`k${index}`, "a");
  await clock.advance(60_000);
  expect(get("k59999", "a").expectation).toBe(known);
  const before = asked();
  get("k0", "a");
  await clock.advance(0);
  expect(asked()).toBe(before + 1);
});
