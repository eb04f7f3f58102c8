// The rules of rotation one by one, and a whole rotation from T0 to T3.
import { describe, expect, test } from "vitest";
import { advanceHistory, type HistoryRules, type PendingKey, type PublishedKey, type Source } from "./key-history.ts";
import type { KeyEntry, PublicJwk } from "./jwk.ts";

const hourMs = 3_600_000;
const t0 = Date.UTC(2026, 0, 1);
const ttlMs = 720 * hourMs;
const rolling: HistoryRules = { oldKeys: { type: "keep", ttlMs }, revoked: new Set(), rooms: [] };
const immediate: HistoryRules = { ...rolling, oldKeys: { type: "replace" } };

/** History is about kids and certificates; what the key is made of does not matter to it. */
function jwk(kid: string, certificate = "1"): PublicJwk {
  return { kty: "OKP", crv: "Ed25519", x: "x", use: "sig", alg: "EdDSA", kid, x5c: ["c"], x5t: "t", "x5t#S256": `${kid}-${certificate}` };
}
const entry = (kid: string, certificate?: string): KeyEntry => ({ jwk: jwk(kid, certificate), thumbprint: kid, notAfterMs: t0 + 2 * ttlMs });
const holds = (name: string, kid: string, certificate?: string): Source => ({ name, keys: [entry(kid, certificate)], passed: [] });
const unavailable = (name: string): Source => ({ name, keys: undefined, passed: [] });
const after = (source: Source, ...kids: readonly string[]): Source => ({ ...source, passed: kids.map((kid) => entry(kid)) });

/** Plays steps one after the other from nothing. */
function play(...steps: readonly { at: number; sources: readonly Source[]; rules?: Partial<HistoryRules>; pending?: readonly PendingKey[] }[]) {
  let published: readonly PublishedKey[] = [];
  return steps.map(({ at, sources, rules = rolling, pending = [] }) => {
    const step = advanceHistory({ keys: published, pending }, { sources, rules: { ...rolling, ...rules }, nowMs: at });
    published = step.keys;
    return {
      keys: step.keys.map(({ jwk: { kid }, standing }) => `${kid} ${standing.state}`),
      changes: step.changes.map(({ type, kid }) => `${type} ${kid}`),
      nextAtMs: step.nextAtMs,
      full: step.keys,
    };
  });
}

describe("a whole rotation", () => {
  test("T0 old key, T1 both, T2 both, T3 new key alone, at that very moment", () => {
    const t1 = t0 + 24 * hourMs;
    const t3 = t1 + ttlMs;
    const [first, second, third, fourth] = play(
      { at: t0, sources: [holds("tls", "key1")] },
      { at: t1, sources: [holds("tls", "key2")] },
      { at: t3 - 1, sources: [holds("tls", "key2")] },
      { at: t3, sources: [holds("tls", "key2")] },
    );
    expect(first).toMatchObject({ keys: ["key1 Active"], changes: ["Added key1"], nextAtMs: undefined });
    expect(second).toMatchObject({ keys: ["key2 Active", "key1 Retiring"], changes: ["Retired key1", "Added key2"], nextAtMs: t3 });
    expect(third).toMatchObject({ keys: ["key2 Active", "key1 Retiring"], changes: [], nextAtMs: t3 });
    expect(fourth).toMatchObject({ keys: ["key2 Active"], changes: ["Removed key1"], nextAtMs: undefined });
  });
});

