// What counts as secret and what does not, in text and in data.
import { createECDH, createHash, createPrivateKey, createPublicKey } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { redactAndCut, redactData, redactText, safeErrorPlace } from "./redaction.ts";

/** Always the same: of ten thousand keys one has letters in its public part that begin a token. */
const ecdh = createECDH("prime256v1");
const d = createHash("sha256").update("a key of tests").digest();
ecdh.setPrivateKey(d);
const [x, y] = [ecdh.getPublicKey().subarray(1, 33), ecdh.getPublicKey().subarray(33)];
const inBase64 = Object.fromEntries(Object.entries({ d, x, y }).map(([name, bytes]) => [name, bytes.toString("base64url")]));
const privateKey = createPrivateKey({ format: "jwk", key: { kty: "EC", crv: "P-256", ...inBase64 } });
const publicKey = createPublicKey(privateKey);
const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const jwt = `${part({ alg: "RS256" })}.${part({ sub: "system:serviceaccount:shop:web" })}.${createHash("sha256").update("x").digest("base64url")}`;
const data = (value: unknown): unknown => redactData(value, (error) => error.message);

describe("redactText", () => {
  test.each([
    [`could not parse ${pem}`, "could not parse [redacted]\n"],
    [pem.slice(0, 80), "[redacted]"],
    [JSON.stringify(pem), '"[redacted]\\n"'],
    [`key ${Buffer.from(pem).toString("base64")}!`, "key [redacted]!"],
    [`refused ${jwt} as expired`, "refused [redacted] as expired"],
    [`cut ${jwt.slice(0, 30)}`, "cut [redacted]"],
    [`data ${Buffer.from(jwt).toString("base64")}.`, "data [redacted]."],
    ["Authorization: Bearer abc123def456", "Authorization: Bearer [redacted]"],
    ["sent authorization=Basic dXNlcjpwYXNz", "sent authorization=Basic [redacted]"],
    ["postgres://admin:hunter2@db:5432/x", "postgres://admin:[redacted]@db:5432/x"],
    ["https://idp/token?client_secret=s3cr3t&grant_type=x", "https://idp/token?client_secret=[redacted]&grant_type=x"],
    ['{"access_token":"opaque","expires_in":3600}', '{"access_token":"[redacted]","expires_in":3600}'],
    [String.raw`"{\"password\":\"hun\\\"ter2\"}"`, String.raw`"{\"password\":\"[redacted]\"}"`],
    ['{"password":"hun\\"ter2","a":1}', '{"password":"[redacted]","a":1}'],
    ["password: hunter2", "password: [redacted]"],
    ['spec.a: Invalid value: "hun\\"ter 2": no match', "spec.a: Invalid value: [redacted]: no match"],
    ['spec.password: Invalid value: "hunter2', "spec.password: [redacted] value: [redacted]"],
    ["spec.a: Unsupported value: 4711, spec.b: Duplicate value: x", "spec.a: Unsupported value: [redacted], spec.b: Duplicate value: [redacted]"],
    ["db-password=hunter2, retry", "db-password=[redacted], retry"],
    ["aws_secret_access_key = hunter2", "aws_secret_access_key = [redacted]"],
    ["Server=db;Pwd=hunter2;Encrypt=yes", "Server=db;Pwd=[redacted];Encrypt=yes"],
    ["-----BEGIN PGP PRIVATE KEY BLOCK-----\nhunter2\n", "[redacted]"],
    ["token: 0123456789abcdef0123", "token: [redacted]"],
    ['{"kind":"Secret","data":{"a":"aHVudGVyMg=="}}', '{"kind":"Secret","data":"[redacted]"}'],
    [
      '{"kty":"EC","crv":"P-256","x":"public","d":"870MB6gfuTJ4HtUnUvYMyJpr5eUZNP4Bk43bVdj3eAE"}',
      '{"kty":"EC","crv":"P-256","x":"public","d":"[redacted]"}',
    ],
  ])("%j", (text, safe) => {
    expect(redactText(text)).toBe(safe);
  });

  test.each([
    'secrets "tls" not found in namespace shop',
    "could not read secret shop/tls: connection refused",
    "token: expired",
    "basic authentication is not offered",
    "bearer token was refused",
    "the password policy is fine",
    "GET https://10.0.0.1:6443/api/v1/secrets?continue=abc: 410",
    "a@example.com and https://user@example.com/ are no secrets",
    publicKey.export({ type: "spki", format: "pem" }).toString(),
  ])("leaves %j as it is", (text) => {
    expect(redactText(text)).toBe(text);
  });

  test("is done before cutting, so that no part of a secret is left", () => {
    const cut = redactAndCut(`${"x".repeat(20)} ${jwt}`, 40);
    expect(cut).toBe(`${"x".repeat(20)} [redacted]`);
    expect(redactAndCut("y".repeat(50), 10)).toBe(`${"y".repeat(9)}…`);
  });

  test.each(["a.b-c_", "token", "token=", "token: ", '"data":{', '"password":"', "://a", "-----BEGIN ", "eyJ", "Bearer ", "\\\\"])(
    "takes linear time for a lot of %j",
    (piece) => {
      const text = `${piece.repeat(50_000)} token: expired`;
      expect(redactText(text)).toBeTypeOf("string");
    },
  );

  test("finds tokens and keys wherever they stand, and is stable", () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom(pem.trim(), jwt, "Bearer s3cr3t-t0ken-value"), fc.string(), (before, secret, after) => {
        const safe = redactText(`${before} ${secret} ${after}`);
        expect(safe).not.toContain(secret.slice(10, 40));
        expect(redactText(safe)).toBe(safe);
      }),
    );
  });
});

