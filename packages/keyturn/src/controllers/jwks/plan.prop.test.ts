// Random lives of an object: renewals, rotations, flaps, edits, crashes, clock steps, in any order. Whatever happens, what is published is right.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { fixedCertificates, secretData } from "../../../test/certificates.ts";
import { JwksWorld } from "../../../test/jwks-world.ts";
import { problemWithJwks } from "./jwk.ts";

/** The same lives everywhere; `SEED=42` plays others, `JWKS_RUNS=5000` more of them. */
const numRuns = Number(process.env["JWKS_RUNS"] ?? 150);
const sources = ["tls", "next"] as const;
const ttlMs = 3_600_000;
const intervalMs = 60_000;

/** Six keys with two certificates each. */
const pool = Array.from({ length: 6 }, (_, index) =>
  fixedCertificates("p256", index).map(({ certificate, privateKey }) => secretData(certificate, privateKey)),
);
const kidsOfPool = pool.map(([data]) => {
  const world = new JwksWorld();
  world.putSecret("tls", data);
  world.run(0);
  return world.kids[0] ?? "";
});

type Edit = "delete" | "text" | "annotation" | "both" | "rollback";

type Command =
  | { readonly type: "put"; readonly source: (typeof sources)[number]; readonly key: number; readonly certificate: number }
  | { readonly type: "flash"; readonly source: (typeof sources)[number]; readonly keys: readonly number[] }
  /** The API server takes nothing for these parts, until it is told otherwise. */
  | { readonly type: "refuse"; readonly parts: readonly string[] }
  | { readonly type: "lose"; readonly source: (typeof sources)[number]; readonly how: "delete" | "empty" | "garbage" }
  | { readonly type: "edit"; readonly how: Edit }
  | { readonly type: "crash"; readonly after: number }
  | { readonly type: "clock"; readonly byMs: number }
  | { readonly type: "wait"; readonly forMs: number }
  /** Until the last moment before time alone changes anything. */
  | { readonly type: "brink" }
  | { readonly type: "revoke"; readonly keys: readonly number[] };

const source = fc.constantFrom(...sources);
const key = fc.nat(pool.length - 1);
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant("put"), source, key, certificate: fc.nat(1) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("flash"), source, keys: fc.array(key, { minLength: 2, maxLength: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("refuse"), parts: fc.subarray(["document", "nginx"]) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("lose"), source, how: fc.constantFrom("delete", "empty", "garbage") }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("edit"), how: fc.constantFrom<Edit>("delete", "text", "annotation", "both", "rollback") }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("crash"), after: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("clock"), byMs: fc.integer({ min: -2 * ttlMs, max: 2 * ttlMs }) }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant("wait"), forMs: fc.nat(ttlMs) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("brink") }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("revoke"), keys: fc.uniqueArray(key, { maxLength: 2 }) }) },
);

/**
 * Plays the commands, and checks after every run what must always hold, against a model of the promise that shares nothing with the code.
 * Time moves as a controller sees it: there is a run at every date that a plan named.
 */
