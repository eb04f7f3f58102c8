// When a word is said: by the API server's clock, or, if it is signed, by the announcer's own, so that nobody who shows the cluster as it is not can reorder words.
import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { type AnnouncementKey, readSigningKey } from "./announcement.ts";
import { announcementObjects } from "./announcement-objects.ts";
import { SecretCheckSum } from "./api.ts";
import { type CheckSumObject, checkSumObject, keepCheckSum, named, type PublishedCheckSum, rfc3339 } from "./check-sum-object.ts";
import { MemberSet } from "./members.ts";

const now = Date.UTC(2026, 0, 1, 12);
const minuteMs = 60_000;
const place = { namespace: "shop", prefix: "secret" };
const state = new MemberSet().state();
const newKey = (): AnnouncementKey => readSigningKey(generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }).toString());
const key = newKey();

/** An object as the API server shows it. */
function shown(object: CheckSumObject): PublishedCheckSum {
  const { name = "" } = object.metadata;
  const metadata = { ...object.metadata, name, uid: name, resourceVersion: "1", creationTimestamp: rfc3339(now) };
  return keepCheckSum(place.prefix)({ ...object, kind: SecretCheckSum.kind, metadata });
}

interface Moment {
  readonly serverMs?: number;
  readonly ownMs?: number;
  readonly published?: readonly PublishedCheckSum[];
}

function announce(signing: AnnouncementKey | undefined, { serverMs = now, ownMs = now, published = [] }: Moment): CheckSumObject {
  const announced = { ...place, state, parts: [[{ name: "web-1", to: "1-1-a" }]], published, serverMs, ownMs, expiresInMs: minuteMs, key: signing };
  return announcementObjects({ checksums: SecretCheckSum, prefix: place.prefix }, announced)[0] ?? expect.fail("nothing is announced");
}

/** Minutes from now. */
function saidAt(signing: AnnouncementKey | undefined, moment: Moment): number {
  return (Date.parse(announce(signing, moment).spec.timestamp) - now) / minuteMs;
}

test("without a signature the API server's clock counts, and what is published", () => {
  expect(saidAt(undefined, { ownMs: now - 30 * minuteMs })).toBe(0);
  const published = [shown(checkSumObject(state, { ...place, timestampMs: now + 10 * minuteMs }))];
  expect(saidAt(undefined, { published })).toBe(10 + 1 / 60);
});

test("a checksum of a time that is far ahead, or that cannot be read, dates nothing", () => {
  const { spec } = checkSumObject(state, { ...place, timestampMs: now });
  for (const timestamp of ["2100-01-01T00:00:00Z", "2026-01-01T12:00:00,5Z"]) {
    const published = [shown(named(place.namespace, place.prefix, { ...spec, timestamp }))];
    for (const signing of [undefined, key]) expect(saidAt(signing, { published })).toBe(1 / 60);
  }
});

test("where the API server's clock was set back, what is there is still to come, and nothing is announced before it", () => {
  const published = [shown(checkSumObject(state, { ...place, timestampMs: now }))];
  expect(() => announce(undefined, { serverMs: now - 61 * minuteMs, published })).toThrow(
    "says that it is of 2026-01-01T12:00:00Z, which is still to come",
  );
});

test("an API server that says it is later does not date what is signed, nor does a checksum of a time to come", () => {
  expect(saidAt(key, { serverMs: now + 50 * minuteMs })).toBe(0);
  const published = [shown(checkSumObject(state, { ...place, timestampMs: now + 50 * minuteMs }))];
  expect(saidAt(key, { published })).toBe(1);
});

test("a word comes after what the same key has signed, also if that clock was ahead", () => {
  const published = [shown(announce(key, { ownMs: now + 30 * minuteMs }))];
  expect(saidAt(key, { published })).toBe(30 + 1 / 60);
});

test("a word that agents would take for the earlier one is not signed", () => {
  const published = [shown(announce(newKey(), { ownMs: now + 30 * minuteMs }))];
  expect(() => announce(key, { published })).toThrow("was signed with another key at 2026-01-01T12:30:00Z, and this machine's clock says");
});