describe("replacement", () => {
  test("immediate, and keepOldKeys false, leave the new key alone", () => {
    const [, second] = play({ at: t0, sources: [holds("tls", "a")] }, { at: t0 + 1, sources: [holds("tls", "b")], rules: immediate });
    expect(second).toMatchObject({ keys: ["b Active"], changes: ["Removed a", "Added b"] });
  });

  test("a change to immediate counts for keys that are replaced from then on; what is retiring keeps its date", () => {
    const [, , third, fourth, fifth] = play(
      { at: t0, sources: [holds("tls", "a")] },
      { at: t0 + 1, sources: [holds("tls", "b")] },
      { at: t0 + 2, sources: [holds("tls", "b")], rules: immediate },
      { at: t0 + 3, sources: [holds("tls", "c")], rules: immediate },
      { at: t0 + 1 + ttlMs, sources: [holds("tls", "c")], rules: immediate },
    );
    expect(third).toMatchObject({ keys: ["b Active", "a Retiring"], changes: [], nextAtMs: t0 + 1 + ttlMs });
    expect(fourth).toMatchObject({ keys: ["c Active", "a Retiring"], changes: ["Removed b", "Added c"], nextAtMs: t0 + 1 + ttlMs });
    expect(fifth).toMatchObject({ keys: ["c Active"], changes: ["Removed a"], nextAtMs: undefined });
  });

  test("a key that is in use again has no date, and is replaced by the rule of that moment", () => {
    const [, , , fourth] = play(
      { at: t0, sources: [holds("tls", "a")] },
      { at: t0 + 1, sources: [holds("tls", "b")] },
      { at: t0 + 2, sources: [holds("tls", "a")] },
      { at: t0 + 3, sources: [holds("tls", "c")], rules: immediate },
    );
    expect(fourth).toMatchObject({ keys: ["c Active", "b Retiring"], changes: ["Removed a", "Added c"], nextAtMs: t0 + 2 + ttlMs });
  });

  test("a renewed certificate of the same key updates its entry", () => {
    const [, second] = play({ at: t0, sources: [holds("tls", "a", "1")] }, { at: t0 + 9, sources: [holds("tls", "a", "2")] });
    expect(second).toMatchObject({ keys: ["a Active"], changes: ["Renewed a"] });
    expect(second?.full[0]).toMatchObject({ sinceMs: t0, jwk: { "x5t#S256": "a-2" } });
  });

  test("a key that comes back is active again, and the one it came back for retires", () => {
    const [, , third] = play(
      { at: t0, sources: [holds("tls", "a")] },
      { at: t0 + 1, sources: [holds("tls", "b")] },
      { at: t0 + 2, sources: [holds("tls", "a")] },
    );
    expect(third).toMatchObject({ keys: ["a Active", "b Retiring"], changes: ["Retired b", "Revived a"], nextAtMs: t0 + 2 + ttlMs });
  });

  test("a Secret that vanishes or turns invalid keeps what it gave, whatever the strategy and however long", () => {
    const [, second] = play({ at: t0, sources: [holds("tls", "a")] }, { at: t0 + 9 * ttlMs, sources: [unavailable("tls")], rules: immediate });
    expect(second).toMatchObject({ keys: ["a Active"], changes: [] });
  });

  test("a source that is taken from the list retires its key", () => {
    const both = [holds("live", "a"), holds("next", "b")];
    const [, second] = play({ at: t0, sources: both }, { at: t0 + 1, sources: both.slice(0, 1) });
    expect(second).toMatchObject({ keys: ["a Active", "b Retiring"] });
  });

  test("nothing goes until there is something to replace it", () => {
    const [, second, third] = play(
      { at: t0, sources: [holds("old", "a")] },
      { at: t0 + 1, sources: [unavailable("new")], rules: immediate },
      { at: t0 + 2, sources: [holds("new", "b")], rules: immediate },
    );
    expect(second).toMatchObject({ keys: ["a Active"] });
    expect(third).toMatchObject({ keys: ["b Active"] });
  });

  test("several sources are published together, in their order, and the same key once", () => {
    const [only] = play({ at: t0, sources: [holds("live", "b"), unavailable("missing"), holds("next", "a"), holds("copy", "b")] });
    expect(only).toMatchObject({ keys: ["b Active", "a Active"] });
    expect(only?.full[0]).toMatchObject({ source: "live" });
  });

  test("a key that moves to another Secret stays, without a gap", () => {
    const [, second] = play(
      { at: t0, sources: [holds("live", "a"), holds("next", "b")] },
      { at: t0 + 1, sources: [holds("live", "b"), holds("next", "c")] },
    );
    expect(second).toMatchObject({ keys: ["b Active", "c Active", "a Retiring"], changes: ["Retired a", "Added c"] });
  });
});

describe("time", () => {
  test("a clock that is set back moves no date, and a shorter TTL counts only from then on", () => {
    const shorter: HistoryRules = { ...rolling, oldKeys: { type: "keep", ttlMs: hourMs } };
    const [, , third, fourth] = play(
      { at: t0, sources: [holds("tls", "a")] },
      { at: t0 + 5, sources: [holds("tls", "b")] },
      { at: t0 - 99 * hourMs, sources: [holds("tls", "b")], rules: shorter },
      { at: t0 + 5 + ttlMs, sources: [holds("tls", "b")], rules: shorter },
    );
    expect(third).toMatchObject({ keys: ["b Active", "a Retiring"], nextAtMs: t0 + 5 + ttlMs });
    expect(fourth).toMatchObject({ keys: ["b Active"] });
  });

  test("a certificate that expires while its key is published does not take the key away", () => {
    const [, second] = play({ at: t0, sources: [holds("tls", "a")] }, { at: t0 + 5 * ttlMs, sources: [holds("tls", "a")] });
    expect(second).toMatchObject({ keys: ["a Active"] });
  });
});

