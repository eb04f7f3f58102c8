// Manifests on the disk tell when they are not what was written.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { manifestOf } from "./generation.fixture.ts";
import { readManifest, renderManifest } from "./manifest.ts";

const manifest = manifestOf({ "web-1": "a", "web-2": "b" }, { matched: "secret-1", stamp: { timestampMs: 5, createdMs: 6 } });

test("what was written is read", () => {
  expect(readManifest(renderManifest(manifest))).toEqual(manifest);
});

test("a file that was cut off anywhere is not read", () => {
  const text = renderManifest(manifest);
  for (let length = 0; length < text.length; length++) expect(readManifest(text.slice(0, length))).toBeUndefined();
});

test("a file in which any one character was changed is not read", () => {
  const text = renderManifest(manifest);
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (place, other) => {
      fc.pre(text[place] !== other);
      expect(readManifest(`${text.slice(0, place)}${other}${text.slice(place + 1)}`)).toBeUndefined();
    }),
  );
});
