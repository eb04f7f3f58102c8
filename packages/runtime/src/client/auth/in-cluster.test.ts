// A pod's service account, with its token and CA replaced while requests go on.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { createAuthority, issueCertificate } from "../../testing/x509/certificate.ts";
import { createHttpTransport } from "../http-transport.ts";
import { startLocalServer, textOf } from "../local-server.fixture.ts";
import { inClusterConfig, isInCluster } from "./in-cluster.ts";
import { temporaryFolder } from "./temporary-folder.fixture.ts";

async function serviceAccount(files: Readonly<Record<string, string>>): Promise<string> {
  const dir = await temporaryFolder();
  await mkdir(dir, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
  return dir;
}

const clock = new VirtualClock();

describe("inClusterConfig", () => {
  it("is the address in the environment and the mounted files", async () => {
    const dir = await serviceAccount({ token: "secret-token\n", "ca.crt": "PEM", namespace: "team-a\n" });
    const env = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };
    const config = await inClusterConfig({ env, clock, serviceAccountDir: dir });
    expect(config).toMatchObject({ server: "https://10.96.0.1:443", namespace: "team-a", source: "in-cluster" });
    expect(await config.credentials.authorize()).toEqual({ headers: { authorization: "Bearer secret-token" }, tls: { ca: "PEM" } });
  });

  it("puts brackets around an IPv6 address", async () => {
    const dir = await serviceAccount({ token: "t", "ca.crt": "PEM" });
    const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" };
    expect((await inClusterConfig({ env, clock, serviceAccountDir: dir })).server).toBe("https://[fd00::1]:6443");
  });

  it("says what is missing", async () => {
    await expect(inClusterConfig({ env: {}, clock })).rejects.toMatchObject({ code: "NothingFound" });
    const env = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };
    expect([isInCluster({}), isInCluster(env)]).toEqual([false, true]);
    const dir = await serviceAccount({ "ca.crt": "PEM" });
    await expect(inClusterConfig({ env, clock, serviceAccountDir: dir })).rejects.toMatchObject({
      code: "FileMissing",
      message: expect.stringContaining(join(dir, "token")),
    });
  });
});

it("goes on with a new token at once when the old one is refused, and with a new CA when the server has one", async () => {
  const [before, after] = ["old", "new"].map((name) => {
    const authority = createAuthority(`${name} authority`);
    return { authority, keys: issueCertificate(authority, { usage: "server", commonName: "api", hosts: ["127.0.0.1"] }) };
  });
  if (!before || !after) throw new Error("two authorities were made");
  let accepted = "one";
  const answer: Parameters<typeof startLocalServer>[0] = (request, response) => {
    response.statusCode = request.headers.authorization === `Bearer ${accepted}` ? 200 : 401;
    response.end("answer");
  };
  const dir = await serviceAccount({ token: "one", "ca.crt": before.authority.certificate });
  await using first = await startLocalServer(answer, before.keys);
  await using second = await startLocalServer(answer, after.keys);
  const configFor = (port: number) =>
    inClusterConfig({ env: { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(port) }, clock, serviceAccountDir: dir });
  const [toFirst, toSecond] = [createHttpTransport(await configFor(first.port)), createHttpTransport({ ...(await configFor(second.port)), clock })];
  const statusOf = async (transport: typeof toFirst): Promise<number> => {
    const response = await transport.send({ method: "GET", path: "/" });
    await textOf(response);
    return response.status;
  };
  try {
    expect(await statusOf(toFirst)).toBe(200);
    accepted = "two";
    await writeFile(join(dir, "token"), "two");
    expect(await statusOf(toFirst)).toBe(200);
    await expect(statusOf(toSecond)).rejects.toMatchObject({ code: "Connection" });
    await writeFile(join(dir, "ca.crt"), after.authority.certificate);
    await clock.advance(10_000);
    expect(await statusOf(toSecond)).toBe(200);
  } finally {
    toFirst.close();
    toSecond.close();
  }
});
