import { VirtualClock } from "@keyturn/runtime/testing";
import { describe, expect, it } from "vitest";
import { coloured, plain, visibleText } from "../text.ts";
import { statusWith, nowMs, report } from "./credential-status.fixture.ts";
import { blindText, credentialText, overviewText, whenSettled } from "./status-text.ts";

const busy = statusWith(
  {
    rotate: [
      report({ name: "key-live", health: "failed", reason: "NameConflict", message: "a Secret of that name is not this target's" }),
      report({ name: "key-next", next: { atMs: nowMs + 2_520_000, what: "gets version 4" } }),
    ],
    publish: [report({ kind: "JWKSConfig", name: "tokens", health: "progressing", reason: "UpdateDeferred" })],
  },
  {
    issue: { unread: [{ resource: "eventingauths.operator.kyma-project.io", reason: "missing", message: "" }], leases: [], absent: true },
    verify: { unread: [{ resource: "leases.coordination.k8s.io", reason: "forbidden", message: "list leases in namespace shop" }] },
    "roll out": { leases: [{ controller: "sidecars", namespace: "ops", holder: "keyturn-1", state: "expired", renewedMs: 0, acquiredMs: 0 }] },
  },
);

it("shows each step, what needs attention, what comes next, and what could not be read", () => {
  expect(overviewText(busy, plain)).toMatchInlineSnapshot(`
    "STEP       OBJECTS               LED BY                         NEXT
    issue      not installed         nobody                         -
    rotate     1 failed, 1 healthy   keyturn-0                      in 42m: rotationtarget/shop/key-next gets version 4
    publish    1 progressing         keyturn-0                      -
    verify     not readable          keyturn-0                      -
    roll out   none                  nobody (keyturn-1 is silent)   -

    NEEDS ATTENTION (1)
      rotate: rotationtarget/shop/key-live NameConflict, for 5m
        a Secret of that name is not this target's

    NEXT
      in 42m:  rotate: rotationtarget/shop/key-next gets version 4

    issue: eventingauths.operator.kyma-project.io is not served here; if this step is wanted, apply what \`keyturn crds\` prints
    verify: leases.coordination.k8s.io is not shown: you lack the right to list leases in namespace shop"
  `);
});

it("what was read before a watch broke off is said to be so, and that nothing could be read is an error of its own", () => {
  const failing = { resource: "rotationtargets.rotator.k8s.telekom.com", reason: "failing", message: "connect ECONNREFUSED" } as const;
  const broken = statusWith({ rotate: [report({ name: "key-live" })] }, { rotate: { unread: [failing] } });
  expect(overviewText(broken, plain)).toMatch(/^rotate +1 unknown +keyturn-0/m);
  expect(blindText(broken)).toBe("nothing could be read: connect ECONNREFUSED");
  expect(blindText(busy)).toBe("nothing could be read: you lack the right to list leases in namespace shop");
});

it("shows one credential step by step", () => {
  expect(credentialText(busy, plain)).toMatchInlineSnapshot(`
    "STEP      OBJECT                         HEALTH        REASON           SINCE   DETAIL   NEXT
    rotate    rotationtarget/shop/key-live   failed        NameConflict     5m      v1       -
    rotate    rotationtarget/shop/key-next   healthy       UpToDate         5m      v1       in 42m: gets version 4
    publish   jwksconfig/shop/tokens         progressing   UpdateDeferred   5m      v1       -

    NEEDS ATTENTION (1)
      rotate: rotationtarget/shop/key-live NameConflict, for 5m
        a Secret of that name is not this target's

    issue: eventingauths.operator.kyma-project.io is not served here; if this step is wanted, apply what \`keyturn crds\` prints
    verify: leases.coordination.k8s.io is not shown: you lack the right to list leases in namespace shop"
  `);
});

it("says little when there is little to say", () => {
  expect(overviewText(statusWith({}), plain)).toMatchInlineSnapshot(`
    "STEP       OBJECTS   LED BY      NEXT
    issue      none      keyturn-0   -
    rotate     none      keyturn-0   -
    publish    none      keyturn-0   -
    verify     none      keyturn-0   -
    roll out   none      keyturn-0   -"
  `);
});

