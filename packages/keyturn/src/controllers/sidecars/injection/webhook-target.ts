// Where a webhook is: its clientConfig, read as the API server reads it.
import { Buffer } from "node:buffer";
import type { MutatingWebhook } from "@keyturn/runtime";

type ClientConfig = MutatingWebhook["clientConfig"];

/** A Service that a webhook is behind. */
export interface WebhookService {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** Where to connect to instead of the Service's name in the cluster; the name is still what its certificate must be for. */
export type ResolveService = (service: WebhookService) => { readonly host: string; readonly port: number };

/** Everything needed to call it. */
export interface WebhookTarget {
  /** `https://host:port`. */
  readonly server: string;
  /** Path and query. */
  readonly path: string;
  /** Whom the certificate must be for, if not for the server's host. */
  readonly serverName: string | undefined;
  /** PEM; undefined for the machine's own roots, which is what an empty caBundle means. */
  readonly ca: string | undefined;
}

/** Reads the configuration. Throws with words that continue "the webhook" if it names no place that the API server would call. */
export function targetOf(
  { url, service, caBundle }: ClientConfig,
  { timeoutSeconds, resolveService }: { readonly timeoutSeconds: number; readonly resolveService: ResolveService | undefined },
): WebhookTarget {
  // The API server tells webhooks how long it will wait.
  const query = `?timeout=${timeoutSeconds}s`;
  const ca = caBundle ? Buffer.from(caBundle, "base64").toString("utf8") : undefined;
  if (service) {
    const { namespace, name, path = "/", port = 443 } = service;
    const serverName = `${name}.${namespace}.svc`;
    const resolved = resolveService?.({ namespace, name, port });
    const server = `https://${resolved?.host ?? serverName}:${resolved?.port ?? port}`;
    return { server, path: `${path.startsWith("/") ? path : `/${path}`}${query}`, serverName: resolved ? serverName : undefined, ca };
  }
  const parsed = url === undefined ? null : URL.parse(url);
  if (parsed?.protocol !== "https:") throw new Error("its clientConfig has neither a service nor an https URL");
  return { server: parsed.origin, path: `${parsed.pathname}${query}`, serverName: undefined, ca };
}
