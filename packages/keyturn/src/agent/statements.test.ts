// With keys, the agent adopts and gives up exactly what was signed, whatever API server and operator say.
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type AnnouncedChange, nothingElse, readPublicKeys, readSigningKey, signed } from "../controllers/checksum/announcement.ts";
import { SecretCheckSum } from "../controllers/checksum/api.ts";
import { checksumObserver, type ObservedChecksum } from "../controllers/checksum/difference.ts";
import { decide, type Decision } from "./decision.ts";
import { checksumFor, idsOf, observation, observedSet, promotedSet, type TestSet, testRules } from "./decision.fixture.ts";
import type { Policies } from "./alarm-policies.ts";
import type { Manifest } from "./manifest.ts";

const now = 1_000_000;
const before: TestSet = { "web-1": {}, "web-2": {} };
const rules = { ...testRules(), signedOnly: true };

/** A change as `observedSet` knows it. */
function change(name: string, from: number | undefined, to: number | undefined): AnnouncedChange {
  const idOf = (version: number): string => idsOf({ [name]: { version } })[0] ?? "";
  return {
    name,
    ...(from !== undefined && { from: idOf(from) }),
    ...(to !== undefined && { to: idOf(to), sha256: `${name} ${to}` }),
  };
}

/** An announcement whose signature was checked. */
const announcement = (atMs: number, ...changes: readonly AnnouncedChange[]): ObservedChecksum =>
  checksumFor({}, atMs, { name: `announced-${atMs}`, isAnnounced: true, changes });

/** Promotes what is decided, as the agent does. */
function promotedBy({ target }: Decision, manifest: Manifest): Manifest {
  return { ...manifest, secrets: target?.secrets ?? {}, givenUp: target?.givenUp ?? {} };
}

function decideFor(live: TestSet, checksums: readonly ObservedChecksum[], promoted: Manifest | undefined = promotedSet(before, 100)): Decision {
  return decide(observation({ promoted, secrets: observedSet(live), checksums, stamp: undefined }), rules, now);
}

const versions = ({ target }: Decision): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(target?.secrets ?? {}).map(([name, { id }]) => [name, id.split("-")[1] ?? ""]));

describe("a change", () => {
  test("that was signed is adopted, without any checksum of the whole", () => {
    const decision = decideFor({ "web-1": { version: 2 }, "web-2": {} }, [announcement(200, change("web-1", 1, 2))]);
    expect({ state: decision.state, alarms: decision.alarms, versions: versions(decision) }).toEqual({
      state: "promote",
      alarms: [],
      versions: { "web-1": "2", "web-2": "1" },
    });
  });

  test.each<readonly [string, TestSet]>([
    ["all of them changed", { "web-1": { version: 2 }, "web-2": { version: 2 } }],
    ["all of them gone", {}],
  ])("of everything, %s, by an operator or API server that was taken over: nothing is verified", (_, live) => {
    expect(decideFor(live, [checksumFor(live, 300)])).toMatchObject({ state: "holding", alarms: ["Unannounced"] });
  });

  test("that was not stays away, although the operator vouches for it, and does not hold up one that was", () => {
    const live = { "web-1": { version: 2 }, "web-2": { version: 2 } };
    const decision = decideFor(live, [checksumFor(live, 300), announcement(200, change("web-1", 1, 2))]);
    expect({ state: decision.state, alarms: decision.alarms, versions: versions(decision) }).toEqual({
      state: "promote",
      alarms: ["Unannounced"],
      versions: { "web-1": "2", "web-2": "1" },
    });
  });

  test("of the content alone needs a word too", () => {
    const live: TestSet = { "web-1": { version: 2, content: "forged" }, "web-2": {} };
    const id = idsOf(live)[0] ?? "";
    const decision = decideFor(live, [announcement(200, { name: "web-1", to: id, sha256: "meant" })]);
    expect(decision).toMatchObject({ state: "verified", alarms: ["Unannounced"] });
  });

  test("in a batch is adopted with the whole batch", () => {
    const batch = announcement(200, change("web-1", 1, 2), change("web-2", 1, 2));
    expect(versions(decideFor({ "web-1": { version: 2 }, "web-2": {} }, [batch]))).toEqual({ "web-1": "1", "web-2": "1" });
    expect(versions(decideFor({ "web-1": { version: 2 }, "web-2": { version: 2 } }, [batch]))).toEqual({ "web-1": "2", "web-2": "2" });
  });

  test("is confirmed by a word of its own, also if another object of the same announcement has changed since", () => {
    const confirmed = announcement(200, { ...change("web-1", undefined, 1), unchanged: true }, { ...change("web-2", undefined, 1), unchanged: true });
    const decision = decideFor({ "web-1": {}, "web-2": { version: 2 } }, [confirmed]);
    expect(decision.target?.secrets["web-1"]?.announcedMs).toBe(200);
    expect(versions(decision)).toEqual({ "web-1": "1", "web-2": "1" });
  });

  test("in a batch of which a part was announced again since does not wait for what never comes", () => {
    const batch = announcement(200, change("web-1", 1, 2), change("web-2", 1, 2));
    const again = announcement(300, change("web-2", 1, 3));
    expect(versions(decideFor({ "web-1": { version: 2 }, "web-2": { version: 3 } }, [batch, again]))).toEqual({ "web-1": "2", "web-2": "3" });
  });
});

