// Interned strings: always the right text, and one string object for what comes again.
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { InternedStrings } from "./protobuf-reader.ts";

it("reads any text from anywhere in the bytes", () => {
  const strings = new InternedStrings();
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 80 }), fc.nat(10), (text, offset) => {
      const bytes = Buffer.concat([Buffer.alloc(offset, 0x41), Buffer.from(text), Buffer.alloc(3, 0x42)]);
      const read = (): string => strings.read(bytes, offset, offset + Buffer.byteLength(text));
      expect([read(), read()]).toEqual([text, text]);
    }),
    { numRuns: 2000 },
  );
});
