// The rules of the watch, one by one: what each answer of the server leads to, and how long it waits.
import { describe, expect, it } from "vitest";
import { compareResourceVersions, deadlineOf, idleWatch, step, type WatchEffect, type WatchInput, type WatchState } from "./step.ts";
import { defaultWatchLimits as limits } from "./watch-limits.ts";

/** A watch in virtual time that remembers what it last asked for. */
class Watch {
  state: WatchState = idleWatch;
  effect: WatchEffect | undefined;
  nowMs = 0;
  optional = false;
  readonly events: string[] = [];

  input(input: WatchInput<string>, afterMs = 0): this {
    this.nowMs += afterMs;
    const next = step(this.state, input, { nowMs: this.nowMs, limits, optional: this.optional });
    this.state = next.state;
    this.effect = next.effect;
    this.events.push(...next.events.map((event) => event.type));
    return this;
  }

  refuse(status: number, retryAfterMs?: number): this {
    return this.input({ type: "refused", status, message: `status ${status}`, retryAfterMs });
  }

  bookmark(resourceVersion: string, endOfInitialEvents = false): this {
    return this.input({ type: "bookmark", resourceVersion, endOfInitialEvents });
  }

  /** The wait asked for, at its longest. */
  get waitMs(): number | undefined {
    return this.effect?.type === "wait" ? this.effect.atLeastMs + this.effect.spreadMs : undefined;
  }
}

const started = (): Watch => new Watch().input({ type: "go" });
const live = (): Watch => started().input({ type: "answered" }).bookmark("100", true);
const object = { key: "ns/a", uid: "u", resourceVersion: "101", value: "v" };

describe("the way in", () => {
  it("begins with a WatchList and is live at its end bookmark", () => {
    expect(started().effect).toEqual({ type: "openStream" });
    expect(live()).toMatchObject({ state: { type: "watching", resourceVersion: "100" }, effect: undefined, events: ["init", "initDone"] });
  });

  it.each([400, 422])("lists in pages, for good, when the server answers %i to a WatchList", (status) => {
    const watch = started().refuse(status);
    expect(watch.effect).toEqual({ type: "fetchPage", token: undefined });
    watch.input({ type: "answered" }).input({ type: "pageEnd", resourceVersion: "100", token: undefined });
    expect(watch.effect).toEqual({ type: "openWatch", resourceVersion: "100" });
    watch.input({ type: "answered" }).input({ type: "applied", added: true, object }, limits.stableMs).refuse(410);
    expect(watch.effect).toEqual({ type: "fetchPage", token: undefined });
  });

  it("lists in pages when a bookmark shows that the server ignored sendInitialEvents", () => {
    expect(started().input({ type: "answered" }).bookmark("100").effect).toEqual({ type: "fetchPage", token: undefined });
  });

  it("gives a WatchList up that shows nothing new before its deadline, and tries it again at the next list", () => {
    const watch = started().input({ type: "answered" });
    watch.input({ type: "applied", added: true, object }, 20_000);
    expect(deadlineOf(watch.state, watch.nowMs, limits)).toBe(20_000 + limits.listStallMs);
    // Changes are no progress: on a server that ignores the parameter they never end.
    watch.input({ type: "applied", added: false, object }, 20_000);
    expect(deadlineOf(watch.state, watch.nowMs, limits)).toBe(20_000 + limits.listStallMs);
    watch.input({ type: "overdue" }, 10_000);
    expect(watch.effect).toEqual({ type: "fetchPage", token: undefined });
    watch.input({ type: "answered" }).input({ type: "pageEnd", resourceVersion: "100", token: undefined }).input({ type: "answered" });
    expect(watch.input({ type: "ended" }, limits.stableMs).refuse(410).effect).toEqual({ type: "openStream" });
  });

  /** On its second page. */
  const paging = (): Watch => started().refuse(400).input({ type: "answered" }).input({ type: "pageEnd", resourceVersion: "100", token: "t1" });
  const firstPage = { type: "fetchPage", token: undefined };
  const secondPage = { type: "fetchPage", token: "t1" };

  it("follows the pages, and watches from the first one's resourceVersion on", () => {
    expect(paging().effect).toEqual(secondPage);
    const last = paging().input({ type: "answered" }).input({ type: "pageEnd", resourceVersion: "103", token: undefined });
    expect([last.effect, last.events]).toEqual([{ type: "openWatch", resourceVersion: "100" }, ["init", "initDone"]]);
  });

  it.each([400, 401, 403, 410, 500, 503, 504])("begins the list again when the token of a page is answered with %i, after a wait", (status) => {
    const refused = paging().refuse(status);
    expect(refused.waitMs).toBeGreaterThan(0);
    expect(refused.input({ type: "go" }).effect).toEqual(firstPage);
    expect(refused.input({ type: "answered" }).events).toEqual(["init", "init"]);
  });

  it("asks for the same page again when the server was too busy, unless it asks for a long wait", () => {
    expect(paging().refuse(429, limits.resumeWithinMs).input({ type: "go" }).effect).toEqual(secondPage);
    expect(
      paging()
        .refuse(429, limits.resumeWithinMs + 1)
        .input({ type: "go" }).effect,
    ).not.toEqual(secondPage);
  });

  it("asks for the same page again at once when its connection broke; once more, and the list begins again, since the server may be another one", () => {
    const broken = paging().input({ type: "broken", message: "reset" });
    expect(broken.effect).toEqual(secondPage);
    expect(broken.input({ type: "broken", message: "refused" }).waitMs).toBeGreaterThan(0);
    expect(broken.input({ type: "go" }).effect).toEqual(firstPage);
    expect(paging().input({ type: "overdue" }).input({ type: "go" }).effect).toEqual(firstPage);
  });

  it("begins the list again when a page is older than the first: a backup was restored in between", () => {
    const older = paging().input({ type: "answered" }).input({ type: "pageEnd", resourceVersion: "99", token: undefined });
    expect(older.events).toEqual(["init"]);
    expect(older.input({ type: "go" }).effect).toEqual(firstPage);
  });

  it("begins the list again, after a wait, when a page is followed by itself: a server that ignores the token would be asked for ever", () => {
    const same = paging().input({ type: "answered" }).input({ type: "pageEnd", resourceVersion: "100", token: "t1" });
    expect(same.state).toMatchObject({ problem: { error: "a page of the list is followed by itself" } });
    expect(same.waitMs).toBeGreaterThan(0);
    expect(same.input({ type: "go" }).effect).toEqual(firstPage);
  });
});

