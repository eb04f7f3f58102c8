// Retry-After in its two forms.
import { expect, it } from "vitest";
import { retryAfterOf } from "./response.ts";

it("reads seconds and dates, and nothing else", () => {
  const nowMs = Date.UTC(2026, 0, 1);
  expect(retryAfterOf("7", nowMs)).toBe(7_000);
  expect(retryAfterOf("Thu, 01 Jan 2026 00:00:05 GMT", nowMs)).toBe(5_000);
  expect(retryAfterOf("Wed, 31 Dec 2025 00:00:00 GMT", nowMs)).toBe(0);
  for (const header of [undefined, "", "soon"]) expect(retryAfterOf(header, nowMs)).toBeUndefined();
});
