// A Service of a cluster with a real node whose server runs on this machine: pods, and whoever forwards to it, reach it through kube-proxy like any other.
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import * as z from "zod";
import { type ClusterAccess, clusterFilesIn } from "./cluster-access.ts";
import { nodeNetwork } from "./node-configuration.ts";
import { hostSocket } from "./real-node.ts";

/** What the Service is, and where its server is. */
interface HostServiceOptions {
  /** There must be such a namespace. */
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  /** One of the cluster's `hostPorts`, which nothing else uses. */
  readonly hostPort: number;
  /** Where the server is on this machine, looked at for each connection. */
  readonly server: { readonly host: string; readonly port: number };
}

const serviceSchema = z.object({ spec: z.object({ clusterIP: z.string() }) });

/** Makes the Service. Once disposed of, its server is no longer reached. */
export async function serveFromHost(
  cluster: ClusterAccess,
  { namespace, name, port, hostPort, server }: HostServiceOptions,
): Promise<AsyncDisposable & { readonly clusterIP: string }> {
  const open = new Set<Socket>();
  const relay = createServer({ allowHalfOpen: true }, (incoming) => {
    const outgoing = connect({ ...server, allowHalfOpen: true });
    incoming.pipe(outgoing).pipe(incoming);
    for (const [socket, other] of [[incoming, outgoing] as const, [outgoing, incoming] as const]) {
      open.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        open.delete(socket);
        other.destroy();
      });
    }
  });
  relay.listen(hostSocket(clusterFilesIn(cluster.folder), hostPort));
  await once(relay, "listening");
  const ports = [{ name: "server", port, targetPort: hostPort }];
  const slice = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { namespace, name, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: [{ addresses: [nodeNetwork.apiServer] }],
    ports: [{ name: "server", port: hostPort }],
  };
  const service = { apiVersion: "v1", kind: "Service", metadata: { namespace, name }, spec: { ports } };
  const [applied] = await cluster.apply([service, slice]);
  return {
    clusterIP: serviceSchema.parse(applied).spec.clusterIP,
    async [Symbol.asyncDispose]() {
      relay.close();
      for (const socket of open) socket.destroy();
    },
  };
}