function live(commands: readonly Command[]): void {
  const world = new JwksWorld({ certificateSecrets: ["next"], oldKeysTTL: "1h" });
  world.configMapIntervalMs = intervalMs;
  world.podsAreReady = true;
  world.refusalMs = 600_000;
  let nowMs = Date.UTC(2026, 0, 1);
  let crashAfter: number | undefined;
  let crashed = false;
  /** The first version of the ConfigMap, as a backup would have it. */
  let earlier: JwksWorld["configMap"];
  /** What each Secret holds. */
  const holds = new Map<string, string>();
  const everHeld = new Set<string>();
  /** When a Secret was last seen to hold a key: it may have signed until then, and is published for an hour from then on. */
  const usedAtMs = new Map<string, number>();
  /** When a key that nobody holds any more has to go: an hour after the change of the ConfigMap that made another key the one to use. */
  const goesAtMs = new Map<string, number>();
  /** The same, as of the last run that wrote anything. */
  let witnessedAtMs: ReadonlyMap<string, number> = new Map();
  /** The latest such date that the key was given since it was last in use: the clock may have been set back after that, and the date stays. */
  const latestMs = new Map<string, number>();
  let version: string | undefined;

  const run = (): number | undefined => {
    const plan = world.run(nowMs, crashAfter);
    crashed = crashAfter !== undefined;
    // What was there for a moment, and that a process alone had seen which was killed before it could write anything, nobody knows of.
    const known = new Set([...holds.values(), ...world.kids, ...(world.status?.keys ?? []).map(({ kid }) => kid)]);
    for (const kid of crashed ? [...usedAtMs.keys()] : []) if (!known.has(kid)) usedAtMs.delete(kid);
    const wroteNothing = crashAfter === 0;
    crashAfter = undefined;
    if (wroteNothing) {
      const held = new Set(holds.values());
      for (const kid of usedAtMs.keys()) if (!held.has(kid)) forgetUse(kid);
      return plan.nextAtMs;
    }
    check(plan.nextAtMs);
    witnessedAtMs = new Map(usedAtMs);
    return plan.nextAtMs;
  };

  /** That a key was used since the last run that wrote anything, nobody knows. */
  const forgetUse = (kid: string): void => {
    const beforeMs = witnessedAtMs.get(kid);
    if (beforeMs === undefined) usedAtMs.delete(kid);
    else usedAtMs.set(kid, beforeMs);
  };

  const check = (nextAtMs = Number.POSITIVE_INFINITY): void => {
    const { document } = world;
    // What is refused for now is written down instead, and published when that is over.
    const isRefused = world.condition("Published") === "False Forbidden";
    const { kids } = world;
    if (isRefused) {
      for (const kid of world.revoked) usedAtMs.delete(kid);
      // A run that was cut may have published it and not yet said so.
      const there = [...kids, ...(world.status?.keys ?? []).map(({ kid }) => kid)];
      for (const [kid, usedMs] of usedAtMs) {
        if (!world.revoked.includes(kid) && usedMs + ttlMs > nowMs) expect(there).toContain(kid);
      }
      return;
    }
    const wanted = new Set(holds.values());
    expect(document === undefined ? undefined : problemWithJwks(document)).toBeUndefined();
    expect(new Set(kids).size).toBe(kids.length);
    for (const kid of kids) {
      expect(everHeld).toContain(kid);
      if (!crashed) expect(world.revoked).not.toContain(kid);
    }
    for (const kid of wanted) usedAtMs.set(kid, nowMs);
    // What may have gone may have gone for good, also if the clock is set back.
    for (const [kid, usedMs] of usedAtMs) if (usedMs + ttlMs <= nowMs) usedAtMs.delete(kid);
    // What was revoked comes back only if it is in use then.
    for (const kid of world.revoked) usedAtMs.delete(kid);
    // The promise: every key that signed, as far as anybody could see, is there for an hour after it may have signed last.
    for (const [kid, usedMs] of usedAtMs) {
      // What a run that was cut did not get to is in its Secret still.
      const there = crashed ? [...kids, ...(world.status?.keys ?? []).map((key) => key.kid), ...wanted] : kids;
      if (!world.revoked.includes(kid) && usedMs + ttlMs > nowMs) expect(there).toContain(kid);
    }
    const before = version;
    // What a run changed that was cut has its dates from it, or from the one that makes up for it: whichever is later, because the clock may be set back between.
    version = crashed ? "cut" : world.configMap?.metadata.annotations?.["keyturn.io/jwks-history"];
    const replaced = !crashed && version !== before && kids.some((kid) => wanted.has(kid));
    for (const kid of everHeld) {
      if (!kids.includes(kid) || wanted.has(kid)) latestMs.delete(kid);
      else if ((replaced || crashed) && !goesAtMs.has(kid)) latestMs.set(kid, Math.max(nowMs + ttlMs, latestMs.get(kid) ?? 0));
      const dateMs = latestMs.get(kid);
      if (dateMs === undefined || holds.size < sources.length) goesAtMs.delete(kid);
      else if (replaced) goesAtMs.set(kid, dateMs);
    }
    // A key that is past its time waits for the ConfigMap's turn, and for nothing else. What came from a Secret that is lost has no time.
    const isLate = kids.some((kid) => !wanted.has(kid) && (goesAtMs.get(kid) ?? Number.POSITIVE_INFINITY) <= nowMs);
    expect(isLate && nextAtMs > nowMs + intervalMs).toBe(false);
    earlier ??= world.configMap;
  };

  const hold = (name: string, kid: string): void => {
    const before = holds.get(name);
    for (const used of before === undefined ? [kid] : [before, kid]) {
      usedAtMs.set(used, nowMs);
      goesAtMs.delete(used);
    }
    holds.set(name, kid);
    everHeld.add(kid);
  };

  const edit = (how: Edit): void => {
    // People are slower than a restart: before somebody edits anything, the run that crashed has been made up for.
    if (crashed) run();
    if (how === "rollback") world.editConfigMap((configMap) => earlier ?? configMap);
    if (how === "delete") world.editConfigMap(undefined);
    else if (how !== "rollback") world.editConfigMap((configMap) => edited(configMap, how));
  };

  for (const each of commands) {
    switch (each.type) {
      case "put":
        world.putSecret(each.source, pool[each.key]?.[each.certificate]);
        hold(each.source, kidsOfPool[each.key] ?? "");
        break;
      case "flash":
        // It comes and goes before the operator can look.
        for (const index of each.keys) {
          world.putSecret(each.source, pool[index]?.[0]);
          hold(each.source, kidsOfPool[index] ?? "");
        }
        break;
      case "refuse":
        world.refuse = (write) => (each.parts.includes(write.part ?? "") ? "no" : undefined);
        break;
      case "lose":
        if (holds.has(each.source)) usedAtMs.set(holds.get(each.source) ?? "", nowMs);
        holds.delete(each.source);
        world.putSecret(each.source, each.how === "delete" ? undefined : { "tls.crt": each.how === "empty" ? "" : "AAAA" });
        break;
      case "edit":
        edit(each.how);
        break;
      case "crash":
        crashAfter = each.after;
        break;
      case "clock":
        nowMs += each.byMs;
        // Nothing has been used later than now: what is kept for an hour by the clock as it is then is kept for an hour.
        for (const [kid, usedMs] of usedAtMs) usedAtMs.set(kid, Math.min(usedMs, nowMs));
        witnessedAtMs = new Map(Array.from(witnessedAtMs, ([kid, usedMs]) => [kid, Math.min(usedMs, nowMs)]));
        break;
      case "revoke":
        world.revoked = each.keys.map((index) => kidsOfPool[index] ?? "");
        break;
      case "wait": {
        const endMs = nowMs + each.forMs;
        for (let nextAtMs = run(); nextAtMs !== undefined && nextAtMs <= endMs; nextAtMs = run()) {
          // A date that has passed would make a controller spin.
          expect(nextAtMs).toBeGreaterThan(nowMs);
          nowMs = nextAtMs;
        }
        nowMs = endMs;
        break;
      }
      case "brink": {
        const nextAtMs = run() ?? nowMs;
        // The certificates' own expiry is decades away; going there would end the story.
        if (nextAtMs > nowMs && nextAtMs <= nowMs + 3 * ttlMs) nowMs = nextAtMs - 1;
        break;
      }
    }
    if (each.type !== "crash") run();
  }
}

