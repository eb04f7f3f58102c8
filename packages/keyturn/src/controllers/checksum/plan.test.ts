// What is published, kept and taken back, in virtual time.
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { readPublicKeys, readSigningKey, signed } from "./announcement.ts";
import { limits } from "../../limits.ts";
import { named } from "./check-sum-object.ts";
import { PublishedWorld } from "./published-world.fixture.ts";

const minuteMs = 60_000;

function worldWith(...ids: readonly string[]): PublishedWorld {
  const world = new PublishedWorld();
  world.setLive(...ids);
  if (ids.length > 0) world.settle();
  return world;
}

describe("a new state", () => {
  test("is a new object, made before anything goes", () => {
    const world = worldWith("7-1");
    world.setLive("7-2");
    const plan = world.plan();
    expect(plan.publish?.spec).toMatchObject({ ids: ["7-2"], count: 1, timestamp: "2026-11-15T12:00:01Z" });
    expect(plan).toMatchObject({ restsOnState: true, removals: [] });
    world.settle();
    expect(world.published).toEqual(["7-2", "7-1"]);
    expect([world.standing("7-2"), world.standing("7-1")]).toEqual(["True Published", "False Superseded"]);
  });

  test("that was there before is published anew, with a later timestamp", () => {
    const world = worldWith("7-1");
    for (const id of ["7-2", "7-1"]) {
      world.setLive(id);
      world.settle();
    }
    expect(world.published).toEqual(["7-1", "7-2", "7-1"]);
  });

  test("comes later than every other, even if a clock was set back", () => {
    const world = worldWith("7-1");
    world.nowMs -= 60 * minuteMs;
    world.setLive("7-2");
    world.settle();
    expect(world.published).toEqual(["7-2", "7-1"]);
  });

  // The API server takes each of these for a time.
  test.each(["9999-12-31T23:59:59Z", "2099-01-01T00:00:00Z", "2026-11-15T12:00:00,5Z", "2026-11-15T12:00:00+99:99", "0000-01-01T00:00:00Z"])(
    "comes now, whatever somebody else wrote who made it of %s",
    (timestamp) => {
      const world = worldWith("7-1");
      world.nowMs += minuteMs;
      world.create(named("shop", "secret", { timestamp, checksum: "0".repeat(32), count: 0 }));
      world.setLive("7-2");
      world.settle();
      expect(world.published).toContain("7-2");
      const made = [...world.objects.values()].find(({ spec }) => spec.ids?.[0] === "7-2");
      expect(made?.spec.timestamp).toMatch(/^2026-11-15T12:01:0[01]Z$/);
      expect(world.standing("7-2")).toBe("True Published");
    },
  );

  test("is not written again while it lasts", () => {
    const world = worldWith("7-1");
    expect(world.settle()).toMatchObject({ publish: undefined, removals: [], events: [], restsOnState: false, nextAtMs: undefined });
  });

  test("of nothing is not published: what was published stays, and says why", () => {
    const world = worldWith("7-1");
    world.setLive();
    expect(world.settle().publish).toBeUndefined();
    expect(world.published).toEqual(["7-1"]);
    expect(world.standing("7-1")).toBe("False EmptySet");
    world.policy = { ...world.policy, publishEmpty: true };
    world.settle();
    expect(world.published).toEqual(["", "7-1"]);
  });

  test("of nothing is not published where nothing was", () => {
    expect(worldWith().settle()).toMatchObject({ publish: undefined, statuses: [] });
  });

  test("with more ids than fit into an object is published without them, and says so", () => {
    const ids = Array.from({ length: 28_000 }, (_, index) => `${index}-1-${"0".repeat(44)}`);
    expect(ids.join().length).toBeGreaterThan(limits.idsBytes);
    const world = worldWith(...ids);
    const [object] = world.objects.values();
    expect(object?.spec).toMatchObject({ count: 28_000, checksum: world.state.checksum });
    expect(object?.spec).not.toHaveProperty("ids");
    expect(object?.status?.conditions).toMatchObject([
      { type: "Current", status: "True" },
      { type: "Ready", status: "True" },
      { type: "IdsListed", status: "False", reason: "TooManyIds" },
    ]);
  });
});