describe("revocation", () => {
  const revoking = (...kids: string[]): HistoryRules => ({ ...rolling, revoked: new Set(kids) });

  test("removes an active, a retiring and a held key at once", () => {
    const steps = [
      { at: t0, sources: [holds("tls", "a"), holds("held", "h")] },
      { at: t0 + 1, sources: [holds("tls", "b"), unavailable("held")] },
    ];
    const [, , third] = play(...steps, { at: t0 + 2, sources: [holds("tls", "b"), unavailable("held")], rules: revoking("a", "b", "h") });
    expect(third).toMatchObject({ keys: [], changes: ["Revoked b", "Revoked h", "Revoked a"] });
  });

  test("a revoked key does not return while the annotation stands, and does afterwards if a Secret still holds it", () => {
    const [, , third, fourth] = play(
      { at: t0, sources: [holds("tls", "a")] },
      { at: t0 + 1, sources: [holds("tls", "a")], rules: revoking("a") },
      { at: t0 + 2, sources: [holds("tls", "a")], rules: revoking("a") },
      { at: t0 + 3, sources: [holds("tls", "a")] },
    );
    expect(third).toMatchObject({ keys: [], changes: [] });
    expect(fourth).toMatchObject({ keys: ["a Active"], changes: ["Added a"] });
  });

  test("revoking the new key keeps the old one", () => {
    const [, , third] = play(
      { at: t0, sources: [holds("tls", "a")] },
      { at: t0 + 1, sources: [holds("tls", "b")] },
      { at: t0 + 2, sources: [holds("tls", "b")], rules: revoking("b") },
    );
    expect(third).toMatchObject({ keys: ["a Retiring"], nextAtMs: t0 + 1 + ttlMs });
  });
});

describe("space", () => {
  test("the keys that were replaced first go first, and active ones never", () => {
    const sources = ["a", "b", "c", "d"].map((kid) => [holds("tls", kid), holds("other", "o")]);
    const steps = sources.map((at, index) => ({ at: t0 + index, sources: at }));
    const atMost = (count: number): HistoryRules => ({ ...rolling, rooms: [{ most: count, takenBy: () => 1 }] });
    const last = { at: t0 + 9, sources: sources[3] ?? [] };
    expect(play(...steps, { ...last, rules: atMost(3) }).at(-1)).toMatchObject({
      keys: ["d Active", "o Active", "c Retiring"],
      changes: ["Dropped a", "Dropped b"],
    });
    expect(play(...steps, { ...last, rules: atMost(1) }).at(-1)).toMatchObject({ keys: ["d Active", "o Active"] });
  });

  test("however many are too many, each is measured once or twice", () => {
    let measured = 0;
    const rooms = [{ most: 10, takenBy: () => (measured++, 1) }];
    const many = Array.from({ length: 3000 }, (_, index) => `k${index}`);
    const [, second] = play(
      { at: t0, sources: [holds("tls", "a")] },
      { at: t0 + 1, sources: [after(holds("tls", "b"), ...many)], rules: { ...rolling, rooms } },
    );
    expect(second?.keys).toHaveLength(10);
    expect(second?.changes.filter((change) => change.startsWith("Dropped"))).toHaveLength(2992);
    expect(measured).toBeLessThan(2.5 * 3000);
  });
});

describe("a key that came and went", () => {
  test("before it could be published joins as one that was replaced now", () => {
    const [, second] = play({ at: t0, sources: [holds("tls", "a")] }, { at: t0 + 1, sources: [after(holds("tls", "c"), "a", "b")] });
    expect(second).toMatchObject({ keys: ["c Active", "a Retiring", "b Retiring"], nextAtMs: t0 + 1 + ttlMs });
  });

  test("and was written down before a restart does too", () => {
    const pending = [{ ...entry("b"), source: "tls", sinceMs: t0 }];
    const [, second] = play({ at: t0, sources: [holds("tls", "a")] }, { at: t0 + 1, sources: [holds("tls", "c")], pending });
    expect(second?.keys).toEqual(["c Active", "a Retiring", "b Retiring"]);
  });

  test("was retiring, and keeps the later of its dates", () => {
    const [, , third] = play(
      { at: t0, sources: [holds("tls", "a")] },
      { at: t0 + 1, sources: [holds("tls", "b")] },
      { at: t0 + hourMs, sources: [after(holds("tls", "b"), "b", "a")] },
    );
    expect(third).toMatchObject({ keys: ["b Active", "a Retiring"], nextAtMs: t0 + hourMs + ttlMs });
  });

  test("is the last word of a Secret that is gone: it is in use, and the one before it retires", () => {
    const [, second] = play({ at: t0, sources: [holds("tls", "a")] }, { at: t0 + 1, sources: [after(unavailable("tls"), "a", "b")] });
    expect(second?.keys).toEqual(["b Active", "a Retiring"]);
  });

  test("is not published if it is revoked, or if old keys are not kept", () => {
    const last = (rules: Partial<HistoryRules>) =>
      play({ at: t0, sources: [holds("tls", "a")] }, { at: t0 + 1, sources: [after(holds("tls", "c"), "a", "b")], rules }).at(-1)?.keys;
    expect(last({ revoked: new Set(["b"]) })).toEqual(["c Active", "a Retiring"]);
    expect(last(immediate)).toEqual(["c Active"]);
  });
});

