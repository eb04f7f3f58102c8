// Dropping events works however the stream is cut into pieces.
import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { ProxyResponse } from "./faults.ts";
import { dropEvents, requestLine } from "./exchange.ts";

const event = fc.record({
  type: fc.constantFrom("ADDED", "MODIFIED", "DELETED"),
  object: fc.record({ metadata: fc.record({ name: fc.string({ unit: "grapheme" }) }) }),
});

async function* pieces(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const size of sizes) {
    yield await Promise.resolve(bytes.subarray(at, at + size));
    at += size;
  }
  yield bytes.subarray(at);
}

it("drops the picked events and passes the others unchanged", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event), fc.array(fc.nat({ max: 40 })), async (events, sizes) => {
      const bytes = Buffer.from(events.map((item) => `${JSON.stringify(item)}\n`).join(""));
      const answer: ProxyResponse = { status: 200, headers: {}, body: pieces(bytes, sizes) };
      const request = { ...requestLine("GET", "/api/v1/pods?watch=true"), headers: {}, body: Buffer.alloc(0) };
      const { body } = await dropEvents(({ type }) => type === "MODIFIED").intervene(request, () => Promise.resolve(answer));
      const passed: Uint8Array[] = [];
      for await (const chunk of body) passed.push(chunk);
      const expected = events.filter(({ type }) => type !== "MODIFIED").map((item) => `${JSON.stringify(item)}\n`);
      expect(Buffer.concat(passed).toString()).toBe(expected.join(""));
    }),
  );
});