describe("checksums of earlier states", () => {
  test("go by number", () => {
    const world = worldWith("7-1");
    for (const version of [2, 3, 4, 5]) {
      world.setLive(`7-${version}`);
      world.settle();
    }
    expect(world.published).toEqual(["7-5", "7-4", "7-3"]);
  });

  test("go by age, counted from when another took their place", () => {
    const world = worldWith("7-1");
    world.nowMs += 60 * minuteMs;
    world.setLive("7-2");
    world.settle();
    const { nextAtMs } = world.settle();
    expect(nextAtMs).toBe(world.nowMs + 10 * minuteMs);
    world.nowMs += 10 * minuteMs - 1;
    world.settle();
    expect(world.published).toEqual(["7-2", "7-1"]);
    world.nowMs += 1;
    expect(world.settle().nextAtMs).toBeUndefined();
    expect(world.published).toEqual(["7-2"]);
    world.nowMs += 24 * 60 * minuteMs;
    world.settle();
    expect(world.published).toEqual(["7-2"]);
  });
});

describe("an announced state", () => {
  test("holds everything else back until it is there, and then counts", () => {
    const world = worldWith("7-1", "8-1");
    world.announce(10 * minuteMs, "7-2", "8-2");
    world.setLive("7-2", "8-1");
    const plan = world.settle();
    expect(plan).toMatchObject({ publish: undefined, removals: [], nextAtMs: world.nowMs + 10 * minuteMs });
    expect(world.published).toEqual(["7-2 8-2", "7-1 8-1"]);
    expect([world.standing("7-2 8-2"), world.standing("7-1 8-1")]).toEqual(["False Awaited", "False BatchAnnounced"]);
    world.nowMs += minuteMs;
    world.setLive("7-2", "8-2");
    expect(world.plan()).toMatchObject({ publish: undefined, restsOnState: true, events: [{ reason: "AnnouncementReached" }] });
    world.settle();
    expect(world.published).toEqual(["7-2 8-2", "7-1 8-1"]);
    expect([world.standing("7-2 8-2"), world.standing("7-1 8-1")]).toEqual(["True Reached", "False Superseded"]);
  });

  test("is followed by the next state as any other is", () => {
    const world = worldWith("7-1");
    world.announce(10 * minuteMs, "7-2");
    world.setLive("7-2");
    world.settle();
    world.setLive("7-3");
    world.settle();
    expect(world.published).toEqual(["7-3", "7-2", "7-1"]);
  });

  test("does not age what it takes the place of before it is there", () => {
    const world = worldWith("7-1");
    world.announce(50 * minuteMs, "7-2");
    world.nowMs += 40 * minuteMs;
    world.settle();
    expect(world.published).toEqual(["7-2", "7-1"]);
    world.setLive("7-2");
    expect(world.settle().nextAtMs).toBe(world.nowMs + 10 * minuteMs);
    expect(world.published).toEqual(["7-2", "7-1"]);
  });

  test("that never comes goes when its time is over, and what is there is published", () => {
    const world = worldWith("7-1", "8-1");
    world.announce(10 * minuteMs, "7-2", "8-2");
    world.setLive("7-2", "8-1");
    world.settle();
    world.nowMs += 10 * minuteMs;
    expect(world.plan().events.map(({ reason }) => reason)).toEqual(["ChecksumPublished", "AnnouncementExpired"]);
    expect(world.plan().restsOnState).toBe(true);
    world.settle();
    expect(world.published).toEqual(["7-2 8-1", "7-1 8-1"]);
    world.setLive("7-2", "8-2");
    world.settle();
    expect(world.published[0]).toBe("7-2 8-2");
  });

  test("that seems never to have come goes only when that is certain, even if nothing else is to be published", () => {
    const world = worldWith("7-1");
    world.announce(10 * minuteMs, "7-2");
    world.nowMs += 10 * minuteMs;
    expect(world.plan()).toMatchObject({ publish: undefined, removals: [{ namespace: "shop" }], restsOnState: true });
  });

  test("stays when its time is over if it is the last checksum of all and nothing takes its place", () => {
    const world = worldWith("7-1");
    for (const ids of ["7-2", "7-3"]) world.announce(10 * minuteMs, ids);
    for (const [name, { spec }] of world.objects) if (!spec.announcement) world.objects.delete(name);
    world.setLive();
    world.nowMs += 10 * minuteMs;
    world.settle();
    expect(world.published).toEqual(["7-3"]);
    expect(world.standing("7-3")).toBe("False EmptySet");
    world.setLive("7-4");
    world.settle();
    expect(world.published).toEqual(["7-4"]);
  });

  test("cannot be announced for longer than the operator allows", () => {
    const world = worldWith("7-1");
    world.announce(1000 * minuteMs, "7-2");
    expect(world.settle().nextAtMs).toBe(world.nowMs + 60 * minuteMs);
  });

  test("gives way to one that is announced after it", () => {
    const world = worldWith("7-1");
    world.announce(10 * minuteMs, "7-2");
    world.announce(10 * minuteMs, "7-3");
    world.settle();
    expect(world.published).toEqual(["7-3", "7-1"]);
  });

  test("may be announced where nothing was published before", () => {
    const world = worldWith();
    world.announce(10 * minuteMs, "7-1");
    expect(world.settle().publish).toBeUndefined();
    world.setLive("7-1");
    world.settle();
    expect(world.standing("7-1")).toBe("True Reached");
  });
});