test("while nobody knows the time no key's time is over, and new ones are published all the same", () => {
  const [, , third, fourth] = play(
    { at: t0, sources: [holds("tls", "a")] },
    { at: t0 + 1, sources: [holds("tls", "b")] },
    { at: t0 + 9 * ttlMs, sources: [holds("tls", "c")], rules: { frozen: true } },
    { at: t0 + 2, sources: [holds("tls", "c")] },
  );
  expect(third).toMatchObject({ keys: ["c Active", "b Retiring", "a Retiring"], nextAtMs: undefined });
  expect(fourth?.keys).toEqual(["c Active", "b Retiring", "a Retiring"]);
});

describe("a name", () => {
  const called = (kid: string, key: string, alg?: string): KeyEntry => {
    const { alg: _, ...rest } = jwk(kid);
    return { ...entry(key), jwk: { ...rest, ...(alg !== undefined && { alg }) } };
  };

  test("that a source gives to another key is no longer that of the one before", () => {
    const [, second] = play(
      { at: t0, sources: [{ name: "others", keys: [called("1", "a", "EdDSA")], passed: [] }] },
      { at: t0 + 1, sources: [{ name: "others", keys: [called("1", "b")], passed: [called("1", "a", "EdDSA")] }] },
    );
    expect(second?.full.map(({ thumbprint }) => thumbprint)).toEqual(["b"]);
  });

  test("of one key is there once, where it says its algorithm, and keeps its time", () => {
    const others = (...keys: readonly KeyEntry[]): Source => ({ name: "others", keys, passed: [] });
    const [first, second, third] = play(
      { at: t0, sources: [others(called("a", "a"))] },
      { at: t0 + 1, sources: [holds("tls", "a"), others(called("a", "a"))] },
      { at: t0 + 2, sources: [others(called("a", "a")), holds("tls", "a")] },
    );
    expect(first?.full.map((key) => key.jwk.alg)).toEqual([undefined]);
    expect([second?.keys, third?.keys]).toEqual([["a Active"], ["a Active"]]);
    expect([second, third].map((step) => step?.full.map((key) => [key.jwk.alg, key.sinceMs]))).toEqual([[["EdDSA", t0]], [["EdDSA", t0]]]);
  });
});

test("a limit on keys counts when one comes, and takes nothing for being there", () => {
  const [, , third, fourth] = play(
    { at: t0, sources: [holds("tls", "a")] },
    { at: t0 + 1, sources: [holds("tls", "b")] },
    { at: t0 + 2, sources: [holds("tls", "b")], rules: { maxKeys: 1 } },
    { at: t0 + 3, sources: [holds("tls", "c")], rules: { maxKeys: 2 } },
  );
  expect(third).toMatchObject({ keys: ["b Active", "a Retiring"], changes: [] });
  expect(fourth).toMatchObject({ keys: ["c Active", "b Retiring"], changes: ["Retired b", "Added c", "Dropped a"] });
});

test("another algorithm is another entry of the same key, and the one before it retires", () => {
  const other: Source = { name: "tls", keys: [{ ...entry("a"), jwk: { ...jwk("a"), alg: "Ed25519" } }], passed: [] };
  const [, second] = play({ at: t0, sources: [holds("tls", "a")] }, { at: t0 + 1, sources: [other] });
  expect(second).toMatchObject({ keys: ["a Active", "a Retiring"], changes: ["Retired a", "Added a"] });
  expect(second?.full.map((key) => key.jwk.alg)).toEqual(["Ed25519", "EdDSA"]);
});
