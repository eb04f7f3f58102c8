// Both kinds to one form: defaults, what the predecessor does, and what is refused.
import { describe, expect, test } from "vitest";
import { defaultSpec } from "../../../test/jwks-world.ts";
import { type JWKS, JWKS as JWKSKind, type JWKSConfig } from "./api.ts";
import { settingsOfJwks, settingsOfJwksConfig } from "./settings.ts";

const config = (spec: Partial<JWKSConfig["spec"]> = {}, annotations: Record<string, string> = {}) =>
  settingsOfJwksConfig({ metadata: { name: "site", annotations }, spec: { ...defaultSpec, ...spec } });

/** A manifest for the predecessor, decoded as the API server would default it. */
function predecessor(spec: object, annotations: Record<string, string> = {}) {
  const decoded = JWKSKind.decode(Object.assign({ metadata: { name: "site", annotations } }, { spec }));
  if (!decoded.ok) throw new Error(decoded.problems.join("; "));
  const object: JWKS = decoded.object;
  return settingsOfJwks(object);
}

describe("a JWKSConfig", () => {
  test("has the documented defaults", () => {
    expect(config()).toMatchObject({
      ok: true,
      settings: {
        sources: ["tls"],
        oldKeys: { type: "keep", ttlMs: 720 * 3_600_000 },
        keyId: "Thumbprint",
        rsaAlgorithm: "RS256",
        cleanupOnDelete: false,
        nginx: { configMapName: "nginx", cacheSeconds: 3600, corsOrigins: ["*"], pods: { replicas: 1 } },
      },
    });
  });

  test("names every source once, the one that signs first", () => {
    expect(config({ certificateSecrets: ["next", "tls", "next", "old"] })).toMatchObject({ settings: { sources: ["tls", "next", "old"] } });
  });

  test.each([{ updateStrategy: "immediate" as const }, { keepOldKeys: false }, { oldKeysTTL: "0" }])("replaces old keys with %j", (spec) => {
    expect(config(spec)).toMatchObject({ settings: { oldKeys: { type: "replace" } } });
  });

  test.each(["876001h", "99999999h", "9999999999h"])("stored with an oldKeysTTL of %s, keeps keys for the longest there is", (oldKeysTTL) => {
    expect(config({ oldKeysTTL })).toMatchObject({ settings: { oldKeys: { type: "keep", ttlMs: 876_000 * 3_600_000 } } });
  });

  test("reads the keys to revoke", () => {
    expect(config({}, { "keyturn.io/revoke": " a, b,,c " })).toMatchObject({ settings: { revoked: new Set(["a", "b", "c"]) } });
  });

  test("serves nothing unless asked to", () => {
    const { nginxConfigMapName: _, ...spec } = defaultSpec;
    expect(settingsOfJwksConfig({ metadata: { name: "site" }, spec })).toMatchObject({ settings: { nginx: undefined } });
  });

  test.each([
    [{ oldKeysTTL: "30 days" }, 'oldKeysTTL "30 days" is not a duration such as 720h or 1h30m'],
    [{ nginxConfigMapName: "keys" }, "nginxConfigMapName and configMapName must differ"],
  ])("refuses %j", (spec, message) => {
    expect(config(spec)).toEqual({ ok: false, message });
  });
});

describe("a JWKS of the predecessor", () => {
  const spec = { certificateSecret: "tls", configMapName: "keys", reconcileInterval: "nonsense", jwksUpdateInterval: "6h" };

  test("is served as the predecessor would, as far as verifiers can see", () => {
    expect(predecessor(spec)).toMatchObject({
      ok: true,
      settings: { keyId: "CertificateSHA1", rsaAlgorithm: "RS512", algorithm: undefined, cleanupOnDelete: false, nginx: undefined },
    });
  });

  test("is changed by annotations", () => {
    expect(predecessor(spec, { "keyturn.io/key-id": "Thumbprint", "keyturn.io/algorithm": "RS256", "keyturn.io/revoke": "a" })).toMatchObject({
      settings: { keyId: "Thumbprint", algorithm: "RS256", revoked: new Set(["a"]) },
    });
  });

  test("stored with an oldKeysTTL that is longer than any may be written now, is read all the same", () => {
    expect(predecessor({ ...spec, oldKeysTTL: `${"0".repeat(70)}1h` })).toMatchObject({ settings: { oldKeys: { type: "keep", ttlMs: 3_600_000 } } });
  });

  test("stored with an oldKeysTTL beyond all dates, keeps keys for the longest there is", () => {
    expect(predecessor({ ...spec, oldKeysTTL: "99999999h" })).toMatchObject({ settings: { oldKeys: { type: "keep", ttlMs: 876_000 * 3_600_000 } } });
  });

  test("keepOldKeys: false is honoured", () => {
    expect(predecessor({ ...spec, keepOldKeys: false })).toMatchObject({ settings: { oldKeys: { type: "replace" } } });
  });

  test.each([
    [{ ...spec, certificateSecret: "" }, {}, "certificateSecret is empty; name the Secret with the certificate"],
    [{ ...spec, configMapName: "" }, {}, "configMapName is empty; name the ConfigMap to publish in"],
    [{ ...spec, oldKeysTTL: "soon" }, {}, 'oldKeysTTL "soon" is not a duration such as 720h or 1h30m'],
    [spec, { "keyturn.io/key-id": "x" }, "the annotation keyturn.io/key-id must be one of Thumbprint, CertificateSHA1"],
    [spec, { "keyturn.io/algorithm": "none" }, "the annotation keyturn.io/algorithm is not an algorithm such as RS256"],
  ])("what its schema lets through and cannot be used is refused: %#", (spec, annotations, message) => {
    expect(predecessor(spec, annotations)).toEqual({ ok: false, message });
  });
});