describe("single changes that are announced", () => {
  const raise = (name: string, from: string, to: string) => ({ name, from, to });

  test("do not hold up a renewal that has nothing to do with them while none of them is there", () => {
    const world = worldWith("7-1", "8-1", "9-1");
    world.announceChanges(10 * minuteMs, [raise("object-0", "7-1", "7-2"), raise("object-1", "8-1", "8-2")]);
    world.setLive("7-1", "8-1", "9-2");
    world.settle();
    expect(world.standing("7-1 8-1 9-2")).toBe("True Published");
  });

  test("are adopted as one although something else changed meanwhile", () => {
    const world = worldWith("7-1", "8-1", "9-1");
    const name = world.announceChanges(10 * minuteMs, [raise("object-0", "7-1", "7-2"), raise("object-1", "8-1", "8-2")]);
    world.setLive("7-2", "8-1", "9-2");
    expect(world.settle()).toMatchObject({ publish: undefined, isHeld: false });
    expect(world.standing("7-1 8-1 9-1")).toBe("False BatchAnnounced");
    world.setLive("7-2", "8-2", "9-2");
    world.settle();
    expect(world.standing("7-2 8-2 9-2")).toBe("True Published");
    expect(world.objects.get(name)?.status?.reached).toBeDefined();
  });

  test("of two who announce at once do not break each other", () => {
    const world = worldWith("7-1", "8-1");
    const first = world.announceChanges(10 * minuteMs, [raise("object-0", "7-1", "7-2")]);
    const second = world.announceChanges(10 * minuteMs, [raise("object-1", "8-1", "8-2")]);
    world.setLive("7-1", "8-2");
    world.settle();
    expect(world.standing("7-1 8-2")).toMatch(/^True/);
    world.setLive("7-2", "8-2");
    world.settle();
    expect(world.standing("7-2 8-2")).toMatch(/^True/);
    for (const name of [first, second]) expect(world.objects.get(name)?.status?.reached).toBeDefined();
  });

  test("that stay half-written hold nothing for longer than their time", () => {
    const world = worldWith("7-1", "8-1");
    world.announceChanges(10 * minuteMs, [raise("object-0", "7-1", "7-2"), raise("object-1", "8-1", "8-2")]);
    world.setLive("7-2", "8-1");
    world.settle();
    world.nowMs += 10 * minuteMs;
    world.settle();
    expect(world.standing("7-2 8-1")).toBe("True Published");
  });
});

