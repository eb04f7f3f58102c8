// Both kinds to one form: defaults, what the predecessor does, and what is refused.
import { describe, expect, test } from "vitest";
import { defaultInstallation, defaultSpec } from "../../../test/jwks-world.ts";
import { type JWKS, JWKS as JWKSKind, type JWKSConfig } from "./api.ts";
import { settingsOfJwks, settingsOfJwksConfig } from "./settings.ts";

const config = (spec: Partial<JWKSConfig["spec"]> = {}, annotations: Record<string, string> = {}) =>
  settingsOfJwksConfig({ metadata: { name: "site", annotations }, spec: { ...defaultSpec, ...spec } }, defaultInstallation);

/** A manifest for the predecessor, decoded as the API server would default it. */
function predecessor(spec: object, annotations: Record<string, string> = {}) {
  const decoded = JWKSKind.decode(Object.assign({ metadata: { name: "site", annotations } }, { spec }));
  if (!decoded.ok) throw new Error(decoded.problems.join("; "));
  const object: JWKS = decoded.object;
  return settingsOfJwks(object, defaultInstallation);
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
        nginx: { configMapName: "nginx", answers: { cacheSeconds: 3600, corsOrigins: ["*"] }, pods: { replicas: 1 }, notAllowed: undefined },
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

  test("lets clients keep the document no longer than keys stay in it", () => {
    expect(config({ oldKeysTTL: "10m" })).toMatchObject({ settings: { nginx: { answers: { cacheSeconds: 600 } } } });
    expect(config({ oldKeysTTL: "0" })).toMatchObject({ settings: { nginx: { answers: { cacheSeconds: 3600 } } } });
  });

  test.each([
    [{ image: "evil:1" }, "the image evil:1 is not allowed in this installation"],
    [{ replicas: 100 }, "100 replicas are more than the 10 that are allowed"],
    [{ resources: { limits: { "nvidia.com/gpu": 1 } } }, "the resource nvidia.com/gpu may not be asked for; cpu, memory, ephemeral-storage may"],
    [{ resources: { requests: { cpu: "64" } } }, "cpu 64 is more than the 1 that is allowed"],
    [{ resources: { limits: { memory: "1e12" } } }, "memory 1e12 is more than the 512Mi that is allowed"],
    [{ resources: { limits: { constructor: "1" } } }, "the resource constructor may not be asked for"],
  ])("may not ask for %j", (nginx, message) => {
    expect(config({ nginx })).toMatchObject({ ok: true, settings: { nginx: { notAllowed: expect.stringContaining(message) } } });
  });

  test("may ask for what the installation allows", () => {
    const nginx = { image: "own:1", replicas: 20, resources: { limits: { cpu: "1500m", memory: "512Mi" } } };
    const installation = { ...defaultInstallation, allowedImages: ["own:1"], maxReplicas: 20, maxResources: { cpu: "2", memory: "0.5Gi" } };
    const object = { metadata: { name: "site" }, spec: { ...defaultSpec, nginx } };
    expect(settingsOfJwksConfig(object, installation)).toMatchObject({ settings: { nginx: { notAllowed: undefined, pods: nginx } } });
  });

  test("serves nothing unless asked to", () => {
    const { nginxConfigMapName: _, ...spec } = defaultSpec;
    expect(settingsOfJwksConfig({ metadata: { name: "site" }, spec }, defaultInstallation)).toMatchObject({ settings: { nginx: undefined } });
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
    expect(predecessor(spec, { "keyturn.io/key-id": "Thumbprint", "keyturn.io/algorithm": "RS256" })).toMatchObject({
      settings: { keyId: "Thumbprint", algorithm: "RS256" },
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
