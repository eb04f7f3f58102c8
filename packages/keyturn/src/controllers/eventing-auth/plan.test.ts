// Decisions one by one: what is left alone, what is waited for, what is said.
import { describe, expect, test } from "vitest";
import { IssuingWorld } from "./issuing-world.fixture.ts";
import { planStep } from "./plan.ts";

describe("nothing is done", () => {
  test("for an object in another namespace than the kubeconfigs", () => {
    const world = new IssuingWorld();
    world.served = false;
    expect(world.run()).toMatchObject({ type: "idle", complete: false });
    expect(world.applications.size).toBe(0);
    expect(world.status).toMatchObject({ state: "NotReady", conditions: [{ type: "Ready", reason: "NamespaceNotServed" }] });
  });

  test("at the tenant while the cluster of the runtime is not observed", () => {
    const world = new IssuingWorld();
    world.trouble = { reason: "TargetUnreachable", message: "connect ECONNREFUSED" };
    world.run();
    expect(world.applications.size).toBe(0);
    expect(world.status?.conditions?.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
      "SecretReady SecretCreationFailed",
      "TargetReachable TargetUnreachable",
      "Ready TargetUnreachable",
    ]);
  });

  test.each([1, 2])("with %i applications of the name that nothing shows to be ours", (count) => {
    const world = new IssuingWorld();
    for (let made = 0; made < count; made++) world.makeApplication();
    world.run();
    expect(world.applications.size).toBe(count);
    expect(world.status?.conditions?.[0]).toMatchObject({ type: "IASApplicationReady", status: "False", reason: "IASApplicationCreationFailed" });
  });

  test("about a Secret of somebody else", () => {
    const world = new IssuingWorld();
    world.putSecret({ application: "theirs", credentials: { type: "new", clientId: "theirs", clientSecret: "theirs", hint: "thei" } });
    if (world.secret) world.secret = { ...world.secret, object: { metadata: { name: "x", uid: "x", resourceVersion: "1" } } };
    world.run();
    expect(world.clientSecret).toBe("theirs");
    expect(world.status?.conditions?.find(({ type }) => type === "SecretReady")).toMatchObject({ status: "False", reason: "SecretConflict" });
  });
});

test("what was Ready says so no longer while the cluster is away, and keeps what it says about application and Secret", () => {
  const world = new IssuingWorld();
  world.run();
  world.trouble = { reason: "TargetUnreachable", message: "connect ECONNREFUSED" };
  world.run();
  expect(world.status).toMatchObject({ state: "NotReady" });
  expect(world.status?.conditions?.map(({ type, status }) => `${type} ${status}`)).toEqual([
    "IASApplicationReady True",
    "SecretReady True",
    "TargetReachable False",
    "CredentialsValid True",
    "Ready False",
  ]);
});

test("an application that only the Secret in the cluster shows to be this object's is not adopted unless an annotation names it", () => {
  const world = new IssuingWorld();
  const used = world.makeApplication("none");
  const hint = world.makeSecret(used);
  world.putSecret({ application: used.id, credentials: { type: "new", clientId: used.clientId, clientSecret: used.secrets.get(hint) ?? "", hint } });
  world.run();
  expect(world.status?.conditions?.[0]?.message).toContain(`keyturn.io/adopt-application: ${used.id}`);
  expect(world.status?.iasApplication).toBeUndefined();
  world.adopts = { id: used.id, claimedBy: undefined };
  world.run();
  expect(world.status).toMatchObject({ state: "Ready", iasApplication: { uuid: used.id } });
  expect(used.secrets.size).toBe(1);
});

describe("an application that an annotation names", () => {
  test("is adopted whoever described it, and goes with the object", () => {
    const world = new IssuingWorld();
    const { id } = world.makeApplication("other");
    world.adopts = { id, claimedBy: undefined };
    world.run();
    expect(world.status).toMatchObject({ state: "Ready", iasApplication: { uuid: id } });
    world.deletedAt = new Date(world.nowMs).toISOString();
    world.run();
    expect([world.released, world.applications.size]).toEqual([true, 0]);
  });

  test.each([
    ["is not there", undefined],
    ["is that of EventingAuth kcp-system/other", "EventingAuth kcp-system/other"],
  ])("and that %s is left alone, and none is made", (says, claimedBy) => {
    const world = new IssuingWorld();
    const { id } = world.makeApplication("other");
    world.adopts = { id: claimedBy ? id : "another", claimedBy };
    world.run();
    expect(world.status?.conditions?.[0]?.message).toContain(says);
    expect([world.applications.size, world.status?.iasApplication]).toEqual([1, undefined]);
  });
});

