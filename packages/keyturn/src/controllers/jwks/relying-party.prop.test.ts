// What somebody who verifies tokens sees, through random stories of sources, edits and crashes: every key that signed, for its time, and none that is revoked.
import { createPublicKey } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { fixedCertificates, secretData } from "../../../test/certificates.ts";
import { JwksWorld } from "../../../test/jwks-world.ts";
import { keyMembersOf, thumbprintOf } from "../../public-key.ts";
import { problemWithJwks } from "./jwk.ts";

/** The same stories everywhere; `SEED=42` plays others, `JWKS_RUNS=5000` more of them. */
const numRuns = Number(process.env["JWKS_RUNS"] ?? 100);
const ttlMs = 3_600_000;

/** RSA, because it can be used with several algorithms; each key with two certificates. */
const pool = Array.from({ length: 5 }, (_, index) => {
  const [first, second] = fixedCertificates("rsa2048", index);
  const members = keyMembersOf(createPublicKey(first.privateKey)) ?? expect.fail("the test's own key has no JWK");
  return {
    members,
    thumbprint: thumbprintOf(members),
    data: [first, second].map(({ certificate, privateKey }) => secretData(certificate, privateKey)),
  };
});
const thumbprintOfKey = (index: number): string => pool[index]?.thumbprint ?? "";

const key = fc.nat(pool.length - 1);
const source = fc.constantFrom("tls" as const, "next" as const);
const command = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant("put" as const), source, key, certificate: fc.nat(1) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("lose" as const), source }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("merge" as const), keys: fc.uniqueArray(key, { maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("unmerge" as const) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("rename" as const), to: fc.constantFrom("keys", "others", "third") }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("seal" as const) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("algorithm" as const), algorithm: fc.constantFrom("RS256" as const, "PS256" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant("keyId" as const), keyId: fc.constantFrom("Thumbprint" as const, "CertificateSHA1" as const) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("issuer" as const), issuer: fc.constantFrom("", "https://tokens.example") }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("skew" as const), isOn: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("crash" as const), after: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("refuse" as const), isOn: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("revoke" as const), keys: fc.uniqueArray(key, { maxLength: 2 }), byKid: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("spoil" as const), document: fc.constantFrom(undefined, "{}", '{"keys":[]}') }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant("wait" as const), forMs: fc.constantFrom(1000, 30_000, 60_000, ttlMs / 2, ttlMs) }) },
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

/** What a token can be signed with: a key, in the way that it is published. */
type Use = `${string} ${string}`;

class Story {
  readonly world = new JwksWorld({ certificateSecrets: ["next"], mergedConfigMaps: ["legacy"], oldKeysTTL: "1h", algorithm: "RS256" });
  /** Which keys each source holds. */
  readonly #held = new Map<string, readonly number[]>();
  /** When something was last held by a source, as far as a process that has lived since could see. */
  readonly #usedAtMs = new Map<Use, number>();
  #revoked: ReadonlySet<string> = new Set();
  #nowMs = Date.UTC(2026, 0, 1);
  #crashAfter: number | undefined;

  constructor() {
    this.world.podsAreReady = true;
    this.world.refusalMs = 60_000;
  }