describe("redactData", () => {
  test("goes by the names of fields", () => {
    expect(
      data({
        token: "abc",
        idToken: "x",
        headers: { Authorization: "y", cookie: ["z"] },
        "tls.key": "k",
        client_secret: 1,
        key: "shop/web",
        secret: "shop/tls",
        tokenPath: "/var",
      }),
    ).toEqual({
      token: "[redacted]",
      idToken: "[redacted]",
      headers: { Authorization: "[redacted]", cookie: "[redacted]" },
      "tls.key": "[redacted]",
      client_secret: "[redacted]",
      key: "shop/web",
      secret: "shop/tls",
      tokenPath: "/var",
    });
  });

  test("knows Secrets with and without their kind, and leaves other objects' data", () => {
    const metadata = { name: "a", annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" } };
    const shown = { name: "a", annotations: { "kubectl.kubernetes.io/last-applied-configuration": "[redacted]" } };
    expect(data({ kind: "Secret", metadata, data: { a: "b" }, stringData: { c: "d" } })).toEqual({
      kind: "Secret",
      metadata: shown,
      data: "[redacted]",
      stringData: "[redacted]",
    });
    expect(data([{ metadata, data: { a: "b" } }])).toEqual([{ metadata: shown, data: "[redacted]" }]);
    expect(data({ kind: "ConfigMap", metadata: { name: "a" }, data: { a: "b" } })).toEqual({
      kind: "ConfigMap",
      metadata: { name: "a" },
      data: { a: "b" },
    });
  });

  test.each<[string, unknown, unknown]>([
    ["a variable of a container", { name: "DB_PASSWORD", value: "hunter2" }, { name: "DB_PASSWORD", value: "[redacted]" }],
    ["a variable named after a secret", { name: "SHOP_SECRET", value: "hunter2" }, { name: "SHOP_SECRET", value: "[redacted]" }],
    ["another variable", { name: "LEVEL", value: "info" }, { name: "LEVEL", value: "info" }],
    ["a header", { name: "Authorization", value: "hunter2" }, { name: "Authorization", value: "[redacted]" }],
    ["an operation on a Secret", { op: "add", path: "/data/a", value: "hunter2" }, { op: "add", path: "/data/a", value: "[redacted]" }],
    ["an operation on all of it", { op: "replace", path: "", value: { a: "b" } }, { op: "replace", path: "", value: "[redacted]" }],
    ["an operation on a password", { op: "test", path: "/spec/password", value: "x" }, { op: "test", path: "/spec/password", value: "[redacted]" }],
    ["another operation", { op: "add", path: "/spec/replicas", value: 3 }, { op: "add", path: "/spec/replicas", value: 3 }],
    ["a Secret without metadata", { type: "kubernetes.io/tls", data: { a: "b" } }, { type: "kubernetes.io/tls", data: "[redacted]" }],
    ["a login to a registry", { auths: { "r.example": { auth: "aA==" } } }, { auths: { "r.example": { auth: "[redacted]" } } }],
    [
      "other names",
      { secretKey: "x", secret_key: "x", pwd: "x", credentials: {} },
      Object.fromEntries(["secretKey", "secret_key", "pwd", "credentials"].map((name) => [name, "[redacted]"])),
    ],
  ])("knows %s", (_, value, shown) => {
    expect(data({ value })).toEqual({ value: shown });
  });

  test("never throws, whatever reading a value does, and says nothing of what was thrown", () => {
    const fail = (): never => {
      throw new Error("hunter2");
    };
    const getter = Object.defineProperty({}, "a", { enumerable: true, get: fail });
    expect(data({ a: getter, b: new Proxy({}, { ownKeys: fail }), c: { toJSON: fail }, d: [getter, 1], e: "ok" })).toEqual({
      a: "[unreadable]",
      b: "[unreadable]",
      c: "[unreadable]",
      d: ["[unreadable]", 1],
      e: "ok",
    });
    expect(data(getter)).toBe("[unreadable]");
  });

  test("keeps the public part of a key", () => {
    const jwk = privateKey.export({ format: "jwk" });
    expect(data({ jwk })).toEqual({ jwk: { ...jwk, d: "[redacted]" } });
  });

  test("returns what is clean untouched, and copies nothing", () => {
    const clean = { key: "shop/web", count: 3, list: ["a", { b: null }], when: new Date(0), flag: { automountServiceAccountToken: true } };
    expect(data(clean)).toBe(clean);
  });

  test("takes anything: cycles, depth, bytes, maps, functions, errors", () => {
    const cycle: Record<string, unknown> = { a: 1 };
    cycle.self = cycle;
    expect(data(cycle)).toEqual({ a: 1, self: "[cut]" });
    expect(JSON.stringify(data({ a: { a: { a: { a: { a: { a: { a: { a: { a: 1 } } } } } } } } }))).toContain("[cut]");
    expect(data([Buffer.from("hunter2"), new Map([["password", "x"]]), () => 1, 5n, new Error("e"), new URL("https://a:b@c/")])).toEqual([
      "[7 bytes]",
      { password: "[redacted]" },
      "[function]",
      "5",
      "e",
      "https://a:[redacted]@c/",
    ]);
    expect(JSON.stringify(data(Array.from({ length: 5000 }, () => ({}))))).toContain("[cut]");
  });
});

// What is logged of an error whose words may be a Secret's.

it("shows the frames and nothing of the message, even if that looks like frames", () => {
  const { error, frames } = safeErrorPlace(new TypeError("secret\n    at secret (secret:1:1)"));
  expect(error).toBe("TypeError");
  expect(frames[0]).toMatch(/^at .*redaction\.test\.ts/);
  expect(JSON.stringify(frames)).not.toContain("secret:1:1");
});

it("finds the frames in a stack with a million empty lines", () => {
  const error = new Error("short");
  error.stack = `Error: ${"\n".repeat(1_000_000)}x\n    at somewhere (file.ts:1:1)`;
  expect(safeErrorPlace(error).frames).toEqual(["at somewhere (file.ts:1:1)"]);
});
