// Which requests a fault is about.
import { describe, expect, it } from "vitest";
import { matches, requestLine } from "./proxied-request.ts";

const watch = requestLine("GET", "/api/v1/pods?watch=true&resourceVersion=5");
const list = requestLine("GET", "/api/v1/pods?limit=500");
const create = requestLine("POST", "/api/v1/namespaces/a/pods");

describe("requestLine", () => {
  it("tells watches, other reads and writes apart", () => {
    const kinds = [watch, list, create].map(({ isWatch, isWrite }) => ({ isWatch, isWrite }));
    expect(kinds).toEqual([
      { isWatch: true, isWrite: false },
      { isWatch: false, isWrite: false },
      { isWatch: false, isWrite: true },
    ]);
    expect(requestLine("GET", "/x?watch=1").isWatch).toBe(true);
    expect(requestLine("GET", "/x?watch=false").isWatch).toBe(false);
  });
});

describe("matches", () => {
  it("selects everything without conditions", () => {
    expect([watch, list, create].every((request) => matches({}, request))).toBe(true);
  });

  it("needs every condition to hold", () => {
    expect(matches({ method: "GET", path: /limit=/, watch: false, write: false }, list)).toBe(true);
    expect(matches({ method: "GET", path: /limit=/ }, watch)).toBe(false);
    expect(matches({ method: ["PUT", "POST"] }, create)).toBe(true);
    expect(matches({ method: ["PUT", "PATCH"] }, create)).toBe(false);
    expect(matches({ watch: true }, list)).toBe(false);
    expect(matches({ write: true }, create)).toBe(true);
  });
});