describe("going on", () => {
  it("resumes from the last resourceVersion, bookmarks included", () => {
    const watch = live().input({ type: "applied", added: true, object });
    expect(watch.state).toMatchObject({ resourceVersion: "101" });
    expect(watch.bookmark("150").input({ type: "ended" }, limits.stableMs).effect).toEqual({ type: "openWatch", resourceVersion: "150" });
  });

  it("reopens a watch that lived at once, and one that did not after a wait that grows", () => {
    const watch = live().input({ type: "ended" }, limits.stableMs);
    const waits: (number | undefined)[] = [];
    for (let i = 0; i < 8; i++) {
      waits.push(watch.input({ type: "answered" }).input({ type: "broken", message: "reset" }, 1).waitMs);
      watch.input({ type: "go" });
    }
    expect(waits).toEqual([800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
  });

  it("keeps the shortest wait while each short watch delivers something", () => {
    const watch = live();
    for (let i = 0; i < 5; i++) {
      watch.input({ type: "broken", message: "reset" }, 100);
      expect(watch.waitMs).toBe(800);
      watch.input({ type: "go" }).input({ type: "answered" }).bookmark("100", true);
    }
  });

  it("lists again on 410: at once the first time, with growing waits when it goes on", () => {
    const watch = live().refuse(410);
    expect(watch.effect).toEqual({ type: "openStream" });
    watch.input({ type: "answered" }).bookmark("200", true).refuse(410);
    expect(watch.waitMs).toBe(1600);
    watch.input({ type: "go" }).input({ type: "answered" }).bookmark("300", true).refuse(410);
    expect(watch.waitMs).toBe(3200);
  });

  it("reopens a watch that fell silent, and lists again when the new one never says a word", () => {
    const watch = live();
    expect(deadlineOf(watch.state, 5_000, limits)).toBe(155_000);
    expect(watch.input({ type: "overdue" }, 150_000).effect).toEqual({ type: "openWatch", resourceVersion: "100" });
    expect(watch.input({ type: "answered" }).input({ type: "overdue" }, 150_000).effect).toEqual({ type: "openStream" });
  });
});

describe("an outage", () => {
  const cut = (): Watch => live().input({ type: "broken", message: "reset" }, limits.stableMs);

  it("resumes when only the connection broke", () => {
    expect(cut().effect).toEqual({ type: "openWatch", resourceVersion: "100" });
  });

  it("lists anew when the server could not be reached, since it may have been restored from a backup meanwhile", () => {
    const away = cut().input({ type: "broken", message: "refused" });
    expect(away.waitMs).toBe(limits.firstBackoffMs);
    expect(away.input({ type: "go" }).effect).toEqual({ type: "openStream" });
  });

  it.each(["broken", "ended"] as const)(
    "lists anew after a wait, however short, when a young watch is %s: an API server is back within a second",
    (type) => {
      const young = live().input({ type, message: "reset" }, 100);
      expect(young.waitMs).toBe(limits.firstBackoffMs);
      expect(young.input({ type: "go" }).effect).toEqual({ type: "openStream" });
    },
  );

  it("lists anew after an answer that something in between may have given", () => {
    expect(live().refuse(503).input({ type: "go" }).effect).toEqual({ type: "openStream" });
  });

  it("resumes when the server was too busy, unless it asks for a long wait", () => {
    const asked = live().refuse(429, limits.resumeWithinMs + 1);
    expect(asked.input({ type: "go" }).effect).toEqual({ type: "openStream" });
    const short = live().refuse(429, limits.resumeWithinMs);
    expect(short.input({ type: "go" }).effect).toEqual({ type: "openWatch", resourceVersion: "100" });
  });
});

describe("refusals", () => {
  it.each([429, 500, 503])("backs off on %i and honours Retry-After", (status) => {
    expect(started().refuse(status).waitMs).toBe(800);
    expect(started().refuse(status, 7_000).effect).toMatchObject({ type: "wait", atLeastMs: 7_000 });
    expect(live().refuse(status, 7_000).effect).toMatchObject({ type: "wait", atLeastMs: 7_000 });
    expect(started().refuse(status, 1e9).effect).toMatchObject({ atLeastMs: limits.maxRetryAfterMs });
  });

  it("names the verb that is forbidden, until an answer is good", () => {
    const watch = started().refuse(403);
    expect(watch.state.problem).toEqual({ type: "forbidden", verb: "watch" });
    expect(watch.input({ type: "go" }).state.problem).toEqual({ type: "forbidden", verb: "watch" });
    expect(watch.input({ type: "answered" }).state.problem).toBeUndefined();
    expect(started().refuse(400).refuse(403).state.problem).toEqual({ type: "forbidden", verb: "list" });
  });

  it("looks for a missing kind at least every 5 s", () => {
    const watch = started();
    for (let i = 0; i < 10; i++) watch.refuse(404).input({ type: "go" });
    watch.refuse(404);
    expect(watch.state.problem).toEqual({ type: "missing" });
    expect(watch.waitMs).toBe(5_000);
  });

  it("delivers an empty list for a kind that is optional and, twice in a row, not served", () => {
    const watch = started();
    watch.optional = true;
    const refuseOnce = (status: number): number => watch.refuse(status).input({ type: "go" }).events.splice(0).length;
    expect([404, 500, 404, 404, 404, 403].map(refuseOnce)).toEqual([0, 0, 0, 2, 2, 0]);
  });

  it("lists afresh when the kind of a live watch is gone", () => {
    expect(live().refuse(404).input({ type: "go" }).effect).toEqual({ type: "openStream" });
  });
});

// Comparing resourceVersions: whole numbers of any length, or not at all.

it.each([
  ["9", "10", -1],
  ["10", "9", 1],
  ["7", "7", 0],
  ["007", "7", 0],
  ["18446744073709551616", "18446744073709551615", 1],
  ["abc", "abc", 0],
  ["abc", "7", undefined],
  ["7", "-7", undefined],
  ["", "7", undefined],
])("compares %j with %j as %j", (left, right, expected) => expect(compareResourceVersions(left, right)).toBe(expected));
