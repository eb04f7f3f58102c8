// What is sealed cannot be guessed, and not be used for anything else.
import { expect, test } from "vitest";
import { digestOf } from "./content.ts";
import { objectProof, sealOf, shownDigest } from "./seal.ts";

const key = new Uint8Array(32).fill(7);

test("the same key seals alike, another does not, and what is sealed counts with its meaning", () => {
  const seal = sealOf(key);
  expect(seal("status", ["d1"])).toBe(sealOf(key)("status", ["d1"]));
  expect(seal("status", ["d1"])).not.toBe(seal("record", ["d1"]));
  expect(seal("object", ["a", "b"])).not.toBe(seal("object", ["a,b"]));
  expect(seal("status", ["d1"])).not.toBe(sealOf(new Uint8Array(32).fill(8))("status", ["d1"]));
});

test("a six-digit PIN is not found by the digest in status", () => {
  const contentOf = (pin: string): string => digestOf({ data: { pin }, type: "Opaque" });
  const shown = shownDigest(sealOf(key), "shop/my-key", { seq: 1, digest: contentOf("004711") });
  const guesses = Array.from({ length: 10_000 }, (_, pin) => contentOf(String(pin).padStart(6, "0")));
  expect(guesses).toContain(contentOf("004711"));
  expect(guesses.some((guess) => guess.startsWith(shown) || shown.startsWith(guess.slice(0, 12)))).toBe(false);
});

test("whoever writes a guess elsewhere, or as the next version, does not see the digest that it would have had", () => {
  const [seal, digest] = [sealOf(key), digestOf({ data: { pin: "004711" }, type: "Opaque" })];
  const shown = [
    shownDigest(seal, "shop/my-key", { seq: 1, digest }),
    shownDigest(seal, "evil/my-key", { seq: 1, digest }),
    shownDigest(seal, "shop/guesses", { seq: 1, digest }),
    shownDigest(seal, "shop/my-key", { seq: 2, digest }),
  ];
  expect(new Set(shown).size).toBe(shown.length);
  expect(shownDigest(seal, "shop/my-key", { seq: 1, digest })).toBe(shown[0]);
});

const live = { setKey: "shop/my-key", targetKey: "shop/live" };

test("a proof holds for the whole milliseconds that annotations have", () => {
  const applied = { seq: 1, digest: "d1", atMs: 1_700_000_000_000.75 };
  const written = { ...applied, atMs: Date.parse(new Date(applied.atMs).toISOString()) };
  expect(objectProof(sealOf(key), live, written)).toBe(objectProof(sealOf(key), live, applied));
});

test("a proof holds for one target of one set", () => {
  const applied = { seq: 1, digest: "d1", atMs: 1_700_000_000_000 };
  const others = [
    live,
    { ...live, setKey: "shop/other" },
    { ...live, targetKey: "shop/fallback" },
    { setKey: "shop/live", targetKey: "shop/my-key" },
  ];
  expect(new Set(others.map((provenFor) => objectProof(sealOf(key), provenFor, applied))).size).toBe(others.length);
});
