// A real node: pods that run, Services that lead to them, and nothing of it left on the machine, however its owner ends.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, it } from "vitest";
import { Pod } from "../../src/client/builtin-kinds.ts";
import { clusterFilesIn } from "../../src/testing/cluster/cluster-access.ts";
import { realPods } from "../../src/testing/cluster/cluster.ts";
import { pauseImage } from "../../src/testing/cluster/node-configuration.ts";
import { connectWithin } from "../../src/testing/cluster/real-node.ts";
import { isRunning } from "../../src/testing/cluster/server-process.ts";

const run = promisify(execFile);

/** What a node could leave behind on the machine, by the name of its cluster. */
async function traces(
  name: string,
): Promise<{ readonly cgroups: readonly string[]; readonly mounts: readonly string[]; readonly processes: readonly string[] }> {
  const { stdout } = await run("ps", ["-eo", "args"], { maxBuffer: 2 ** 26 });
  return {
    cgroups: globSync(`/sys/fs/cgroup/**/${name}`),
    mounts: readFileSync("/proc/self/mounts", "utf8")
      .split("\n")
      .filter((line) => line.includes(name)),
    processes: stdout.split("\n").filter((line) => line.includes(name)),
  };
}

const nothing = { cgroups: [], mounts: [], processes: [] };

describe("a cluster with a real node", () => {
  const cluster = useCluster(realPods);

  it("runs a pod, which can be looked into, and which another reaches through its Service", async () => {
    const namespace = await cluster().namespace("pods");
    const pod = (name: string, command: string) => {
      const container = { name: "main", image: pauseImage, command: ["/bin/busybox", "sh", "-c", command] };
      return { apiVersion: "v1", kind: "Pod", metadata: { namespace, name, labels: { app: name } }, spec: { containers: [container] } };
    };
    const spec = { selector: { app: "server" }, ports: [{ port: 70, targetPort: 7000 }] };
    const service = { apiVersion: "v1", kind: "Service", metadata: { namespace, name: "server" }, spec };
    await cluster().apply([pod("server", "while :; do echo hello | /bin/busybox nc -l -p 7000; done"), service]);
    await soon(async () => expect((await cluster().client.get(Pod, { namespace, name: "server" }))?.status?.phase).toBe("Running"));
    expect(await cluster().kubectl("exec", `--namespace=${namespace}`, "server", "--", "/bin/busybox", "hostname")).toBe("server\n");
    await cluster().apply(pod("client", "until /bin/busybox nc $SERVER_SERVICE_HOST 70 </dev/null 2>/dev/null; do :; done; /bin/busybox sleep 600"));
    await soon(async () => expect(await cluster().kubectl("logs", `--namespace=${namespace}`, "client")).toBe("hello\n"));
  });

  it("can be reached from here, and its pods reach the API server", async () => {
    const socket = await connectWithin(clusterFilesIn(cluster().folder), "10.0.0.1:443");
    socket.destroy();
    await expect(connectWithin(clusterFilesIn(cluster().folder), "10.199.0.2:1")).rejects.toThrow("connecting to 10.199.0.2:1 in the node's network");
  });

  it("changes nothing in the machine's own network", async () => {
    const { stdout } = await run("ip", ["-brief", "address"]);
    expect(stdout).not.toMatch(/cni0|10\.199\.|10\.244\./);
  });

  it("leaves no process, cgroup, mount or folder when it is stopped", async () => {
    const name = basename(cluster().folder);
    expect(await traces(name)).toMatchObject({ mounts: [], processes: expect.arrayContaining([expect.stringContaining("kubelet")]) });
    await cluster().stop();
    expect(await traces(name)).toEqual(nothing);
    expect(existsSync(cluster().folder)).toBe(false);
  });
});

it("leaves nothing behind either when its owner is killed with SIGKILL while pods run", async () => {
  const script = `
    import { realPods, startCluster } from "@keyturn/runtime/testing";
    const cluster = await startCluster(realPods);
    await cluster.apply({ apiVersion: "v1", kind: "Pod", metadata: { name: "left" }, spec: { containers: [{ name: "main", image: "${pauseImage}" }] } });
    while (!(await cluster.kubectl("get", "pod", "left")).includes("Running"));
    console.log(JSON.stringify({ folder: cluster.folder, pids: cluster.servers.map(({ pid }) => pid) }));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const [line]: unknown[] = await once(child.stdout, "data");
  const { folder, pids } = JSON.parse(String(line)) as { readonly folder: string; readonly pids: readonly number[] };
  expect(existsSync(join(folder, "pids/node"))).toBe(true);
  child.kill("SIGKILL");
  await exited;
  await soon(async () => {
    expect(pids.filter(isRunning)).toEqual([]);
    expect(await traces(basename(folder))).toEqual(nothing);
    expect(existsSync(folder)).toBe(false);
  });
});

it("is not tried where the machine does not allow it, which one line says", async () => {
  const script = 'import { realNodeObstacle } from "./real-node.ts"; console.log(realNodeObstacle());';
  const place = join(import.meta.dirname, "../../src/testing/cluster");
  const { stdout } = await run("unshare", ["--user", process.execPath, "--input-type=module", "--eval", script], { cwd: place });
  expect(stdout).toBe("a real node needs root, for namespaces and cgroups\n");
});