describe("whoever has taken the cluster over", () => {
  const second = announcement(200, change("web-1", 1, 2));
  const live: TestSet = { "web-1": { version: 2 }, "web-2": {} };

  test("cannot bring an earlier certificate back with its own announcement", () => {
    const first = announcement(100, change("web-1", undefined, 1));
    const promoted = promotedBy(decideFor(live, [first, second]), promotedSet(before, 100));
    // The second announcement was deleted, or lost with etcd.
    const decision = decideFor(before, [first], promoted);
    expect({ versions: versions(decision), alarms: decision.alarms }).toEqual({ versions: { "web-1": "2", "web-2": "1" }, alarms: ["Unannounced"] });
  });

  test("cannot bring back one that was given up, when the word that gave it up is shown no more", () => {
    const first = announcement(100, change("web-1", undefined, 1));
    const gone = announcement(200, change("web-1", 1, undefined));
    const promoted = promotedBy(decideFor({ "web-2": {} }, [first, gone]), promotedSet(before, 100));
    // Nor after a promotion of something else has followed.
    const later = promotedBy(decideFor({ "web-2": { version: 2 } }, [announcement(300, change("web-2", 1, 2))], promoted), promoted);
    for (const manifest of [promoted, later]) {
      const decision = decideFor({ ...before, "web-2": { version: 2 } }, [first], manifest);
      expect({ has: "web-1" in versions(decision), alarms: decision.alarms.includes("Unannounced") }).toEqual({ has: false, alarms: true });
    }
    expect(versions(decideFor(before, [announcement(400, change("web-1", undefined, 1))], later))).toHaveProperty("web-1");
  });

  test("cannot use a word that was withdrawn, once a later one has confirmed what is served", () => {
    const withdrawn = announcement(300, change("web-1", 2, 3));
    const confirmed = announcement(400, change("web-1", undefined, 2));
    const promoted = promotedBy(decideFor(live, [second]), promotedSet(before, 100));
    const decision = decideFor(live, [second, confirmed], promoted);
    expect(decision.state).toBe("promote");
    const later = decideFor({ ...live, "web-1": { version: 3 } }, [withdrawn], promotedBy(decision, promoted));
    expect({ versions: versions(later), alarms: later.alarms }).toEqual({ versions: { "web-1": "2", "web-2": "1" }, alarms: ["Unannounced"] });
  });

  test("cannot shut out later words with one of a time to come, of a key that was stolen", () => {
    const dayMs = 86_400_000;
    const decision = decideFor(live, [announcement(now + dayMs, change("web-1", 1, 2))]);
    expect({ versions: versions(decision), alarms: decision.alarms }).toEqual({ versions: { "web-1": "1", "web-2": "1" }, alarms: ["Unannounced"] });
    // The owner's word counts, whatever the stolen key says of tomorrow.
    expect(versions(decideFor(live, [announcement(now + dayMs, change("web-1", 1, 9)), second]))).toEqual({ "web-1": "2", "web-2": "1" });
  });

  test("cannot use a word that was withdrawn on what never was there, once somebody has signed everything there is", () => {
    const withdrawn = announcement(300, change("web-9", undefined, 1));
    const everything = announcement(400, nothingElse, { ...change("web-1", undefined, 1), unchanged: true });
    const shown = { ...before, "web-9": {} };
    // While the later word is shown, and when it is hidden after it was followed.
    const decision = decideFor(shown, [withdrawn, everything]);
    expect(versions(decision)).toEqual({ "web-1": "1", "web-2": "1" });
    expect(decision).toMatchObject({ state: "promote", target: { confirmedMs: 400 } });
    const promoted = { ...promotedBy(decision, promotedSet(before, 100)), confirmedMs: 400 };
    const hidden = decideFor(shown, [withdrawn], promoted);
    expect({ versions: versions(hidden), alarms: hidden.alarms }).toEqual({ versions: { "web-1": "1", "web-2": "1" }, alarms: ["Unannounced"] });
    // A later one counts.
    expect(versions(decideFor(shown, [everything, announcement(500, change("web-9", undefined, 1))], promoted))).toHaveProperty("web-9");
  });

  test("cannot go back by damaging what is on the disk", () => {
    const first = announcement(100, change("web-1", undefined, 1));
    const promoted = promotedBy(decideFor(live, [second]), promotedSet(before, 100));
    const seen = { promoted, secrets: observedSet(before), checksums: [first], stamp: undefined, isWhole: false, broken: new Set(["web-1"]) };
    expect(versions(decide(observation(seen), rules, now))).toEqual({ "web-2": "1" });
  });

  test("cannot take one away", () => {
    const decision = decideFor({ "web-2": {} }, [second, checksumFor({ "web-2": {} }, 900)]);
    expect(decision).toMatchObject({ state: "verified", alarms: ["Unannounced"] });
    expect(versions(decision)).toEqual({ "web-1": "1", "web-2": "1" });
  });

  test("cannot add one", () => {
    expect(versions(decideFor({ ...before, "web-9": {} }, [second, checksumFor({ ...before, "web-9": {} }, 900)]))).toEqual({
      "web-1": "1",
      "web-2": "1",
    });
  });

  test("cannot empty a gateway", () => {
    const held = decideFor({}, [second, checksumFor({}, 900)]);
    expect(held).toMatchObject({ state: "holding", alarms: ["Unannounced"] });
    expect(Object.keys(versions(held))).toEqual(["web-1", "web-2"]);
    expect(decideFor({}, [])).toMatchObject({ state: "holding", alarms: expect.arrayContaining(["NoChecksum"]) });
  });

  test.each<readonly [string, TestSet]>([
    ["nobody has signed anything", live],
    ["no Secret is shown", {}],
  ])("cannot have a new one begin with nothing: %s", (_, shown) => {
    const decideNew = (policies: Partial<Policies> = {}): Decision =>
      decide(observation({ secrets: observedSet(shown), checksums: [checksumFor(shown, 900)] }), { ...testRules(policies), signedOnly: true }, now);
    expect(decideNew()).toMatchObject({ state: "holding", alarms: expect.arrayContaining(["EmptySet"]) });
    expect(decideNew({ EmptySet: "promote" }).state).toBe("promote");
  });

  test("cannot fill a new one", () => {
    expect(versions(decide(observation({ secrets: observedSet(live), checksums: [second, checksumFor(live, 900)] }), rules, now))).toEqual({
      "web-1": "2",
    });
  });
});

