// Everything needed to reach one API server as one identity: what a kubeconfig context, or a pod's service account, amounts to.
import type { Credentials } from "./credentials.ts";

/** Where the API server is, who we are, and whom we trust. Give it to `createHttpTransport`. */
export interface ConnectionConfig {
  /** Base URL of the API server. */
  readonly server: string;
  readonly credentials: Credentials;
  readonly tlsServerName?: string;
  readonly insecureSkipTlsVerify?: boolean;
  readonly proxyUrl?: string;
  /** The namespace of the context or of the pod, for what is not told otherwise. */
  readonly namespace?: string;
  /** Where this comes from, for logs: `in-cluster`, or the files and the context. */
  readonly source: string;
}
