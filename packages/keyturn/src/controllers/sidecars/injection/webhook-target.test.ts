import { expect, test } from "vitest";
import { targetOf } from "./webhook.ts";

const inCluster = { timeoutSeconds: 10, resolveService: undefined };

test("a Service is called by its name in the cluster", () => {
  expect(targetOf({ service: { namespace: "mesh", name: "istiod-canary", path: "/inject/cluster/c1", port: 15017 } }, inCluster)).toEqual({
    server: "https://istiod-canary.mesh.svc:15017",
    path: "/inject/cluster/c1?timeout=10s",
    serverName: undefined,
    ca: undefined,
  });
});

test("a Service has port 443 and path / if it does not say", () => {
  expect(targetOf({ service: { namespace: "mesh", name: "istiod" } }, inCluster)).toMatchObject({
    server: "https://istiod.mesh.svc:443",
    path: "/?timeout=10s",
  });
});

test("a Service that is reached elsewhere must still show its own certificate", () => {
  const resolveService = (): { host: string; port: number } => ({ host: "127.0.0.1", port: 1234 });
  expect(targetOf({ service: { namespace: "mesh", name: "istiod" } }, { timeoutSeconds: 3, resolveService })).toMatchObject({
    server: "https://127.0.0.1:1234",
    path: "/?timeout=3s",
    serverName: "istiod.mesh.svc",
  });
});

test("a URL is called as it is, with the certificates of its caBundle", () => {
  expect(targetOf({ url: "https://istiod.example:8443/inject/net/n", caBundle: "UEVN" }, inCluster)).toEqual({
    server: "https://istiod.example:8443",
    path: "/inject/net/n?timeout=10s",
    serverName: undefined,
    ca: "PEM",
  });
});

test.each([{}, { url: "http://istiod.example/inject" }, { url: "nonsense" }])("%j names no place", (clientConfig) => {
  expect(() => targetOf(clientConfig, inCluster)).toThrow("neither a service nor an https URL");
});