test("a certificate that was given up by a signed word goes, by its name or its id", () => {
  for (const name of ["web-1", ""]) {
    const gone = announcement(200, { ...change("web-1", 1, undefined), name });
    expect(versions(decideFor({ "web-2": {} }, [gone]))).toEqual({ "web-2": "1" });
  }
});

test("a gateway that was away while a certificate was renewed and then given up gives it up too", () => {
  const words = [announcement(200, change("web-1", 1, 2)), announcement(300, change("web-1", 2, undefined))];
  const adopted = promotedBy(decideFor(before, [announcement(100, change("web-1", undefined, 1))]), promotedSet(before, 100));
  expect(Object.keys(versions(decideFor({ "web-2": {} }, words, adopted)))).toEqual(["web-2"]);
  // Nobody knows what one was meant to be that no word brought in.
  expect(Object.keys(versions(decideFor({ "web-2": {} }, words)))).toEqual(["web-2", "web-1"]);
});

test("what was confirmed counts although something that was given up with it has come back", () => {
  const gone: AnnouncedChange = { name: "", from: idsOf({ "web-9": {} })[0] ?? "" };
  const confirmed = announcement(200, nothingElse, gone, { ...change("web-1", undefined, 1), unchanged: true });
  const back = announcement(300, change("web-9", undefined, 1));
  const decision = decide(observation({ secrets: observedSet({ "web-1": {}, "web-9": {} }), checksums: [confirmed, back] }), rules, now);
  expect(Object.keys(versions(decision))).toEqual(["web-1", "web-9"]);
});

