// Random lives of an object: renewals, rotations, flaps, edits, crashes, clock steps, in any order. Whatever happens, what is published is right.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { makeCertificate, secretData } from "../../../test/certificates.ts";
import { JwksWorld } from "../../../test/jwks-world.ts";
import { problemWithJwks } from "./jwk.ts";

const sources = ["tls", "next"] as const;
const ttlMs = 3_600_000;
const intervalMs = 60_000;

/** Six keys with two certificates each; made once, because making them is slow. */
const pool = Array.from({ length: 6 }, () => {
  const first = makeCertificate();
  const second = makeCertificate({ privateKey: first.privateKey });
  return [first, second].map(({ certificate, privateKey }) => secretData(certificate, privateKey));
});
const kidsOfPool = pool.map(([data]) => {
  const world = new JwksWorld();
  world.putSecret("tls", data);
  world.run(0);
  return world.kids[0] ?? "";
});

type Edit = "delete" | "text" | "annotation" | "both" | "rollback";

type Command =
  | { readonly type: "put"; readonly source: (typeof sources)[number]; readonly key: number; readonly certificate: number }
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
  let nowMs = Date.UTC(2026, 0, 1);
  let crashAfter: number | undefined;
  let crashed = false;
  let published: readonly string[] = [];
  /** The first version of the ConfigMap, as a backup would have it. */
  let earlier: JwksWorld["configMap"];
  /** What each Secret holds. */
  const holds = new Map<string, string>();
  /** What was published from each Secret: its last word when it is lost. A key belongs to the first Secret that holds it, and moves with it. */
  const gave = new Map<string, string>();
  const everHeld = new Set<string>();
  /** From when on a key may be missing, and has to be: an hour after the change of the ConfigMap that made another key the one to use. */
  const goesAtMs = new Map<string, number>();
  let version: string | undefined;

  const run = (): number | undefined => {
    const plan = world.run(nowMs, crashAfter);
    crashed = crashAfter !== undefined;
    const wroteNothing = crashAfter === 0;
    crashAfter = undefined;
    if (wroteNothing) return plan.nextAtMs;
    check(plan.nextAtMs);
    return plan.nextAtMs;
  };

  const check = (nextAtMs = Number.POSITIVE_INFINITY): void => {
    const { kids, document } = world;
    const wanted = new Set(sources.map((name) => holds.get(name) ?? gave.get(name) ?? ""));
    expect(document === undefined ? undefined : problemWithJwks(document)).toBeUndefined();
    expect(new Set(kids).size).toBe(kids.length);
    for (const kid of kids) {
      expect(everHeld).toContain(kid);
      expect(world.revoked).not.toContain(kid);
    }
    for (const kid of published) {
      if (kids.includes(kid) || world.revoked.includes(kid)) continue;
      expect(wanted).not.toContain(kid);
      expect(goesAtMs.get(kid)).toBeLessThanOrEqual(nowMs);
    }
    const changed = version !== (version = world.configMap?.metadata.annotations?.["keyturn.io/jwks-history"]);
    const replaced = changed && kids.some((kid) => wanted.has(kid));
    for (const kid of everHeld) {
      // What comes and goes between two changes of the ConfigMap was never published, and counts as if it had not been.
      if (!kids.includes(kid) || (changed && wanted.has(kid))) goesAtMs.delete(kid);
      else if (replaced && !goesAtMs.has(kid)) goesAtMs.set(kid, nowMs + ttlMs);
    }
    for (const kid of changed ? kids : []) {
      const holder = sources.find((name) => holds.get(name) === kid);
      const others = sources.filter((name) => gave.get(name) === kid && (holder !== undefined || goesAtMs.has(kid)));
      for (const name of others) gave.delete(name);
      if (holder) gave.set(holder, kid);
    }
    // A key that is past its time waits for the ConfigMap's turn, and for nothing else.
    const isLate = kids.some((kid) => !wanted.has(kid) && (goesAtMs.get(kid) ?? Number.POSITIVE_INFINITY) <= nowMs);
    expect(isLate && nextAtMs > nowMs + intervalMs).toBe(false);
    published = kids;
    earlier ??= world.configMap;
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
        holds.set(each.source, kidsOfPool[each.key] ?? "");
        everHeld.add(kidsOfPool[each.key] ?? "");
        break;
      case "lose":
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
  fc.assert(fc.property(fc.array(command, { maxLength: 40, size: "max" }), live), { numRuns: 150 });
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