test("an application that is recorded and was made for another object gets no secret, and stays when this one goes", () => {
  const world = new IssuingWorld();
  const { id, secrets } = world.makeApplication("other");
  world.status = { state: "NotReady", iasApplication: { name: "runtime", uuid: id } };
  world.run();
  expect(world.status?.conditions?.[0]?.message).toContain("was made for another object");
  expect(secrets.size).toBe(0);
  world.deletedAt = new Date(world.nowMs).toISOString();
  world.run();
  expect([world.released, world.abandoned, world.applications.size]).toEqual([true, [`application ${id}`], 1]);
});

describe("another object's application that the provider named when it was asked for one", () => {
  const misnamed = (): IssuingWorld => {
    const world = new IssuingWorld();
    const { id } = world.makeApplication("other");
    world.status = { state: "NotReady", iasApplication: { name: "runtime", uuid: id } };
    world.askedAt = new Date(world.nowMs).toISOString();
    return world;
  };

  test("gives way to the one that was made", () => {
    const world = misnamed();
    const { id } = world.makeApplication("ours");
    world.run();
    expect(world.status).toMatchObject({ state: "Ready", iasApplication: { uuid: id } });
  });

  test("is forgotten if none was made, and another is asked for a minute later", () => {
    const world = misnamed();
    world.run();
    expect([world.status?.iasApplication, world.applications.size]).toEqual([undefined, 1]);
    world.nowMs += 60_000;
    // Nobody may have the name besides.
    world.applications.clear();
    world.run();
    expect(world.status).toMatchObject({ state: "Ready" });
  });
});

describe("an application of the name without a mark", () => {
  const asked = (): IssuingWorld => {
    const world = new IssuingWorld();
    world.askedAt = new Date(world.nowMs - 90_000).toISOString();
    return world;
  };

  test("is the one that was asked for, if nobody can have credentials of it", () => {
    const world = asked();
    const { id } = world.makeApplication("none");
    world.run();
    expect(world.status).toMatchObject({ state: "Ready", iasApplication: { uuid: id } });
  });

  test.each(["none was asked for", "it has a secret", "it is described", "there are two"])("is somebody's if %s", (why) => {
    const world = why === "none was asked for" ? new IssuingWorld() : asked();
    const found = world.makeApplication(why === "it is described" ? "text" : "none");
    if (why === "it has a secret") world.makeSecret(found);
    if (why === "there are two") world.makeApplication("none");
    const before = found.secrets.size;
    world.run();
    expect([world.status?.iasApplication, found.secrets.size]).toEqual([undefined, before]);
    expect(world.status?.conditions?.[0]?.message).toContain("nothing shows that it was made for this object");
  });
});

test("a second application that one request has made goes after half a minute, and when a minute is over nothing is awaited any more", () => {
  const world = new IssuingWorld();
  expect(world.run()).toMatchObject({ complete: true, nextAtMs: world.nowMs + 30_000 });
  const kept = world.status?.iasApplication?.uuid;
  world.makeApplication("ours");
  world.makeApplication("text");
  world.nowMs += 30_000;
  expect(world.run()).toMatchObject({ complete: true, nextAtMs: world.nowMs + 30_000 });
  expect([...world.applications.values()].map(({ id, trace }) => [id === kept, trace])).toEqual([
    [true, "ours"],
    [false, "text"],
  ]);
  world.nowMs += 30_000;
  world.run();
  expect(world.askedAt).toBeUndefined();
});

test("an application that was made for the object is adopted, also among others and without a Secret in the cluster", () => {
  const world = new IssuingWorld();
  world.makeApplication();
  const ours = world.makeApplication("ours");
  world.run();
  expect(world.status).toMatchObject({ state: "Ready", iasApplication: { uuid: ours.id } });
  expect(world.applications.size).toBe(2);
});

