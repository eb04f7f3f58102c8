// The proxy's side towards the API server: passes requests on as the client that sent them.
import type { IncomingHttpHeaders } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import type { ClusterConnection } from "../cluster/cluster-files.ts";
import { frontProxyUser } from "../cluster/servers/api-server.ts";
import { issueCertificate } from "../x509/certificate.ts";
import { CutConnection } from "./fault.ts";
import type { ProxyResponse } from "./fault.ts";
import type { ProxiedRequest } from "./proxied-request.ts";

/** Who a client's certificate says it is. */
export interface CertifiedUser {
  readonly user: string;
  readonly groups: readonly string[];
}

/** Sends a request to the API server; the signal ends it. Throws `CutConnection` if there is no answer. */
export type Forward = (request: ProxiedRequest, identity: CertifiedUser | undefined, signal: AbortSignal) => Promise<ProxyResponse>;

/** An open way to the API server. */
export interface Upstream {
  readonly forward: Forward;
  close(): void;
}

/** Headers that are about one connection, not about the message. */
const hopByHop = new Set(["connection", "keep-alive", "transfer-encoding", "content-length", "host", "upgrade", "proxy-connection"]);

/**
 * Opens the way to the cluster's API server. Bearer tokens pass as they are. A client certificate ends at the proxy, so its name is passed on in
 * headers over a connection on which the proxy proves that it may do so; tokens need another connection, on which the proxy is nobody.
 */
export function openUpstream({ url, authority }: ClusterConnection): Upstream {
  const frontProxy = issueCertificate(authority, { usage: "client", commonName: frontProxyUser });
  // Idle connections are given up well before the API server does so (90 s), else a write could run into one that is just being closed.
  const shared = { ca: authority.certificate, keepAlive: true, noDelay: true, timeout: 30_000 };
  const anonymous = new Agent(shared);
  const trusted = new Agent({ ...shared, cert: frontProxy.certificate, key: frontProxy.privateKey });
  const forward: Forward = (request, identity, signal) =>
    new Promise((resolve, reject) => {
      const headers = endToEnd(request.headers);
      if (identity) Object.assign(headers, { "x-remote-user": identity.user, "x-remote-group": [...identity.groups] });
      // Events inside a compressed stream could not be dropped.
      delete headers["accept-encoding"];
      if (request.body.length > 0) headers["content-length"] = String(request.body.length);
      const outgoing = httpsRequest(new URL(request.path, url), { method: request.method, headers, agent: identity ? trusted : anonymous, signal });
      // A connection that is on its way back to its agent when its exchange is cut has no listener of Node's own for a moment.
      outgoing.once("socket", (socket) => void (socket.listeners("error").includes(ignore) || socket.on("error", ignore)));
      outgoing.once("response", (incoming) => {
        // A request that is ended after its answer has begun fails a second time; whoever reads the body hears of it.
        incoming.on("error", ignore);
        resolve({ status: incoming.statusCode ?? 502, headers: endToEnd(incoming.headers), body: incoming as AsyncIterable<Uint8Array> });
      });
      outgoing.on("error", (cause) => reject(new CutConnection(`the API server gave no answer: ${cause.message}`)));
      outgoing.end(request.body);
    });
  return {
    forward,
    close() {
      anonymous.destroy();
      trusted.destroy();
    },
  };
}

function ignore(): void {}

function endToEnd(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !hopByHop.has(name) && !name.startsWith("x-remote-")) kept[name] = value;
  }
  return kept;
}