function edited(configMap: NonNullable<JwksWorld["configMap"]>, how: "text" | "annotation" | "both"): NonNullable<JwksWorld["configMap"]> {
  const { metadata } = configMap;
  const { "keyturn.io/jwks-history": _history, ...annotations } = metadata.annotations ?? {};
  return {
    ...configMap,
    metadata: how === "text" ? metadata : { ...metadata, annotations },
    data: how === "annotation" ? (configMap.data ?? {}) : { "jwks.json": '{"keys":[{"kid":"evil","x5c":["AAAA"]}]}' },
  };
}

test("whatever happens, in whatever order, what is published is right", () => {
  fc.assert(fc.property(fc.array(command, { maxLength: 40, size: "max" }), live), { numRuns });
});

test("a run with nothing new changes nothing", () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 10 }), (commands) => {
      const world = new JwksWorld({ certificateSecrets: ["next"], oldKeysTTL: "1h" });
      const nowMs = Date.UTC(2026, 0, 1);
      for (const each of commands) if (each.type === "put") world.putSecret(each.source, pool[each.key]?.[each.certificate]);
      world.run(nowMs);
      const [objects, status] = [structuredClone([...world.objects]), structuredClone(world.status)];
      const plan = world.run(nowMs + 1000);
      expect([...world.objects]).toEqual(objects);
      expect(world.status).toEqual(status);
      expect(plan.notices).toEqual([]);
    }),
  );
});
