// Kubeconfig files: one cluster, one user, one context; readable by their owner only, because they hold credentials.
import { writeFileSync } from "node:fs";
import { stringify } from "yaml";
import type { KeyPair } from "../x509/certificate.ts";

/** How the user of a kubeconfig logs in. */
export type Login = { readonly type: "certificate"; readonly keyPair: KeyPair } | { readonly type: "token"; readonly token: string };

/** What a kubeconfig says. */
export interface KubeconfigContent {
  readonly server: string;
  /** The authority to trust, PEM. */
  readonly authority: string;
  readonly login: Login;
  /** The namespace of the context; default none. */
  readonly namespace?: string;
}

/** Writes the file and returns its path. */
export function writeKubeconfig(file: string, { server, authority, login, namespace }: KubeconfigContent): string {
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const user =
    login.type === "token"
      ? { token: login.token }
      : { "client-certificate-data": base64(login.keyPair.certificate), "client-key-data": base64(login.keyPair.privateKey) };
  const content = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "keyturn", cluster: { server, "certificate-authority-data": base64(authority) } }],
    users: [{ name: "keyturn", user }],
    contexts: [{ name: "keyturn", context: { cluster: "keyturn", user: "keyturn", ...(namespace && { namespace }) } }],
    "current-context": "keyturn",
  };
  writeFileSync(file, stringify(content), { mode: 0o600 });
  return file;
}
