import { expect, it } from "vitest";
import { type Connection, firstConnection, pauseMs, stepConnection } from "./connection.ts";

const failed = (nowMs: number) => ({ type: "failed", nowMs, why: "the server is gone", spread: 1 }) as const;

it("after a cut it tries again with growing pauses, and still knows since when it has been cut", () => {
  let connection: Connection = stepConnection(firstConnection, { type: "opened", nowMs: 1000 });
  expect(connection).toEqual({ state: "live", sinceMs: 1000 });
  const pauses: number[] = [];
  for (let nowMs = 5000, count = 0; count < 8; count++) {
    connection = stepConnection(connection, failed(nowMs));
    if (connection.state !== "cut") throw new Error(connection.state);
    expect(connection.cutAtMs).toBe(5000);
    pauses.push(connection.retryAtMs - nowMs);
    nowMs = connection.retryAtMs;
    connection = stepConnection(connection, { type: "retry" });
    expect(connection.state).toBe("connecting");
  }
  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
  expect(stepConnection(connection, { type: "opened", nowMs: 90_000 })).toEqual({ state: "live", sinceMs: 90_000 });
});

it("pages that were cut at the same time do not come back at the same time", () => {
  expect(pauseMs(2, 0)).toBe(1000);
  expect(pauseMs(2, 0.5)).toBe(1500);
});

it("asks for a token, and says why", () => {
  expect(stepConnection(firstConnection, { type: "unauthorized", hadToken: false })).toEqual({ state: "login", why: "needed" });
  expect(stepConnection(firstConnection, { type: "unauthorized", hadToken: true })).toEqual({ state: "login", why: "wrong" });
  expect(stepConnection(firstConnection, { type: "forbidden" })).toEqual({ state: "login", why: "refused" });
  const ended = stepConnection({ state: "live", sinceMs: 1 }, { type: "sessionEnded" });
  expect(ended).toEqual({ state: "login", why: "ended" });
  expect(stepConnection(ended, { type: "retry" })).toEqual(firstConnection);
});

it("asking again changes nothing while it is live or on its way", () => {
  for (const connection of [firstConnection, { state: "live", sinceMs: 1 } as const])
    expect(stepConnection(connection, { type: "retry" })).toBe(connection);
});