describe("a large change", () => {
  const nine = Array.from({ length: 9 }, (_, index) => `${index + 1}-1`);

  test("is not published; what was published stays, and says what to do", () => {
    const world = worldWith(...nine);
    world.setLive("1-1");
    const plan = world.settle();
    expect(plan).toMatchObject({ publish: undefined, isHeld: true });
    expect(world.published).toEqual([nine.join(" ")]);
    expect(plan.statuses[0]?.conditions["Current"]).toMatchObject({
      status: "False",
      reason: "LargeChange",
      message: expect.stringMatching(/^8 of 9 certificates would vanish .*`keyturn checksum allow -n shop`/),
    });
    world.nowMs += 24 * 60 * minuteMs;
    world.settle();
    expect(world.published).toEqual([nine.join(" ")]);
  });

  test("says in a wider scope which one it is, for the command to be copied", () => {
    const world = worldWith(...nine);
    world.scopeArguments = ["--checksum.scope=all", "--checksum.publish-in=shop", "--checksum.namespace-selector=a=b,c in (d)"];
    world.setLive("1-1");
    expect(world.settle().statuses[0]?.conditions["Current"]?.message).toContain(
      "`keyturn checksum allow -n shop --checksum.scope=all --checksum.publish-in=shop '--checksum.namespace-selector=a=b,c in (d)'`",
    );
  });

  test("is published when it is let through, also if something else changes meanwhile", () => {
    const world = worldWith(...nine);
    world.setLive("1-1", "2-1");
    world.settle();
    world.allow();
    world.setLive("1-1", "2-2");
    world.settle();
    expect(world.standing("1-1 2-2")).toMatch(/^True/);
  });

  test("that is undone leaves no trace", () => {
    const world = worldWith(...nine);
    world.setLive("1-1");
    world.settle();
    world.setLive(...nine);
    expect(world.settle().isHeld).toBe(false);
    expect(world.standing(nine.join(" "))).toBe("True Published");
  });

  test("that was announced is none", () => {
    const world = worldWith(...nine);
    world.announceChanges(
      10 * minuteMs,
      nine.slice(1).map((from) => ({ name: "", from })),
    );
    world.setLive("1-1");
    world.settle();
    expect(world.standing("1-1")).toBe("True Reached");
  });

  test("is one where what was announced to go came back and goes again: a word lets it through once", () => {
    const world = worldWith(...nine);
    world.announceChanges(
      10 * minuteMs,
      nine.slice(1).map((from) => ({ name: "", from })),
    );
    world.setLive("1-1");
    expect(world.settle().isHeld).toBe(false);
    world.nowMs += minuteMs;
    world.setLive(...nine);
    expect(world.settle().isHeld).toBe(false);
    world.nowMs += minuteMs;
    world.setLive("1-1");
    expect(world.settle().isHeld).toBe(true);
  });

  test("is none where what was announced to come goes, and counts once", () => {
    const twenty = Array.from({ length: 20 }, (_, index) => `${index + 1}-1`);
    const world = worldWith(...twenty);
    world.announceChanges(
      10 * minuteMs,
      ["21-1", "22-1"].map((to, index) => ({ name: `object-${20 + index}`, to })),
    );
    world.setLive(...twenty, "21-1", "22-1");
    world.settle();
    for (const live of [twenty, twenty.slice(1)]) {
      world.nowMs += minuteMs;
      world.setLive(...live);
      expect(world.settle().isHeld).toBe(false);
    }
  });

  test("is none where two announced batches are there at once", () => {
    const world = worldWith(...nine);
    for (const batch of [nine.slice(1, 5), nine.slice(5)]) {
      world.announceChanges(
        10 * minuteMs,
        batch.map((from) => ({ name: "", from })),
      );
    }
    world.nowMs += minuteMs;
    world.setLive("1-1");
    expect(world.settle().isHeld).toBe(false);
  });

  test("is one where certificates go back to lower versions", () => {
    const world = worldWith(...nine.map((id) => id.replace("-1", "-5")));
    world.setLive(...nine);
    expect(world.settle().isHeld).toBe(true);
  });

  test.each([
    ["all are renewed at once", nine, nine.map((id) => id.replace("-1", "-2"))],
    ["all get other certificates under the same version", nine.map((id) => `${id}-a`), nine.map((id) => `${id}-b`)],
    ["one of nine goes", nine, nine.slice(1)],
    ["one of two goes", ["1-1", "2-1"], ["1-1"]],
    ["two of three go", ["1-1", "2-1", "3-1"], ["1-1"]],
    ["many come", ["1-1"], nine],
  ])("is none when %s", (_, before, after) => {
    const world = worldWith(...before);
    world.setLive(...after);
    expect(world.settle().isHeld).toBe(false);
    expect(world.standing(after.join(" "))).toBe("True Published");
  });

  test("is one little by little too: what went within the hour counts together", () => {
    const world = worldWith(...nine);
    world.setLive(...nine.slice(2));
    expect(world.settle().isHeld).toBe(false);
    world.nowMs += 10 * minuteMs;
    world.setLive(...nine.slice(3));
    const plan = world.settle();
    expect(plan.statuses[0]?.conditions["Current"]).toMatchObject({ reason: "LargeChange", message: expect.stringMatching(/^3 of 9 certificates/) });
    // Nobody has looked at it for a night.
    world.nowMs += 600 * minuteMs;
    expect(world.settle().isHeld).toBe(true);
    world.setLive(...nine.slice(2));
    expect(world.settle().isHeld).toBe(false);
    world.setLive(...nine.slice(3));
    expect(world.settle().isHeld).toBe(false);
    expect(world.standing(nine.slice(3).join(" "))).toBe("True Published");
  });

  test("is one in any hour, whenever the first of it went", () => {
    const many = Array.from({ length: 100 }, (_, index) => `${index + 1}-1`);
    const world = worldWith(...many);
    const wentBy: readonly (readonly [minute: number, gone: number, isHeld: boolean])[] = [
      [0, 2, false],
      [59, 19, false],
      [61, 30, true],
      [61, 21, false],
      [120, 36, true],
      [122, 36, true],
      [122, 21, false],
      [122, 36, false],
    ];
    const startMs = world.nowMs;
    for (const [minute, gone, isHeld] of wentBy) {
      world.nowMs = startMs + minute * minuteMs;
      world.setLive(...many.slice(gone));
      expect([minute, gone, world.settle().isHeld]).toEqual([minute, gone, isHeld]);
    }
  });

  test("is one little by little also if somebody announces renewals in between", () => {
    const world = worldWith(...nine);
    world.setLive(...nine.slice(2));
    expect(world.settle().isHeld).toBe(false);
    world.announceChanges(10 * minuteMs, [{ name: "object-6", from: "9-1", to: "9-2" }]);
    world.setLive(...nine.slice(2, -1), "9-2");
    expect(world.settle().isHeld).toBe(false);
    expect(world.standing([...nine.slice(2, -1), "9-2"].join(" "))).toBe("True Reached");
    world.setLive(...nine.slice(4, -1), "9-2");
    expect(world.settle().isHeld).toBe(true);
  });

  test("is none when what went within the hour has come back, or was announced", () => {
    const world = worldWith(...nine);
    for (const [first] of [nine, nine.slice(2), nine.slice(4)]) {
      world.setLive(...nine.filter((id) => id !== first));
      world.settle();
      world.setLive(...nine);
      expect(world.settle().isHeld).toBe(false);
    }
    world.setLive(...nine.slice(2));
    world.settle();
    // What is announced after a checksum is laid over it, also if that one is the newer by the time.
    world.announceChanges(10 * minuteMs, [{ name: "object-0", from: "3-1" }]);
    world.setLive(...nine.slice(3));
    expect(world.settle().isHeld).toBe(false);
    world.setLive(...nine.slice(3, -1), "9-2");
    expect(world.settle().isHeld).toBe(false);
  });

  // Versions of each target by the minute, as rotations with these delays bring them.
  test.each([
    ["60 and 5 minutes", { 0: [1, 1], 160: [2, 1], 305: [2, 2], 360: [3, 2] }],
    ["5 and 60 minutes", { 0: [1, 1], 105: [2, 1], 305: [3, 1], 360: [3, 2] }],
    ["three quick changes", { 0: [1, 1], 180: [4, 1] }],
    ["60, 20 and 5 minutes", { 0: [1, 1, 1], 160: [2, 1, 1], 320: [2, 2, 1], 360: [3, 2, 1], 505: [3, 2, 2], 520: [3, 3, 2], 560: [4, 3, 2] }],
  ])("is none when a dozen keys rotate at the same time: %s", (_, timeline) => {
    const world = worldWith();
    const startMs = world.nowMs;
    for (const [minute, versions] of Object.entries(timeline)) {
      world.nowMs = startMs + Number(minute) * minuteMs;
      world.setLive(...Array.from({ length: 12 }, (__, key) => versions.map((version, target) => `${100 * (key + 1) + target}-${version}`)).flat());
      expect(world.settle().isHeld).toBe(false);
      expect(world.standing(world.state.ids.join(" "))).toBe("True Published");
    }
  });

  test("is seen by the number alone where ids do not fit into an object", () => {
    const ids = Array.from({ length: 28_000 }, (_, index) => `${index}-1-${"0".repeat(44)}`);
    const world = worldWith(...ids);
    world.setLive(...ids.slice(0, 1000));
    expect(world.settle().isHeld).toBe(true);
    world.setLive(...ids.slice(0, 27_000));
    expect(world.settle().isHeld).toBe(false);
  });
});

