// The byte queue against an array: what goes in comes out, however it is pushed and dropped; and whole bodies, however they are cut.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteQueue, readBody } from "./response.ts";

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

describe("a body that is read in one piece", () => {
  async function* inPieces(content: Buffer, lengths: readonly number[]): AsyncGenerator<Uint8Array> {
    let at = 0;
    for (const length of [...lengths, content.length]) yield content.subarray(at, (at += length));
  }

  it("is what was sent, however it is cut, unless it is longer than it may be", async () => {
    const content = fc.uint8Array({ maxLength: 300 });
    await fc.assert(
      fc.asyncProperty(content, fc.array(fc.nat(60), { maxLength: 8 }), fc.nat(300), async (sent, lengths, maxBytes) => {
        let received = 0;
        const read = await readBody(inPieces(Buffer.from(sent), lengths), maxBytes, (count) => (received += count));
        if (sent.length > maxBytes) expect(read).toBeUndefined();
        else expect([read?.equals(sent), received]).toEqual([true, sent.length]);
      }),
    );
  });

  it("holds none of its pieces, however many: a server can send an object's worth of them for every byte", async () => {
    async function* oneByOne(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("a");
      // One that was held would show what it is made to hold next.
      const piece = Buffer.alloc(1);
      for (const character of "bcd") {
        piece.write(character);
        yield piece;
      }
    }
    expect((await readBody(oneByOne(), 10))?.toString()).toBe("abcd");
  });
});
