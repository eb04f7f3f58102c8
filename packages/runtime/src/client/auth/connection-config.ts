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
  /** The namespace of the context or of the pod, for what names no other. */
  readonly namespace?: string;
  /** Where this comes from, for logs: `in-cluster`, or the files and the context. */
  readonly source: string;
}

// Why there is no usable configuration for reaching an API server.

/** What is wrong with the configuration. */
type ConfigErrorCode =
  /** Neither a kubeconfig nor a pod's service account was found. */
  | "NothingFound"
  | "FileMissing"
  | "FileUnreadable"
  | "YamlBroken"
  /** YAML, but no kubeconfig: a field has the wrong shape or is missing. */
  | "Malformed"
  | "ContextNotFound"
  | "ClusterNotFound"
  | "UserNotFound"
  /** A certificate, key or server address cannot be used. */
  | "Unusable"
  /** Something that Keyturn does not do: a legacy auth provider, a SOCKS proxy. */
  | "Unsupported";

/** One line that says what was looked for and what is wrong. Never carries a token, password or key. */
export class ConfigError extends Error {
  readonly code: ConfigErrorCode;
  constructor(code: ConfigErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConfigError";
    this.code = code;
  }
}
