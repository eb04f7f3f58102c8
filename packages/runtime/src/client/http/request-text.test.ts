// What is written for a request, and what is refused because it would be read as something else.
import { describe, expect, it } from "vitest";
import { requestText } from "./request-text.ts";

const parts = { method: "GET", path: "/x?a=%20", host: "api.test:6443", headers: {}, body: undefined } as const;

describe("a request", () => {
  it("has a head, and its body's length in bytes", () => {
    const headers = { accept: "application/json", "Impersonate-Group": ["a", "b"] };
    expect(requestText({ ...parts, method: "POST", headers, body: "häh" })).toBe(
      "POST /x?a=%20 HTTP/1.1\r\nhost: api.test:6443\r\naccept: application/json\r\nImpersonate-Group: a\r\nImpersonate-Group: b\r\ncontent-length: 4\r\n\r\nhäh",
    );
    expect(requestText(parts)).toBe("GET /x?a=%20 HTTP/1.1\r\nhost: api.test:6443\r\n\r\n");
  });

  it.each(["/x y", "/x\r\nevil: 1", "/ä", "/\0"])("refuses the path %j", (path) => {
    expect(() => requestText({ ...parts, path })).toThrow(TypeError);
  });

  it.each([{ authorization: "Bearer secret\r\nevil: 1" }, { authorization: "secret\0" }, { authorization: "sécret" }])(
    "refuses the headers %j without showing them",
    (headers) => {
      expect(() => requestText({ ...parts, headers })).toThrow(/^the header authorization has characters that a request cannot carry$/);
    },
  );

  it.each([{ "a b": "1" }, { "": "1" }, { "a\r\n": "1" }])("refuses the header names of %j", (headers) => {
    expect(() => requestText({ ...parts, headers })).toThrow(TypeError);
  });
});
