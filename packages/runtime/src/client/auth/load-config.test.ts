// Where a configuration is looked for, and in which order.
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "./load-config.ts";
import { temporaryFolder } from "./temporary-folder.fixture.ts";

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
