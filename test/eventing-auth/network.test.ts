// Networks as companies have them: the way out is a proxy, and addresses are IPv6.
import { readFile } from "node:fs/promises";
import { useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, onTestFinished, test, vi } from "vitest";
import { startConnectProxy, startIpv6Relay } from "./connect-proxy.ts";
import { issuingPlace } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

test("the identity provider and the runtime are reached through the proxy that the environment names", async () => {
  await using place = await issuingPlace(controlPlane(), target());
  const kubeconfig = await readFile(place.parts.targetKubeconfig, "utf8");
  const server = /server: "?(?<url>https:\/\/[^"\s]+)/.exec(kubeconfig)?.groups?.["url"] ?? expect.fail("a server");
  await using proxy = await startConnectProxy({
    "tenant.test:80": Number(new URL(place.tenant.url).port),
    "runtime.test:6443": Number(new URL(server).port),
  });
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv("HTTP_PROXY", proxy.url);
  vi.stubEnv("HTTPS_PROXY", proxy.url);
  await place.putCredentials({ url: "http://tenant.test" });
  const moved = kubeconfig.replace(/^( *)server: .*$/m, "$1server: https://runtime.test:6443\n$1tls-server-name: localhost");
  await place.putKubeconfig(moved);
  await place.putKyma();
  await place.startOperator();
  await place.isReady();
  await place.isWhole();
  expect(new Set(proxy.tunnels)).toEqual(new Set(["tenant.test:80", "runtime.test:6443"]));
});

test("an identity provider with an IPv6 address", async () => {
  await using place = await issuingPlace(controlPlane(), target());
  await using relay = await startIpv6Relay(Number(new URL(place.tenant.url).port));
  await place.putCredentials({ url: `http://[::1]:${relay.port}` });
  await place.ready();
  await place.isWhole();
});
