import * as fc from "fast-check";
import { expect, it } from "vitest";
import { nothingRead, readEvents, type ServerSentEvent } from "./event-stream.ts";

const word = fc.stringMatching(/^[a-z0-9.:-]{1,12}$/);
const sent = fc.record({
  id: fc.option(word, { nil: undefined }),
  event: word,
  data: fc.array(fc.stringMatching(/^[^\r\n]{0,30}$/), { minLength: 1, maxLength: 3 }).map((lines) => lines.join("\n")),
});

function write({ id, event, data }: ServerSentEvent): string {
  const lines = [...(id === undefined ? [] : [`id: ${id}`]), `event: ${event}`, ...data.split("\n").map((line) => `data: ${line}`)];
  return `${lines.join("\n")}\n\n`;
}

it("gives the events that were sent, however the text is cut into pieces", () => {
  fc.assert(
    fc.property(fc.array(sent), fc.array(fc.integer({ min: 1, max: 40 })), (events, lengths) => {
      let text = `: hello\n\n${events.map(write).join(": still here\n\n")}`;
      let state = nothingRead;
      const read: ServerSentEvent[] = [];
      for (const length of [...lengths, text.length]) {
        const step = readEvents(state, text.slice(0, length));
        text = text.slice(length);
        state = step.state;
        read.push(...step.events);
      }
      expect(read).toEqual(events);
    }),
  );
});
