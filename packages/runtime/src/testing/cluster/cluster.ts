// Starts a real Kubernetes control plane on this machine, for tests and for `keyturn dev`.
import * as z from "zod";
import type { BinaryOptions } from "./binaries.ts";
import { findBinaries } from "./binaries.ts";
import { accessCluster, type ClusterAccess, clusterFilesIn, writeClusterFiles } from "./cluster-access.ts";
import { apiServerArgsFor, apiServerRelay, realNode } from "./real-node.ts";
import { nodeToolNames, type ToolName } from "./tool-module.ts";
import { freePort, ServerProcess } from "./server-process.ts";
import { Sandbox } from "./sandbox.ts";
import { apiServer, controllerManager, etcdServer, kwok, kwokNodes, scheduler } from "./servers.ts";

/** What a cluster is made of, besides etcd and kube-apiserver. */
export interface ClusterOptions extends BinaryOptions {
  /** Runs kube-controller-manager: Deployments make pods, owners' deaths are followed, namespaces go. Default false. */
  readonly controllerManager?: boolean;
  /** Runs kube-scheduler. Default false. */
  readonly scheduler?: boolean;
  /**
   * How many nodes kwok stands in for: they bring pods to Ready without running them. Or `real`: one node that runs them, where `realNodeObstacle` finds
   * nothing against it. Default 0: neither.
   */
  readonly nodes?: number | "real";
  /** Archives of the images that pods on a real node may use. Default none. */
  readonly images?: readonly string[];
  /** Ports at the API server's address in a real node's network that lead to this machine, each to its `hostSocket`: for servers that pods are to reach. Default none. */
  readonly hostPorts?: readonly number[];
  /** More flags for kube-apiserver, after ours. */
  readonly apiServerArgs?: readonly string[];
}

/** A running cluster. Everything it consists of goes with `stop`, and with the process that started it, however that ends. */
export interface Cluster extends ClusterAccess, AsyncDisposable {
  readonly apiServer: ServerProcess;
  readonly etcd: ServerProcess;
  /** Every server there is, by name. */
  readonly servers: readonly ServerProcess[];
  /** Ends all servers and removes all files. */
  stop(): Promise<void>;
}

/** All there is: Deployments' pods run to Ready on three nodes. */
export const everything = { controllerManager: true, scheduler: true, nodes: 3 } as const satisfies ClusterOptions;

/** Deployments' pods really run, on one node. */
export const realPods = { controllerManager: true, scheduler: true, nodes: "real" } as const satisfies ClusterOptions;

/** The API server streams first lists to those who ask (WatchList), which newer versions of Kubernetes do by default. */
export const withWatchList = { apiServerArgs: ["--feature-gates=WatchList=true"] } as const satisfies ClusterOptions;

const portAttempts = 5;

/** Starts a cluster on free ports of 127.0.0.1 and resolves when it is ready. Any number can run side by side. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const wanted: readonly ToolName[] = [
    "etcd",
    "kube-apiserver",
    ...(options.controllerManager ? (["kube-controller-manager"] as const) : []),
    ...(options.scheduler ? (["kube-scheduler"] as const) : []),
    ...(options.nodes === "real" ? nodeToolNames : options.nodes ? (["kwok"] as const) : []),
  ];
  const binaries = await findBinaries(wanted, options);
  for (let attempt = 1; ; attempt++) {
    const sandbox = new Sandbox("keyturn-cluster-");
    try {
      return await startServers(sandbox, binaries, options);
    } catch (error) {
      await sandbox.close();
      // Between our look and the server's start somebody else may have taken the port.
      if (attempt === portAttempts || !/address already in use/.test(String(error))) throw error;
    }
  }
}

async function startServers(sandbox: Sandbox, binaries: Readonly<Record<ToolName, string>>, options: ClusterOptions): Promise<Cluster> {
  const files = clusterFilesIn(sandbox.folder);
  const port = await freePort();
  writeClusterFiles(files, `https://127.0.0.1:${port}`);
  const access = accessCluster(sandbox.folder, options);
  const servers: ServerProcess[] = [];
  const server = (definition: ConstructorParameters<typeof ServerProcess>[1]): ServerProcess => {
    const process = new ServerProcess(sandbox, definition);
    servers.push(process);
    return process;
  };
  const etcd = server(etcdServer(binaries.etcd, files));
  const api = server(
    apiServer(binaries["kube-apiserver"], files, {
      port,
      hasControllerManager: options.controllerManager ?? false,
      extraArgs: [...(options.nodes === "real" ? apiServerArgsFor(files) : []), ...(options.apiServerArgs ?? [])],
    }),
  );
  // One after the other: an API server that finds no etcd waits a whole second before it tries again.
  await etcd.start();
  await api.start();
  const others: ServerProcess[] = [];
  if (options.controllerManager) others.push(server(controllerManager(binaries["kube-controller-manager"], files, await freePort())));
  if (options.scheduler) others.push(server(scheduler(binaries["kube-scheduler"], files, await freePort())));
  if (options.nodes === "real") {
    others.push(server(apiServerRelay(files, port)));
    others.push(
      server(
        realNode(files, { binaries, images: options.images ?? [], hostPorts: options.hostPorts ?? [], port, isReady: () => nodesReady(access) }),
      ),
    );
  } else if (options.nodes) {
    await access.apply(kwokNodes(options.nodes));
    others.push(server(kwok(binaries.kwok, files, () => nodesReady(access))));
  }
  await Promise.all(others.map((other) => other.start()));
  const stop = (): Promise<void> => sandbox.close();
  return { ...access, apiServer: api, etcd, servers, stop, [Symbol.asyncDispose]: stop };
}

const nodeListSchema = z.object({
  items: z.array(z.object({ status: z.object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]) }) })),
});

async function nodesReady(access: ClusterAccess): Promise<boolean> {
  const { items } = nodeListSchema.parse(await access.client.request({ method: "GET", path: "/api/v1/nodes" }));
  return items.length > 0 && items.every((node) => node.status.conditions.some(({ type, status }) => type === "Ready" && status === "True"));
}
