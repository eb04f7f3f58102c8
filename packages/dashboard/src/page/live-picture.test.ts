import { expect, it } from "vitest";
import { type Connection, firstConnection, pauseMs, stepConnection } from "./live-picture.ts";

const failed = (nowMs: number, heardMs = nowMs) => ({ type: "failed", nowMs, heardMs, why: "the server is gone", spread: 1 }) as const;

it("after a cut it tries again with growing pauses, and still knows since when it has been cut", () => {
  let connection: Connection = stepConnection(firstConnection, { type: "opened", nowMs: 1000 });
  expect(connection).toEqual({ state: "live", sinceMs: 1000, attempt: 0 });
  const pauses: number[] = [];
  for (let nowMs = 50_000, count = 0; count < 8; count++) {
    connection = stepConnection(connection, failed(nowMs));
    if (connection.state !== "cut") throw new Error(connection.state);
    expect(connection.cutAtMs).toBe(50_000);
    pauses.push(connection.retryAtMs - nowMs);
    nowMs = connection.retryAtMs;
    connection = stepConnection(connection, { type: "retry" });
    expect(connection.state).toBe("connecting");
  }
  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
  expect(stepConnection(connection, { type: "opened", nowMs: 90_000 })).toEqual({ state: "live", sinceMs: 90_000, attempt: 8 });
});

it("what is shown is as old as the last byte, and not as the moment in which the silence was noticed", () => {
  const cut = stepConnection({ state: "live", sinceMs: 0, attempt: 0 }, failed(95_000, 50_000));
  expect(cut).toMatchObject({ state: "cut", cutAtMs: 50_000 });
  expect(stepConnection(stepConnection(cut, { type: "retry" }), failed(99_000, 50_000))).toMatchObject({ cutAtMs: 50_000 });
});

it("pages that were cut at the same time do not come back at the same time", () => {
  expect(pauseMs(2, 0)).toBe(1000);
  expect(pauseMs(2, 0.5)).toBe(1500);
});

it("asks for a token, and says why", () => {
  expect(stepConnection(firstConnection, { type: "unauthorized", hadToken: false })).toEqual({ state: "login", why: "needed" });
  expect(stepConnection(firstConnection, { type: "unauthorized", hadToken: true })).toEqual({ state: "login", why: "wrong" });
  expect(stepConnection(firstConnection, { type: "forbidden", message: "no rights" })).toEqual({
    state: "login",
    why: "refused",
    message: "no rights",
  });
  const ended = stepConnection({ state: "live", sinceMs: 1, attempt: 0 }, { type: "sessionEnded" });
  expect(ended).toEqual({ state: "login", why: "ended" });
  expect(stepConnection(ended, { type: "retry" })).toEqual(firstConnection);
});

it("asking again changes nothing while it is live or on its way", () => {
  for (const connection of [firstConnection, { state: "live", sinceMs: 1, attempt: 0 } as const])
    expect(stepConnection(connection, { type: "retry" })).toBe(connection);
});

it("a server that breaks every connection at once is asked less and less, until one holds", () => {
  let connection: Connection = firstConnection;
  let nowMs = 0;
  const cutAfter = (livedMs: number): number => {
    connection = stepConnection(connection, { type: "opened", nowMs });
    nowMs += livedMs;
    connection = stepConnection(connection, failed(nowMs));
    if (connection.state !== "cut") throw new Error(connection.state);
    const pause = connection.retryAtMs - nowMs;
    connection = stepConnection(connection, { type: "retry" });
    return pause;
  };
  expect([cutAfter(10), cutAfter(10), cutAfter(10)]).toEqual([1000, 4000, 15_000]);
  expect(cutAfter(60_000)).toBe(500);
});
