// Signatures cover all that an announcement says, and where it says it; changes are followed Secret by Secret.
import { generateKeyPairSync } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { changesBetween, isSigned, progressOf, readPublicKeys, readSigningKey, signed, type Statement, withChanges } from "./announcement.ts";
import { MemberSet } from "./members.ts";

const pair = generateKeyPairSync("ed25519");
const privatePem = pair.privateKey.export({ format: "pem", type: "pkcs8" }).toString();
const publicPem = pair.publicKey.export({ format: "pem", type: "spki" }).toString();
const [key, keys] = [readSigningKey(privatePem), readPublicKeys(publicPem)];

const statement: Statement = {
  namespace: "shop",
  kind: "SecretCheckSum",
  spec: {
    timestamp: "2026-01-01T00:00:00Z",
    announcement: { expires: "2026-01-01T00:10:00Z", changes: [{ name: "web-1", from: "1-1-a", to: "1-2-b", sha256: "c" }] },
  },
};
const signedSpec = { ...statement.spec, announcement: signed(statement, key) };

describe("a signature", () => {
  test("counts for exactly what was signed", () => {
    expect(isSigned({ ...statement, spec: signedSpec }, keys)).toBe(true);
  });

  const { announcement } = signedSpec;
  const [change] = announcement.changes ?? [];
  test.each<readonly [string, Statement]>([
    ["another namespace", { ...statement, spec: signedSpec, namespace: "bank" }],
    ["another kind", { ...statement, spec: signedSpec, kind: "IngressCheckSum" }],
    ["another time", { ...statement, spec: { ...signedSpec, timestamp: "2026-01-01T00:00:01Z" } }],
    ["another expiry", { ...statement, spec: { ...signedSpec, announcement: { ...announcement, expires: "2027-01-01T00:10:00Z" } } }],
    ["one change less", { ...statement, spec: { ...signedSpec, announcement: { ...announcement, changes: [] } } }],
    ["another name", { ...statement, spec: { ...signedSpec, announcement: { ...announcement, changes: [{ ...change, name: "web-2" }] } } }],
    [
      "another id before",
      { ...statement, spec: { ...signedSpec, announcement: { ...announcement, changes: [{ ...change, name: "web-1", from: "x" }] } } },
    ],
    [
      "another id",
      { ...statement, spec: { ...signedSpec, announcement: { ...announcement, changes: [{ ...change, name: "web-1", to: "1-3-b" }] } } },
    ],
    [
      "another content",
      { ...statement, spec: { ...signedSpec, announcement: { ...announcement, changes: [{ ...change, name: "web-1", sha256: "d" }] } } },
    ],
    [
      "a signature that is none",
      { ...statement, spec: { ...signedSpec, announcement: { ...announcement, signature: { key: key.id, value: "bm8=" } } } },
    ],
    [
      "an unknown key",
      {
        ...statement,
        spec: { ...signedSpec, announcement: { ...announcement, signature: { key: "00", value: announcement.signature?.value ?? "" } } },
      },
    ],
    ["no signature", statement],
  ])("does not count for %s", (_, changed) => {
    expect(isSigned(changed, keys)).toBe(false);
  });

  test("of any of several keys counts", () => {
    const other = generateKeyPairSync("ed25519").publicKey.export({ format: "pem", type: "spki" }).toString();
    expect(isSigned({ ...statement, spec: signedSpec }, readPublicKeys(other + publicPem))).toBe(true);
  });
});

test.each([
  ["nothing", "", "no public key"],
  ["a private key", privatePem, "no public key"],
  [
    "a key of another kind",
    generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "pem", type: "spki" }).toString(),
    "not an Ed25519 key",
  ],
])("a file of public keys that holds %s is refused", (_, text, message) => {
  expect(() => readPublicKeys(text)).toThrow(message);
});

test("one of two objects that share an id is gone when it is gone itself", () => {
  const members = new MemberSet();
  members.set("two/web-1", { state: "counted", id: "1-1-same", digest: "same" });
  const live = { member: (name: string) => members.get(name), hasId: (id: string) => members.state().ids.includes(id) };
  expect(progressOf([{ name: "one/web-1", from: "1-1-same" }], live)).toBe("complete");
  expect(progressOf([{ name: "two/web-1", from: "1-1-same" }], live)).toBe("pending");
});

test("a private key is never quoted", () => {
  expect(() => readSigningKey("-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----")).toThrow(/^(?!.*c2VjcmV0)/);
  expect(() => readSigningKey("secret")).toThrow("openssl genpkey -algorithm ed25519");
});

const ids = fc.uniqueArray(
  fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 3 })).map(([number, version]) => `${number}-${version}`),
  { maxLength: 6, selector: (id) => id.split("-")[0] },
);

test("the changes between two states, laid over the first, give the second, and are all done there", () => {
  fc.assert(
    fc.property(ids, ids, (from, to) => {
      const members = new MemberSet();
      for (const id of to) members.set(`web-${id.split("-")[0]}`, { state: "counted", id, digest: id });
      const changes = changesBetween(from, members);
      expect(withChanges(from, changes).toSorted()).toEqual(to.toSorted());
      const live = { member: (name: string) => members.get(name), hasId: (id: string) => to.includes(id) };
      expect(progressOf(changes, live)).toBe("complete");
    }),
  );
});
