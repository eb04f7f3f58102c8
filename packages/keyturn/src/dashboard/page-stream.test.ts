// One page: what it gets at its own pace, and how its stream ends.
import { Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { VirtualClock } from "@keyturn/runtime/testing";
import { describe, expect, it, vi } from "vitest";
import { type PageStreamOptions, streamPage } from "./page-stream.ts";
import { issuedFixture } from "./record.fixture.ts";
import { RecordStore } from "./record-store.ts";
import { type Rights, rightsOf, unlimitedRights } from "./viewer-rights.ts";

/** A page that reads one piece at a time, when it is asked to. */
class Reader extends Writable {
  readonly frames: string[] = [];
  #reads: boolean;
  #held: (() => void) | undefined;

  constructor({ reads }: { readonly reads: boolean }) {
    super({ highWaterMark: 1 });
    this.#reads = reads;
  }

  read(): void {
    this.#reads = true;
    this.#held?.();
    this.#held = undefined;
  }

  stop(): void {
    this.#reads = false;
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    const take = (): void => {
      this.frames.push(chunk.toString());
      callback();
    };
    if (this.#reads) take();
    else this.#held = take;
  }

  get events(): readonly string[] {
    return this.frames.map((frame) => /^event: (\w+)$/m.exec(frame)?.[1] ?? "");
  }
}

function open(options: Partial<PageStreamOptions> & { readonly reader?: Reader } = {}) {
  const { reader = new Reader({ reads: true }), ...rest } = options;
  const clock = new VirtualClock();
  const store = options.store ?? new RecordStore("boot", { maxBatches: 2 });
  const stop = new AbortController();
  const onResync = vi.fn<() => void>();
  const ended = streamPage(
    {
      store,
      out: reader,
      clock,
      hello: { cluster: "c", stages: [] },
      lastEventId: undefined,
      rights: async () => unlimitedRights,
      onResync,
      ...rest,
    },
    stop.signal,
  );
  return { reader, clock, store, stop, onResync, ended };
}

/** Lets everything that can happen without time happen. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await setImmediate();
}

describe("a page that reads", () => {
  it("gets a greeting, everything, each change, and a tick now and then", async () => {
    const { reader, clock, store, stop, ended } = open();
    await settle();
    store.commit([issuedFixture("a", "x")], []);
    await settle();
    await clock.advance(15_000);
    await settle();
    expect(reader.events).toEqual(["hello", "snapshot", "changes", "tick"]);
    expect(reader.frames[3]).toContain("id: boot:1:all");
    stop.abort();
    expect(await ended).toBe("stopped");
    expect(reader.events.at(-1)).toBe("end");
    expect(reader.frames.at(-1)).toContain('"reason":"restart"');
  });

  it("goes on where it was", async () => {
    const store = new RecordStore("boot");
    for (const name of ["x", "y", "z"]) store.commit([issuedFixture("a", name)], []);
    const { reader, stop, ended } = open({ store, lastEventId: "boot:2:all" });
    await settle();
    expect(reader.events).toEqual(["hello", "changes"]);
    expect(reader.frames[0]).toContain('"mode":"resume"');
    expect(reader.frames[1]).toContain("id: boot:3:all");
    stop.abort();
    await ended;
  });

  it("gets everything anew when its rights have changed, and learns when they are gone", async () => {
    let rights: Rights | undefined = unlimitedRights;
    const { reader, clock, store, ended } = open({ rights: async () => rights });
    store.commit([issuedFixture("a", "x")], []);
    await settle();
    rights = rightsOf(new Map());
    await clock.advance(15_000);
    await settle();
    expect(reader.events.slice(-1)).toEqual(["snapshot"]);
    expect(reader.frames.at(-1)).toContain('"total":0');
    rights = undefined;
    await clock.advance(15_000);
    expect(await ended).toBe("access");
    expect(reader.frames.at(-1)).toContain('"reason":"access"');
  });
});

describe("a page that does not read", () => {
  it("is sent nothing more, and everything anew once what it missed is forgotten", async () => {
    const { reader, store, stop, onResync, ended } = open();
    await settle();
    reader.stop();
    for (let change = 0; change < 100; change++) {
      store.commit([issuedFixture("a", "x", String(change))], []);
      await settle();
    }
    expect(reader.writableLength).toBeLessThan(1000);
    reader.read();
    await settle();
    expect(reader.events).toEqual(["hello", "snapshot", "changes", "snapshot"]);
    expect(reader.frames.at(-1)).toContain('"message":"99"');
    expect(onResync).toHaveBeenCalledTimes(1);
    stop.abort();
    await ended;
  });

  it("is given up after half a minute", async () => {
    const { clock, ended } = open({ reader: new Reader({ reads: false }) });
    await settle();
    await clock.advance(29_999);
    await settle();
    await clock.advance(1);
    expect(await ended).toBe("slow");
  });

  it("holds up nobody who stops the server", async () => {
    const { stop, ended } = open({ reader: new Reader({ reads: false }) });
    await settle();
    stop.abort();
    expect(await ended).toBe("stopped");
  });
});

it("ends when the page goes", async () => {
  const { reader, ended } = open();
  await settle();
  reader.destroy();
  expect(await ended).toBe("gone");
});
