// Which servers are reached through a proxy.
import { describe, expect, it } from "vitest";
import { proxyFor, type Environment } from "./proxy-choice.ts";

const through = (server: string, env: Environment): string | undefined => proxyFor(new URL(server), env);
const proxy = "http://proxy:3128";

describe("proxyFor", () => {
  it("goes by the server's scheme, in either case of the names", () => {
    expect(through("https://api", { HTTPS_PROXY: proxy, HTTP_PROXY: "http://other" })).toBe(proxy);
    expect(through("http://api", { HTTPS_PROXY: "http://other", http_proxy: "proxy:3128" })).toBe(proxy);
    expect(through("https://api", { HTTP_PROXY: proxy })).toBeUndefined();
    expect(through("https://api", {})).toBeUndefined();
  });

  it("never proxies this machine", () => {
    for (const host of ["localhost", "127.0.0.1", "127.8.9.10", "[::1]"])
      expect(through(`https://${host}:6443`, { HTTPS_PROXY: proxy })).toBeUndefined();
  });

  it.each([
    ["https://10.96.0.1", "10.0.0.0/8", true],
    ["https://10.96.0.1", "192.168.0.0/16, 10.96.0.1", true],
    ["https://11.96.0.1", "10.0.0.0/8", false],
    ["https://10.96.0.1", "10.0.0.0/99", false],
    ["https://[fd00::1]", "fd00::/8", true],
    ["https://[fd00::1]", "fd00::1", true],
    ["https://[fd00::1]:443", "[fd00::1]:443", true],
    ["https://api.example.org", "example.org", true],
    ["https://example.org", "example.org", true],
    ["https://badexample.org", "example.org", false],
    ["https://example.org", ".example.org", false],
    ["https://api.EXAMPLE.org", "*.Example.org", true],
    ["https://api.example.org:6443", "api.example.org:6443", true],
    ["https://api.example.org:6443", "api.example.org:443", false],
    ["https://api.example.org", "*", true],
    ["https://api.example.org", ",,", false],
  ])("%s with NO_PROXY=%s: bypassed is %s", (server, noProxy, bypassed) => {
    expect(through(server, { HTTPS_PROXY: proxy, NO_PROXY: noProxy }) === undefined).toBe(bypassed);
    expect(through(server, { HTTPS_PROXY: proxy, no_proxy: noProxy }) === undefined).toBe(bypassed);
  });
});