describe("where only what is announced and signed counts", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const key = readSigningKey(privateKey.export({ format: "pem", type: "pkcs8" }).toString());
  const keys = readPublicKeys(publicKey.export({ format: "pem", type: "spki" }).toString());
  const stranger = readSigningKey(generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }).toString());
  const signedWorld = (): PublishedWorld => {
    const world = new PublishedWorld();
    world.askForSignatures(keys);
    world.announceChanges(
      10 * minuteMs,
      [
        { name: "object-0", to: "7-1" },
        { name: "object-1", to: "8-1" },
      ],
      key,
    );
    world.setLive("7-1", "8-1");
    world.settle();
    return world;
  };

  test("the first state is announced too", () => {
    expect(signedWorld().standing("7-1 8-1")).toBe("True Reached");
  });

  test("a change that nobody announced is not published", () => {
    const world = signedWorld();
    world.setLive("7-1", "8-2");
    expect(world.settle()).toMatchObject({ publish: undefined, isHeld: true });
    expect(world.standing("7-1 8-1")).toBe("False Unannounced");
  });

  test.each([
    ["nobody has signed", undefined],
    ["a stranger has signed", stranger],
  ])("an announcement that %s is worth nothing", (_, by) => {
    const world = signedWorld();
    world.announceChanges(10 * minuteMs, [{ name: "object-1", from: "8-1", to: "8-2" }], by);
    world.setLive("7-1", "8-2");
    expect(world.settle().isHeld).toBe(true);
    expect(world.standing("7-1 8-2")).toBe("False Unsigned");
  });

  test("what is announced and signed is published, deletions too, and every statement stays while it speaks for something", () => {
    const world = signedWorld();
    world.announceChanges(10 * minuteMs, [{ name: "object-1", from: "8-1", to: "8-2" }], key);
    world.setLive("7-1", "8-2");
    world.settle();
    expect(world.standing("7-1 8-2")).toMatch(/^True/);
    world.nowMs += 48 * 60 * minuteMs;
    world.settle();
    expect(world.published).toEqual(["7-1 8-2", "7-1 8-1"]);
    world.announceChanges(10 * minuteMs, [{ name: "object-0", from: "7-1" }], key);
    world.setObjects({ "object-1": "8-2" });
    world.settle();
    expect(world.standing("8-2")).toBe("True Reached");
  });

  test("of two Secrets with the same id each needs a statement of its own", () => {
    const world = new PublishedWorld();
    world.askForSignatures(keys);
    const announce = (name: string): unknown => world.announceChanges(10 * minuteMs, [{ name, to: "7-1" }], key);
    announce("object-0");
    world.setLive("7-1", "7-1");
    expect(world.settle().isHeld).toBe(true);
    announce("object-1");
    expect(world.settle().isHeld).toBe(false);
    world.setLive("7-1");
    expect(world.settle().isHeld).toBe(true);
    world.announceChanges(10 * minuteMs, [{ name: "object-1", from: "7-1" }], key);
    expect(world.settle().isHeld).toBe(false);
  });

  test("what goes without a word is not published, however long it is gone", () => {
    const world = new PublishedWorld();
    world.askForSignatures(keys);
    for (const [index, to] of ["7-1", "8-1", "9-1", "10-1"].entries()) {
      world.announceChanges(10 * minuteMs, [{ name: `object-${index}`, to }], key);
      world.setLive(...["7-1", "8-1", "9-1", "10-1"].slice(0, index + 1));
      world.settle();
    }
    const all = world.published[0];
    world.leaveOut("object-0");
    for (const days of [0, 1, 40]) {
      world.nowMs += days * 24 * 60 * minuteMs;
      expect(world.settle()).toMatchObject({ publish: undefined, isHeld: true });
      expect(world.published[0]).toBe(all);
    }
    world.setLive("7-1", "8-1", "9-1", "10-1");
    expect(world.settle().isHeld).toBe(false);
  });

  test("what was given up by a word stays given up, also when an older word that named it with others lasts longer", () => {
    const world = signedWorld();
    world.announceChanges(10 * minuteMs, [{ name: "object-1", from: "8-1" }], key);
    world.setLive("7-1");
    world.settle();
    for (const version of [2, 3, 4, 5]) {
      world.announceChanges(10 * minuteMs, [{ name: "object-2", ...(version > 2 && { from: `9-${version - 1}` }), to: `9-${version}` }], key);
      world.setObjects({ "object-0": "7-1", "object-2": `9-${version}` });
      world.nowMs += 40 * 24 * 60 * minuteMs;
      expect(world.settle().isHeld).toBe(false);
    }
    world.nowMs += 60 * minuteMs;
    expect(world.settle().isHeld).toBe(false);
    expect(world.published).toEqual(["7-1 9-5", "7-1", "7-1 8-1"]);
  });

  test("a word that a later one has confirmed goes, and with the later one nothing is missing", () => {
    const world = signedWorld();
    world.announceChanges(
      10 * minuteMs,
      [
        { name: "object-0", to: "7-1", unchanged: true },
        { name: "object-1", to: "8-1", unchanged: true },
      ],
      key,
    );
    world.settle();
    world.nowMs += 60 * minuteMs;
    expect(world.settle().isHeld).toBe(false);
    expect(world.published).toHaveLength(1);
    expect(world.standing("7-1 8-1")).toBe("True Reached");
  });

  test("a confirmation that a renewal has overtaken awaits nothing, and holds up nobody", () => {
    const world = signedWorld();
    world.announceChanges(
      10 * minuteMs,
      [
        { name: "object-0", to: "7-1", unchanged: true },
        { name: "object-1", to: "8-1", unchanged: true },
      ],
      key,
    );
    world.setLive("7-1", "8-2");
    expect(world.settle().isHeld).toBe(true);
    world.announceChanges(10 * minuteMs, [{ name: "object-1", from: "8-1", to: "8-2" }], key);
    expect(world.settle().isHeld).toBe(false);
    expect(world.standing("7-1 8-2")).toMatch(/^True/);
  });

  test("a checksum that says so without a word is not believed, whoever wrote it", () => {
    const world = signedWorld();
    world.setLive("7-1", "8-2");
    world.policy = { ...world.policy, signedOnly: false };
    world.settle();
    expect(world.standing("7-1 8-2")).toBe("True Published");
    world.askForSignatures(keys);
    expect(world.settle().isHeld).toBe(true);
    expect(world.standing("7-1 8-2")).toBe("False Unannounced");
  });

  test("a word of a time that is far ahead does not count, as for agents, and shuts nobody out", () => {
    const world = signedWorld();
    const timestamp = "2099-01-01T00:00:00Z";
    const announcement = { expires: timestamp, changes: [{ name: "object-1", from: "8-1", to: "8-9" }] };
    const spec = { timestamp, checksum: "0".repeat(32), count: 2, announcement };
    world.create(named("shop", "secret", { ...spec, announcement: signed({ namespace: "shop", kind: "SecretCheckSum", spec }, key) }));
    world.setLive("7-1", "8-9");
    expect(world.settle().isHeld).toBe(true);
    world.announceChanges(10 * minuteMs, [{ name: "object-1", from: "8-9", to: "8-2" }], key);
    world.setLive("7-1", "8-2");
    expect(world.settle().isHeld).toBe(false);
    expect(world.standing("7-1 8-2")).toMatch(/^True/);
  });

  test("a statement that was changed afterwards is worth nothing", () => {
    const world = signedWorld();
    const name = world.announceChanges(10 * minuteMs, [{ name: "object-1", from: "8-1", to: "8-2" }], key);
    const object = world.objects.get(name) ?? expect.fail("no announcement");
    const announcement = { ...object.spec.announcement, expires: "2027-01-01T00:00:00Z" };
    world.objects.set(name, { ...object, spec: { ...object.spec, announcement } });
    world.setLive("7-1", "8-2");
    expect(world.settle().isHeld).toBe(true);
  });
});

describe("a checksum that somebody changed", () => {
  const damage = (world: PublishedWorld, change: Readonly<Record<string, unknown>>): void => {
    for (const [name, object] of world.objects) world.objects.set(name, { ...object, spec: { ...object.spec, ...change } });
  };

  test.each([
    ["its checksum", { checksum: "00000000000000000000000000000000" }],
    ["its ids", { ids: ["7-9"] }],
    ["its timestamp", { timestamp: "2030-01-01T00:00:00Z" }],
    ["its digest of contents", { sha256: "00" }],
  ])("%s: goes, once what holds is published anew", (_what, change) => {
    const world = worldWith("7-1");
    damage(world, change);
    const plan = world.plan();
    expect(plan.publish?.spec.ids).toEqual(["7-1"]);
    expect(plan.removals).toHaveLength(1);
    expect(plan.events.map(({ reason }) => reason)).toContain("ChecksumDamaged");
    world.settle();
    expect(world.published).toEqual(["7-1"]);
  });

  test("stays while there is nothing to put in its place", () => {
    const world = worldWith("7-1");
    damage(world, { checksum: "00000000000000000000000000000000" });
    world.setLive();
    world.settle();
    expect(world.objects.size).toBe(1);
  });
});