test("of two words of one second the same one is the later, whatever an API server says of its objects", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const key = readSigningKey(privateKey.export({ format: "pem", type: "pkcs8" }).toString());
  const observe = checksumObserver(readPublicKeys(publicKey.export({ format: "pem", type: "spki" }).toString()));
  const word = (version: number, name: string, created: string): ObservedChecksum => {
    const spec = { timestamp: "1970-01-01T00:10:00Z", announcement: { expires: "1970-01-01T00:20:00Z", changes: [change("web-1", 1, version)] } };
    const metadata = { namespace: "shop", name, uid: name, resourceVersion: "1", creationTimestamp: created };
    return observe({ metadata, spec: { ...spec, announcement: signed({ namespace: "shop", kind: SecretCheckSum.kind, spec }, key) } });
  };
  const adopted = [
    ["a", "b"],
    ["b", "a"],
  ].map(([second = "", third = ""]) => {
    const words = [word(2, second, "1970-01-01T00:10:01Z"), word(3, third, "1970-01-01T00:10:02Z")];
    return [2, 3].map((version) => versions(decideFor({ "web-1": { version }, "web-2": {} }, words))["web-1"]);
  });
  expect(adopted[0]).toEqual(adopted[1]);
  // The earlier one does not come back when the later one is shown no more.
  const [later, earlier] = adopted[0]?.[0] === "2" ? [2, 3] : [3, 2];
  const promoted = promotedBy(decideFor({ "web-1": { version: later } }, [word(later, "a", "")]), promotedSet({ "web-1": {} }, 100));
  expect(versions(decideFor({ "web-1": { version: earlier } }, [word(earlier, "b", "1970-01-01T00:10:09Z")], promoted))["web-1"]).toBe(String(later));
});

test("a word about one of two that share a certificate is about that one alone", () => {
  const shared = { "one/web-1": { content: "wildcard" }, "two/web-1": { content: "wildcard" } };
  const [id = ""] = idsOf(shared);
  const gone = announcement(200, { name: "one/web-1", from: id });
  expect(versions(decideFor({ "two/web-1": { content: "wildcard" } }, [gone], promotedSet(shared, 100)))).toEqual({ "two/web-1": "1" });
  expect(decideFor({}, [gone], promotedSet(shared, 100))).toMatchObject({ state: "promote", alarms: ["Unannounced"] });
  expect(versions(decideFor({}, [gone], promotedSet(shared, 100)))).toEqual({ "two/web-1": "1" });
});

test("one that comes back after it was given up needs a new word", () => {
  const gone = announcement(200, change("web-1", 1, undefined));
  const promoted = promotedSet({ "web-2": {} }, 100);
  expect(versions(decideFor(before, [announcement(100, change("web-1", undefined, 1)), gone], promoted))).toEqual({ "web-2": "1" });
  expect(versions(decideFor(before, [gone, announcement(300, change("web-1", undefined, 1))], promoted))).toEqual({ "web-1": "1", "web-2": "1" });
});
