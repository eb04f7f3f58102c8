import { describe, expect, it } from "vitest";
import { statusData, credentialStatusOf, parseSubject, placed } from "./credentials.ts";
import { statusWith, nowMs, report } from "./credential-status.fixture.ts";

const status = statusWith({
  issue: [report({ kind: "EventingAuth", name: "runtime-1" })],
  rotate: [
    report({ name: "key-live", about: ["key-live", "keys", "key"] }),
    report({ name: "key-old", about: ["key-old", "keys", "key"] }),
    report({ name: "other", about: ["other", "others"] }),
    report({ name: "key-live", namespace: "elsewhere", about: ["key-live", "keys"] }),
  ],
  publish: [
    report({ kind: "JWKSConfig", name: "tokens", about: ["tokens", "key-live", "tokens-jwks"] }),
    report({ kind: "JWKSConfig", name: "unrelated", about: ["unrelated", "signer"] }),
  ],
  verify: [report({ kind: "SecretCheckSum", name: "secret-1" }), report({ kind: "Agent", name: "edge-1", namespace: "elsewhere" })],
});

function found(subject: string): readonly string[] {
  return placed(credentialStatusOf(status, parseSubject(subject))).map(
    ({
      report: {
        ref: { kind, namespace, name },
      },
    }) => `${kind} ${namespace}/${name}`,
  );
}

describe("the status of one credential", () => {
  it("goes from the source Secret through its versions to where they are published and verified", () => {
    const whole = ["RotationTarget shop/key-live", "RotationTarget shop/key-old", "JWKSConfig shop/tokens", "SecretCheckSum shop/secret-1"];
    expect(found("key")).toEqual(whole);
    expect(found("secret/key")).toEqual(whole);
    expect(found("jwksconfig/tokens")).toEqual(whole);
    expect(found("JWKSConfigs/tokens")).toEqual(whole);
    expect(found("rotationtargets.rotator.k8s.telekom.com/key-old")).toEqual(whole);
  });

  it("does not mix namespaces up", () => {
    expect(found("keys")).toContain("RotationTarget elsewhere/key-live");
    expect(found("keys")).toContain("Agent elsewhere/edge-1");
    expect(found("tokens")).not.toContain("RotationTarget elsewhere/key-live");
  });

  it("has what a wider scope says of it, wherever that is published", () => {
    const verify = [
      report({ kind: "SecretCheckSum", name: "secret-1", namespace: "gate", covers: ["bank", "shop"] }),
      report({ kind: "SecretCheckSum", name: "secret-2", namespace: "bank" }),
    ];
    const wide = statusWith({ publish: [report({ kind: "JWKSConfig", name: "tokens" })], verify });
    const found = placed(credentialStatusOf(wide, parseSubject("tokens"))).map(({ report: { ref } }) => ref.name);
    expect(found).toEqual(["tokens", "secret-1"]);
    expect(statusData(wide)).toMatchObject({
      steps: [{}, {}, {}, { objects: expect.arrayContaining([expect.objectContaining({ name: "secret-1", covers: ["bank", "shop"] })]) }, {}],
    });
  });

  it("finds a single object, and nothing", () => {
    expect(found("agent/edge-1")).toEqual(["Agent elsewhere/edge-1"]);
    expect(found("jwksconfig/key-live")).toEqual([]);
    expect(found("nothing")).toEqual([]);
  });
});

it("has every fact, with times that programs can read", () => {
  const status = statusWith({ rotate: [report({ next: { atMs: nowMs + 1000, what: "gets version 2" } })] });
  expect(statusData(status)).toMatchObject({
    time: "2026-01-02T03:04:05.000Z",
    namespace: "shop",
    steps: [
      { step: "issue", controller: "eventing-auth", counts: { healthy: 0 } },
      {
        step: "rotate",
        health: "healthy",
        doubts: [],
        counts: { failed: 0, degraded: 0, unknown: 0, progressing: 0, paused: 0, healthy: 1 },
        leases: [{ controller: "rotation", holder: "keyturn-0", state: "held" }],
        objects: [{ name: "a", since: "2026-01-02T02:59:05.000Z", next: { at: "2026-01-02T03:04:06.000Z", what: "gets version 2" }, about: ["a"] }],
      },
      {},
      {},
      {},
    ],
  });
});