  #inUse(): readonly Use[] {
    return [...this.#held].flatMap(([name, keys]) =>
      keys.map((index): Use => `${thumbprintOfKey(index)} ${name === "legacy" ? "RS256" : (this.world.spec.algorithm ?? "")}`),
    );
  }

  #uses(): void {
    for (const use of this.#inUse()) this.#usedAtMs.set(use, this.#nowMs);
  }

  /** The entries of a ConfigMap's document. */
  #entriesIn(name: string): readonly { readonly kid: string; readonly use: Use; readonly thumbprint: string }[] {
    const configMap: JwksWorld["configMap"] = this.world.objects.get(`configmaps/shop/${name}`);
    const { keys = [] } = JSON.parse(configMap?.data?.["jwks.json"] ?? "{}") as {
      keys?: readonly { kid: string; alg: string; n: string; e: string }[];
    };
    return keys.map(({ kid, alg, n, e }) => {
      const thumbprint = thumbprintOf({ kty: "RSA", n, e });
      return { kid, thumbprint, use: `${thumbprint} ${alg}` };
    });
  }

  #writtenDown(): readonly Use[] {
    return (this.world.status?.keys ?? []).map(({ thumbprint = "", algorithm = "" }): Use => `${thumbprint} ${algorithm}`);
  }

  /** One run. After one that was cut, what only that process had seen is forgotten, and another process makes up for it. */
  run(): number | undefined {
    this.#uses();
    const crashAfter = this.#crashAfter;
    this.#crashAfter = undefined;
    let plan = this.world.run(this.#nowMs, crashAfter);
    if (crashAfter !== undefined) {
      const known = new Set([...this.#inUse(), ...this.#writtenDown(), ...this.#entriesIn(this.world.spec.configMapName).map(({ use }) => use)]);
      for (const use of this.#usedAtMs.keys()) if (!known.has(use)) this.#usedAtMs.delete(use);
      plan = this.world.run(this.#nowMs);
    }
    this.#check();
    return plan.nextAtMs;
  }

  #check(): void {
    const { world } = this;
    const isRefused = world.condition("Published") === "False Forbidden";
    for (const [use, usedMs] of this.#usedAtMs) {
      if (usedMs + ttlMs <= this.#nowMs || this.#revoked.has(use.split(" ")[0] ?? "")) this.#usedAtMs.delete(use);
    }
    const published = this.#entriesIn(world.spec.configMapName);
    // What is refused for now is written down instead.
    const there = isRefused ? this.#writtenDown() : published.map(({ use }) => use);
    expect(there).toEqual(expect.arrayContaining([...this.#usedAtMs.keys()]));
    const signing = this.#held.get("tls")?.[0];
    if (signing !== undefined && !this.#revoked.has(thumbprintOfKey(signing))) {
      const named = world.status?.keys?.filter(({ kid }) => kid === world.status?.lastKeyID).map(({ thumbprint }) => thumbprint);
      expect(named).toContain(thumbprintOfKey(signing));
    }
    if (isRefused) return;
    const names = Array.from(world.objects.keys(), (each) => each.split("/")).flatMap(([kind, , name = ""]) => (kind === "configmaps" ? [name] : []));
    expect(names.flatMap((name) => this.#entriesIn(name)).filter(({ thumbprint }) => this.#revoked.has(thumbprint))).toEqual([]);
    expect(world.document === undefined ? undefined : problemWithJwks(world.document)).toBeUndefined();
  }

  play(each: Command): void {
    const { world } = this;
    if (each.type === "put" || each.type === "lose") this.#uses();
    switch (each.type) {
      case "put":
        world.putSecret(each.source, pool[each.key]?.data[each.certificate]);
        this.#held.set(each.source, [each.key]);
        break;
      case "lose":
        world.putSecret(each.source, undefined);
        this.#held.delete(each.source);
        break;
      case "merge": {
        const entries = each.keys.map((index) => ({ ...pool[index]?.members, use: "sig", alg: "RS256", kid: thumbprintOfKey(index) }));
        this.#uses();
        world.putMerged("legacy", JSON.stringify({ keys: entries }));
        this.#held.set("legacy", each.keys);
        break;
      }
      case "unmerge":
        world.merged.delete("legacy");
        this.#held.delete("legacy");
        break;
      case "rename":
        world.spec = { ...world.spec, configMapName: each.to };
        break;
      case "seal":
        world.editConfigMap((configMap) => ({ ...configMap, immutable: true }));
        break;
      case "algorithm":
        world.spec = { ...world.spec, algorithm: each.algorithm };
        break;
      case "keyId":
        world.spec = { ...world.spec, keyId: each.keyId };
        break;
      case "issuer": {
        const { issuer: _, ...spec } = world.spec;
        world.spec = { ...spec, ...(each.issuer !== "" && { issuer: each.issuer }) };
        break;
      }
      case "skew":
        world.clockSkew = each.isOn ? { reason: "ClockSkew", message: "the clocks differ" } : undefined;
        break;
      case "crash":
        this.#crashAfter = each.after;
        return;
      case "refuse":
        world.refuse = ({ part }) => (each.isOn && part === "document" ? "no" : undefined);
        break;
      case "revoke":
        this.#revoked = new Set(each.keys.map(thumbprintOfKey));
        world.revoked = each.keys.map(thumbprintOfKey).map((thumbprint) => {
          const known = world.status?.keys?.find((reported) => reported.thumbprint === thumbprint);
          return each.byKid && known ? known.kid : thumbprint;
        });
        break;
      case "spoil": {
        const { document } = each;
        world.editConfigMap(document === undefined ? undefined : (configMap) => ({ ...configMap, data: { "jwks.json": document } }));
        break;
      }
      case "wait": {
        const endMs = this.#nowMs + each.forMs;
        for (let nextAtMs = this.run(); nextAtMs !== undefined && nextAtMs <= endMs; nextAtMs = this.run()) {
          expect(nextAtMs).toBeGreaterThan(this.#nowMs);
          this.#nowMs = nextAtMs;
        }
        this.#nowMs = endMs;
      }
    }
    this.run();
  }
}

test("every key that signed is published for its time, and no key that is revoked is, under any name of the document", () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 40, size: "max" }), (commands) => {
      const story = new Story();
      for (const each of commands) story.play(each);
    }),
    { numRuns },
  );
});