test.each(["first-secret", "creation"] as const)(
  "an application that has its client ID from %s on gets one secret, which is used",
  (clientIdFrom) => {
    const world = new IssuingWorld();
    world.clientIdFrom = clientIdFrom;
    world.run();
    expect(world.status?.state).toBe("Ready");
    expect(world.accepts).toBe(true);
    expect([...world.applications.values()].map(({ secrets }) => secrets.size)).toEqual([1]);
  },
);

test("a Secret of somebody else without a client ID is not that of an application without one", () => {
  const world = new IssuingWorld();
  const application = { id: world.makeApplication("ours").id, clientId: undefined, trace: "ours" } as const;
  world.putSecret({ application: "theirs", credentials: { type: "kept", digest: "theirs", hint: undefined } });
  if (world.secret) world.secret = { ...world.secret, digest: "theirs", object: { metadata: { name: "x", uid: "x", resourceVersion: "1" } } };
  world.status = { state: "NotReady", iasApplication: { name: "runtime", uuid: application.id } };
  world.seenAt = world.url;
  expect(planStep(world.observe({ application }), world.nowMs)).toMatchObject({ type: "idle", reports: { secret: { reason: "SecretConflict" } } });
});

describe("an application that was asked for less than a minute ago and is not there", () => {
  test("is awaited, and looked for more and more rarely; then another is made", () => {
    const world = new IssuingWorld();
    world.run();
    const askedAtMs = world.nowMs;
    world.applications.clear();
    const looks: number[] = [];
    for (;;) {
      const idle = world.run();
      if (world.applications.size > 0) break;
      expect(world.status?.conditions?.[0]).toMatchObject({ type: "IASApplicationReady", status: "False", reason: "InProgress" });
      world.nowMs = idle?.nextAtMs ?? Number.NaN;
      looks.push(world.nowMs - askedAtMs);
    }
    expect(looks).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000]);
    expect(world.status?.state).toBe("Ready");
  });

  test("is awaited too if nobody heard whether it was made", () => {
    const world = new IssuingWorld();
    world.askedAt = new Date(world.nowMs).toISOString();
    expect(world.run()).toMatchObject({ type: "idle", nextAtMs: world.nowMs + 1_000 });
    expect(world.applications.size).toBe(0);
    world.nowMs += 60_000;
    world.run();
    expect(world.applications.size).toBe(1);
  });

  test("holds the deletion up for that long, and not when it was deleted for certain", () => {
    const world = new IssuingWorld();
    world.run();
    world.deletedAt = new Date(world.nowMs).toISOString();
    const [application] = world.applications.values();
    world.applications.clear();
    expect(world.run()).toMatchObject({ type: "idle", reports: { blocker: { reason: "DeletionWaiting" } } });
    if (application) world.applications.set(application.id, application);
    world.run();
    expect(world.released).toBe(true);
    expect(world.applications.size).toBe(0);
  });

  test.each(["creation", "deletion"])("is awaited for a minute from now on if the time is one to come: %s", (when) => {
    const world = new IssuingWorld();
    world.askedAt = new Date(world.nowMs + 3_600_000).toISOString();
    if (when === "deletion") world.deletedAt = new Date(world.nowMs).toISOString();
    expect(world.run()).toMatchObject({ type: "idle", nextAtMs: world.nowMs + 1_000 });
    expect(world.askedAt).toBe(new Date(world.nowMs).toISOString());
    expect(world.applications.size).toBe(0);
    world.nowMs += 60_000;
    world.run();
    expect(when === "deletion" ? world.released : world.status?.state).toBe(when === "deletion" ? true : "Ready");
  });

  test("is awaited for longer, and so is a second one, where a request may take longer than a minute", () => {
    const world = new IssuingWorld();
    world.providerTimeoutMs = 120_000;
    world.askedAt = new Date(world.nowMs).toISOString();
    world.nowMs += 169_000;
    expect(world.run()).toMatchObject({ type: "idle", nextAtMs: world.nowMs + 1_000 });
    const { id } = world.makeApplication("ours");
    world.run();
    expect(world.status?.iasApplication?.uuid).toBe(id);
    expect(world.askedAt).toBeDefined();
    world.makeApplication("ours");
    world.nowMs += 1_000;
    world.run();
    expect([...world.applications.keys()]).toEqual([id]);
    expect(world.askedAt).toBeUndefined();
  });

  test.each([undefined, "edited", "2020-01-01T00:00:00Z"])("is awaited if the annotation is %s and this process knows better", (askedAt) => {
    const world = new IssuingWorld();
    world.askedAt = askedAt;
    world.rememberedAtMs = world.nowMs;
    expect(world.run()).toMatchObject({ type: "idle", nextAtMs: world.nowMs + 1_000 });
    expect(world.applications.size).toBe(0);
  });
});

