// Random stories of people who edit a spec while keys come and go: a key that was promised until some time is there until then, unless it is revoked.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { fixedCertificates, secretData } from "../../../test/certificates.ts";
import { JwksWorld } from "../../../test/jwks-world.ts";

/** The same stories everywhere; `SEED=42` plays others, `JWKS_RUNS=5000` more of them. */
const numRuns = Number(process.env["JWKS_RUNS"] ?? 200);
const sources = ["tls", "next"] as const;
const pool = Array.from({ length: 5 }, (_, index) => {
  const [{ certificate, privateKey }] = fixedCertificates("p256", index);
  return secretData(certificate, privateKey);
});

/** Everything in a spec that keys depend on, but `maxKeys`: to let keys go before their time is what that is for. */
const edit = fc.oneof(
  { weight: 3, arbitrary: fc.record({ updateStrategy: fc.constantFrom("rolling" as const, "immediate" as const) }) },
  { weight: 3, arbitrary: fc.record({ keepOldKeys: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ oldKeysTTL: fc.constantFrom("0", "1s", "1h", "3h", "99999999h", "soon") }) },
  { weight: 1, arbitrary: fc.record({ certificateSecret: fc.constantFrom(...sources) }) },
  { weight: 1, arbitrary: fc.record({ certificateSecrets: fc.subarray([...sources]) }) },
  { weight: 1, arbitrary: fc.record({ configMapName: fc.constantFrom("keys", "others", "nginx") }) },
  { weight: 1, arbitrary: fc.record({ keyId: fc.constantFrom("Thumbprint" as const, "CertificateSHA1" as const) }) },
);

const command = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant("put"), source: fc.constantFrom(...sources), key: fc.nat(pool.length - 1) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("lose"), source: fc.constantFrom(...sources) }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant("edit"), edit }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant("wait"), forMs: fc.constantFrom(2000, 60_000, 1_800_000, 3_600_000) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("revoke"), index: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("spoil"), document: fc.constantFrom('{"keys":[]}', undefined) }) },
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

function live(commands: readonly Command[]): void {
  const world = new JwksWorld();
  let nowMs = Date.UTC(2026, 0, 1);
  /** What was reported to people, by `kid`. A key that is in use again has no date, until it is replaced again. */
  const promised = new Map<string, string>();
  const thumbprints = new Map<string, string | undefined>();
  /** A revocation takes the key, under every name that it has. */
  const isRevoked = (kid: string): boolean => world.status?.revoked?.some(({ thumbprint }) => thumbprint === thumbprints.get(kid)) === true;

  const run = (): number | undefined => {
    const { nextAtMs } = world.run(nowMs);
    const reported = new Map(world.status?.keys?.map((key) => [key.kid, key]));
    for (const [kid, removeAt] of promised) {
      const key = reported.get(kid);
      if (isRevoked(kid) || Date.parse(removeAt) <= nowMs || key?.state === "Active") {
        promised.delete(kid);
      } else {
        expect(world.condition("Ready") === "False InvalidSpec" ? [...reported.keys()] : world.kids).toContain(kid);
        expect(key?.removeAt).toBe(removeAt);
      }
    }
    for (const { kid, removeAt, thumbprint } of reported.values()) {
      thumbprints.set(kid, thumbprint);
      if (removeAt === undefined) continue;
      expect(removeAt).toMatch(/^\d{4}-/);
      promised.set(kid, removeAt);
    }
    return nextAtMs;
  };

  for (const each of commands) {
    if (each.type === "put") world.putSecret(each.source, pool[each.key]);
    if (each.type === "lose") world.putSecret(each.source, undefined);
    if (each.type === "edit") world.spec = { ...world.spec, ...each.edit };
    if (each.type === "revoke") world.revoked = world.kids.slice(each.index, each.index + 1);
    if (each.type === "spoil") {
      const { document } = each;
      world.editConfigMap(document === undefined ? undefined : (configMap) => ({ ...configMap, data: { "jwks.json": document } }));
    }
    if (each.type === "wait") {
      const endMs = nowMs + each.forMs;
      for (let nextAtMs = run(); nextAtMs !== undefined && nextAtMs <= endMs; nextAtMs = run()) nowMs = nextAtMs;
      nowMs = endMs;
    }
    run();
  }
}

test("a key that was promised until some time is published until then, whatever is edited meanwhile", () => {
  fc.assert(fc.property(fc.array(command, { maxLength: 40, size: "max" }), live), { numRuns });
});
