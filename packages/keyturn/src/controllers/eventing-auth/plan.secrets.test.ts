// When a client secret counts as lost, when it is replaced, and how many of them there may be.
import { describe, expect, test } from "vitest";
import { tokenIssued } from "./conditions.ts";
import { endpoints, IssuingWorld } from "./issuing-world.fixture.ts";
import type { ObservedTenant } from "./observe.ts";
import { planStep } from "./plan.ts";

test("a secret that runs out by itself is replaced before that", () => {
  const world = new IssuingWorld();
  world.run();
  world.askedAt = undefined;
  const [application] = world.applications.values();
  const [hint = ""] = application?.secrets.keys() ?? [];
  world.overlapMs = 3_600_000;
  const tenant = { endpoints, application: { id: application?.id ?? "", clientId: application?.clientId ?? "", trace: "ours" } } as const;
  const validToMs = world.nowMs + 7_200_000;
  expect(planStep(world.observe({ ...tenant, secrets: [{ hint, validToMs }] }), world.nowMs)).toMatchObject({
    type: "idle",
    nextAtMs: validToMs - 3_600_000,
  });
  expect(planStep(world.observe({ ...tenant, secrets: [{ hint, validToMs }] }), validToMs - 3_600_000)).toMatchObject({
    type: "issue",
    why: "rotation",
  });
});

describe("a client secret that the provider does not list", () => {
  /** A while after it was issued, with a list in which it is not. */
  const unlisted = (): { readonly world: IssuingWorld; readonly tenant: ObservedTenant } => {
    const world = new IssuingWorld();
    world.run();
    [world.askedAt, world.nowMs] = [undefined, world.nowMs + 60_000];
    const [{ id = "", clientId = "" } = {}] = world.applications.values();
    return { world, tenant: { endpoints, application: { id, clientId, trace: "ours" }, secrets: [] } };
  };
  const refused = { holds: false, reason: "CredentialsRefused", message: "no" } as const;
  const unheard = { holds: false, reason: "TokenEndpointFailed", message: "no answer" } as const;

  test("is replaced once the token endpoint does not accept it either", () => {
    const { world, tenant } = unlisted();
    expect(planStep(world.observe(tenant), world.nowMs)).toEqual({ type: "check" });
    expect(planStep(world.observe({ ...tenant, credentials: refused }), world.nowMs)).toMatchObject({ type: "issue", why: "repair" });
  });

  test.each([
    ["gives a token for it", tokenIssued(0)],
    ["cannot be asked", unheard],
  ])("stays if the token endpoint %s, and so do those that are listed", (_what, credentials) => {
    const { world, tenant } = unlisted();
    const secrets = [{ hint: "another", validToMs: undefined }];
    expect(planStep(world.observe({ ...tenant, secrets, credentials }), world.nowMs)).toMatchObject({
      type: "idle",
      nextAtMs: world.nowMs + 300_000,
      reports: { secret: { holds: true } },
    });
  });

  test("stays as long as a new one may take to become known", () => {
    const { world, tenant } = unlisted();
    world.nowMs -= 1;
    expect(planStep(world.observe({ ...tenant, credentials: refused }), world.nowMs)).toMatchObject({ type: "idle" });
  });
});

test("client secrets that never work for as long as the overlap are replaced halfway through, and stay few", () => {
  const world = new IssuingWorld();
  world.overlapMs = 3_600_000;
  world.lifetimeMs = 1_800_000;
  world.run();
  for (const hour = world.nowMs + 3_600_000; world.nowMs < hour; world.nowMs += 60_000) world.run();
  // Every quarter of an hour.
  expect(world.issued).toBe(4);
});

test("whoever says again and again that the client secret is old gets no more of them than can be kept in sight", () => {
  const world = new IssuingWorld();
  [world.rotateAfterMs, world.overlapMs] = [86_400_000, 3_600_000];
  for (let runs = 0; runs < 50; runs++) {
    world.run();
    if (world.secret) world.secret = { ...world.secret, issuedAtMs: 0 };
  }
  const [application] = world.applications.values();
  expect(application?.secrets.size).toBeLessThan(12);
});
