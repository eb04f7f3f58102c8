// A bare TLS socket to each of many clusters that has asked one thing and heard the answer: what Node and OpenSSL take by themselves.
import { once } from "node:events";
import { connect, createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import { openClusters } from "./cluster-connections.ts";

const sockets: TLSSocket[] = [];
let secureContext: SecureContext | undefined;

await openClusters(async (kubeconfig) => {
  const { server, "certificate-authority-data": authority } = clusterIn(kubeconfig);
  // All of these clusters have the same authority, and Keyturn too makes one context for all of them.
  secureContext ??= createSecureContext({ ca: Buffer.from(authority, "base64").toString() });
  const { hostname, port, pathname } = new URL(server);
  const socket = connect({ host: hostname, port: Number(port), secureContext });
  sockets.push(socket);
  await once(socket, "secureConnect");
  socket.write(`GET ${pathname}/api/v1/namespaces/kyma-system/secrets?watch=true HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`);
  await once(socket, "data");
});

function clusterIn(kubeconfig: string): { readonly server: string; readonly "certificate-authority-data": string } {
  const { clusters } = JSON.parse(kubeconfig) as {
    readonly clusters: readonly [{ readonly cluster: { readonly server: string; readonly "certificate-authority-data": string } }];
  };
  return clusters[0].cluster;
}
