// Where a configuration is looked for, and in which order.
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { createAuthority, issueCertificate } from "../../x509.ts";
import { createHttpTransport } from "../http/http-transport.ts";
import { startLocalServer, textOf } from "../local-server.fixture.ts";
import { inClusterConfig, isInCluster, loadConfig } from "./load-config.ts";
import { temporaryFolder } from "../../testing/vitest/index.ts";

const kubeconfig = (server: string): string => `
current-context: main
contexts:
- { name: main, context: { cluster: c } }
- { name: spare, context: { cluster: c, namespace: spare } }
clusters:
- { name: c, cluster: { server: "https://${server}" } }
`;

/** A machine on which everything is there: two kubeconfigs, a home, a service account. */
async function machine() {
  const dir = await temporaryFolder();
  const home = join(dir, "home");
  await mkdir(join(home, ".kube"), { recursive: true });
  await writeFile(join(home, ".kube", "config"), kubeconfig("home"));
  await writeFile(join(dir, "explicit"), kubeconfig("explicit"));
  await writeFile(join(dir, "listed"), kubeconfig("listed"));
  await writeFile(join(dir, "token"), "t");
  await writeFile(join(dir, "ca.crt"), "PEM");
  const pod = { KUBERNETES_SERVICE_HOST: "pod", KUBERNETES_SERVICE_PORT: "443" };
  return {
    dir,
    serviceAccountDir: dir,
    home: { HOME: home },
    pod,
    listed: { KUBECONFIG: [join(dir, "none"), "", join(dir, "listed")].join(delimiter) },
  };
}

describe("loadConfig", () => {
  it("prefers the explicit path, then KUBECONFIG, then the pod, then the home folder", async () => {
    const { dir, serviceAccountDir, home, pod, listed } = await machine();
    const serverOf = async (options: Parameters<typeof loadConfig>[0]): Promise<string> =>
      (await loadConfig({ serviceAccountDir, ...options })).server;
    const env = { ...home, ...pod, ...listed };
    expect(await serverOf({ kubeconfig: join(dir, "explicit"), env })).toBe("https://explicit");
    expect(await serverOf({ env })).toBe("https://listed");
    expect(await serverOf({ env: { ...home, ...pod } })).toBe("https://pod:443");
    expect(await serverOf({ env: home })).toBe("https://home");
    expect(await serverOf({ env: { ...home, ...pod }, context: "spare" })).toBe("https://home");
  });

  it("uses the context that is asked for", async () => {
    const { home } = await machine();
    expect(await loadConfig({ env: home, context: "spare" })).toMatchObject({ namespace: "spare" });
  });

  it("says in one line what it looked for", async () => {
    const { dir } = await machine();
    const none = join(dir, "none");
    await expect(loadConfig({ kubeconfig: none, env: {} })).rejects.toMatchObject({
      code: "FileMissing",
      message: `kubeconfig ${none} does not exist`,
    });
    await expect(loadConfig({ env: { KUBECONFIG: none } })).rejects.toMatchObject({
      code: "FileMissing",
      message: `KUBECONFIG names ${none}, which does not exist`,
    });
    await expect(loadConfig({ env: { HOME: none } })).rejects.toMatchObject({
      code: "NothingFound",
      message: `no cluster configured: KUBECONFIG is not set, this is no pod, and ${none}/.kube/config does not exist; give --kubeconfig or set KUBECONFIG`,
    });
  });
});

// A pod's service account, with its token and CA replaced while requests go on.

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