it("cuts a long list, and says so", () => {
  const many = Array.from({ length: 25 }, (_, index) => report({ name: `t${index}`, health: "failed", reason: "Conflict" }));
  const text = overviewText(statusWith({ rotate: many }), plain);
  expect(text).toContain("NEEDS ATTENTION (25)");
  expect(text).toContain("… and 5 more; -o wide shows them all");
});

it("has the same words in colour", () => {
  // oxlint-disable-next-line no-control-regex -- the escape character is what it is about
  expect(visibleText(overviewText(busy, coloured)).replaceAll(/\u001b\[\d*m/g, "")).toBe(overviewText(busy, plain));
  expect(visibleText(overviewText(busy, coloured))).toContain("\u001b[31m1 failed\u001b[0m");
});

it("waits for a watch that is syncing, not for one that is refused or not served, and for one that fails only so long", async () => {
  const clock = new VirtualClock();
  const { signal } = new AbortController();
  let synced = false;
  let settled = false;
  const forbidden = { synced: false, state: { type: "forbidden", rule: "list secrets" } } as const;
  const failing = { synced: false, state: { type: "retrying", error: "reset" } } as const;
  const done = whenSettled([() => ({ synced, state: { type: "syncing" } }), () => forbidden, () => failing], {
    clock,
    patienceMs: 5000,
    signal,
  }).then(() => (settled = true));
  await clock.advance(4000);
  synced = true;
  await clock.advance(500);
  expect(settled).toBe(false);
  await clock.advance(600);
  await done;
  expect(settled).toBe(true);
});

describe("a step that nobody leads", () => {
  const silent = { controller: "rotation", namespace: "ops", holder: "keyturn-1", state: "expired", renewedMs: 0, acquiredMs: 0 } as const;
  const unled = statusWith({ rotate: [report({ name: "key-live" })] }, { rotate: { leases: [silent] } });

  it("is unknown, whatever was last reported, and needs attention", () => {
    expect(overviewText(unled, plain)).toMatch(/^rotate +1 unknown +nobody \(keyturn-1 is silent\)/m);
    expect(overviewText(unled, plain)).toContain(
      "NEEDS ATTENTION (1)\n  rotate: NotLed\n    no leader: keyturn-1 has not renewed its Lease since 1970-01-01T00:00:00.000Z",
    );
    expect(visibleText(overviewText(unled, coloured))).not.toContain("\u001b[32m");
    expect(visibleText(overviewText(statusWith({ rotate: [report()] }), coloured))).toContain("\u001b[32m1 healthy");
  });

  it("is also one of whose controllers one has no Lease", () => {
    const controllers = [
      { name: "jwks", resources: ["jwksconfigs.a"] },
      { name: "jwks-rieset", resources: ["jwkss.a"] },
    ];
    const half = statusWith({ publish: [report({ kind: "JWKSConfig" })] }, { publish: { controllers } });
    expect(overviewText(half, plain)).toMatch(/^publish +1 healthy \(as last reported\) +keyturn-0, nobody \(jwks-rieset has no Lease\)/m);
    expect(overviewText(half, plain)).not.toContain("NEEDS ATTENTION");
    // What is its own to look after may be long out of date.
    const both = statusWith({ publish: [report({ kind: "JWKSConfig" }), report({ kind: "JWKS" })] }, { publish: { controllers } });
    expect(overviewText(both, plain)).toMatch(/^publish +1 unknown, 1 healthy /m);
    expect(overviewText(both, plain)).toContain("NEEDS ATTENTION (1)\n  publish: NotLed\n    no leader: controller jwks-rieset has no Lease");
  });

  it("is not known to be one while Leases cannot be read, and not green either", () => {
    const leasesUnread = { resource: "leases.coordination.k8s.io", reason: "failing", message: "reset" } as const;
    const unknown = statusWith({ rotate: [report()] }, {}, leasesUnread);
    expect(overviewText(unknown, plain)).not.toContain("NEEDS ATTENTION");
    expect(unknown.steps.map(({ health }) => health)).toEqual(["unknown", "unknown", "unknown", "unknown", "unknown"]);
    expect(visibleText(overviewText(unknown, coloured))).not.toContain("\u001b[32m");
  });
});
