// The byte queue against an array: what goes in comes out, however it is pushed and dropped.
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { ByteQueue } from "./decoders.ts";

it("holds what was pushed and not yet dropped", () => {
  const chunk = fc.tuple(fc.integer({ min: 0, max: 255 }), fc.oneof(fc.nat(50), fc.nat(70_000), fc.nat(600_000)));
  fc.assert(
    fc.property(fc.array(fc.tuple(chunk, fc.double({ min: 0, max: 1, noNaN: true })), { maxLength: 30 }), (moves) => {
      const queue = new ByteQueue();
      let model = Buffer.alloc(0);
      for (const [[fill, length], part] of moves) {
        const bytes = Buffer.alloc(length, fill);
        queue.push(bytes);
        model = Buffer.concat([model, bytes]);
        const count = Math.round(part * model.length);
        queue.drop(count);
        model = model.subarray(count);
        expect(queue.length).toBe(model.length);
        expect(queue.bytes.subarray(queue.start, queue.end).equals(model)).toBe(true);
      }
    }),
  );
});