test("a client secret that is lost where no other can be had leads to a new application", () => {
  const world = new IssuingWorld();
  world.run();
  const [application] = world.applications.values();
  const observed = { id: application?.id ?? "", clientId: application?.clientId ?? "", trace: "ours" } as const;
  expect(planStep(world.observe({ application: observed, secretLost: true }), world.nowMs)).toEqual({
    type: "deleteApplication",
    id: observed.id,
  });
});

describe("deletion", () => {
  test("in another namespace than the kubeconfigs lets the object go, touches nothing and says what is left", () => {
    const world = new IssuingWorld();
    world.run();
    world.served = false;
    world.deletedAt = new Date(world.nowMs).toISOString();
    world.run();
    expect(world.released).toBe(true);
    expect(world.abandoned).toEqual(["application application-1"]);
    expect(world.accepts).toBe(true);
  });

  test("needs no client ID", () => {
    const world = new IssuingWorld();
    const { id } = world.makeApplication("ours");
    world.status = { state: "NotReady", iasApplication: { name: "runtime", uuid: id } };
    world.deletedAt = new Date(world.nowMs).toISOString();
    world.run();
    expect(world.released).toBe(true);
    expect(world.applications.size).toBe(0);
  });

  test("does not wait for a cluster in which nothing of the object can be", () => {
    const world = new IssuingWorld();
    world.deletedAt = new Date(world.nowMs).toISOString();
    world.trouble = { reason: "KubeconfigRefused", message: "exec would run a program" };
    world.run();
    expect([world.released, world.abandoned]).toEqual([true, []]);
  });

  test("waits for a cluster that is away, and not for ever", () => {
    const world = new IssuingWorld();
    world.run();
    world.deletedAt = new Date(world.nowMs).toISOString();
    world.trouble = { reason: "TargetUnreachable", message: "connect ECONNREFUSED" };
    expect(world.run()).toMatchObject({ type: "idle", nextAtMs: world.nowMs + 3_600_000 });
    expect(world.applications.size).toBe(0);
    // The next run finds no application, and knows that it was there: nothing is awaited that was asked for a minute ago.
    expect(world.run()).toMatchObject({ type: "idle", nextAtMs: world.nowMs + 3_600_000 });
    expect(world.status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({ reason: "DeletionWaiting" });
    world.nowMs += 3_600_000;
    world.run();
    expect(world.released).toBe(true);
    expect(world.abandoned).toEqual(["Secret kyma-system/eventing-webhook-auth in the cluster of the runtime"]);
  });

  test("holds on to the application until somebody says otherwise", () => {
    const world = new IssuingWorld();
    world.run();
    world.deletedAt = new Date(world.nowMs).toISOString();
    world.closed = "there are no credentials";
    world.nowMs += 1_000 * 3_600_000;
    expect(world.run()).toMatchObject({ type: "idle", reports: { blocker: { reason: "DeletionWaiting" } } });
    world.abandon = "target, application";
    world.run();
    expect(world.released).toBe(true);
    expect(world.abandoned).toEqual(["application application-1"]);
    expect(world.secret).toBeUndefined();
  });

  test("of an object that knows of no application deletes the one that was made for it, and none that has but the name", () => {
    const world = new IssuingWorld();
    const foreign = world.makeApplication();
    world.makeApplication("ours");
    world.deletedAt = new Date(world.nowMs).toISOString();
    world.run();
    expect(world.released).toBe(true);
    expect([...world.applications.keys()]).toEqual([foreign.id]);
  });
});
