// Working with a running cluster as its administrator: apply, kubectl, and kubeconfigs for others.
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import * as z from "zod";
import { fixedCredentials } from "../../client/auth/credentials.ts";
import type { Client } from "../../client/client.ts";
import { createHttpTransport } from "../../client/http-transport.ts";
import { createClient } from "../../client/kube-client.ts";
import type { KubeObject, Stored } from "../../client/object.ts";
import { issueCertificate } from "../x509/certificate.ts";
import { grantAccess, slugOf } from "./access-grant.ts";
import type { Grant, ServiceAccountName } from "./access-grant.ts";
import { findBinaries } from "./binaries.ts";
import type { BinaryOptions } from "./binaries.ts";
import { clusterFilesIn, readConnection } from "./cluster-files.ts";
import { writeKubeconfig } from "./kubeconfig-file.ts";
import type { Login } from "./kubeconfig-file.ts";
import { applyManifests } from "./manifests.ts";
import type { Manifests } from "./manifests.ts";

/** What one can do with a running cluster, from the process that started it or from another. */
export interface ClusterAccess {
  /** Where the cluster's files and logs are. */
  readonly folder: string;
  /** `https://127.0.0.1:port`. */
  readonly url: string;
  /** The certificate authority of the API server, PEM. */
  readonly ca: string;
  /** A file with the same. */
  readonly caFile: string;
  /** The path of a kubeconfig that may do everything. */
  readonly adminKubeconfig: string;
  /** Requests as the administrator. */
  readonly client: Client;
  /** Server-side apply as the administrator, of YAML or objects; CRDs are waited for. */
  apply(manifests: Manifests): Promise<readonly Stored<KubeObject>[]>;
  /** Makes a new namespace with a name of its own that begins with `prefix`, and resolves to that name. */
  namespace(prefix: string): Promise<string>;
  /** Grants the rights and returns the path of a kubeconfig for their subject: a token for a ServiceAccount, a client certificate for a user. */
  kubeconfigFor(grant: Grant): Promise<string>;
  /** A bound token for a ServiceAccount that exists. Lives an hour unless told otherwise; the server's minimum is ten minutes. */
  tokenFor(serviceAccount: ServiceAccountName, options?: { readonly expirationSeconds?: number }): Promise<string>;
  /** Runs kubectl with the admin kubeconfig and resolves to what it printed. */
  kubectl(...args: readonly string[]): Promise<string>;
}

/** A kubeconfig is for a whole session of `keyturn dev`, which nobody wants to end after an hour. */
const daySeconds = 86_400;

/** Access to the cluster in `folder`. */
export function accessCluster(folder: string, options: BinaryOptions = {}): ClusterAccess {
  const files = clusterFilesIn(folder);
  const { url, authority, admin } = readConnection(files);
  const tls = { ca: authority.certificate, cert: admin.certificate, key: admin.privateKey };
  const client = createClient(createHttpTransport({ server: url, credentials: fixedCredentials({ tls }) }));
  const tokenFor: ClusterAccess["tokenFor"] = async ({ namespace, name }, { expirationSeconds = 3600 } = {}) => {
    const answer = await client.request({
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds } }),
    });
    return z.object({ status: z.object({ token: z.string() }) }).parse(answer).status.token;
  };
  const loginFor = async (grant: Grant): Promise<Login> => {
    if ("serviceAccount" in grant) return { type: "token", token: await tokenFor(grant.serviceAccount, { expirationSeconds: daySeconds }) };
    const keyPair = issueCertificate(authority, { usage: "client", commonName: grant.user, organizations: grant.groups ?? [] });
    return { type: "certificate", keyPair };
  };
  return {
    folder,
    url,
    ca: authority.certificate,
    caFile: files.authority,
    adminKubeconfig: files.adminKubeconfig,
    client,
    apply: (manifests) => applyManifests(client, manifests),
    async namespace(prefix) {
      const name = `${prefix}-${randomUUID().slice(0, 8)}`;
      await applyManifests(client, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
      return name;
    },
    tokenFor,
    async kubeconfigFor(grant) {
      await grantAccess(client, grant);
      const file = files.kubeconfig(`${slugOf(grant)}-${randomUUID().slice(0, 8)}`);
      return writeKubeconfig(file, { server: url, authority: authority.certificate, login: await loginFor(grant) });
    },
    async kubectl(...args) {
      const { kubectl } = await findBinaries(["kubectl"], options);
      // A home of its own: kubectl keeps a cache there, and reads preferences.
      const environment = { ...process.env, HOME: folder, KUBECONFIG: files.adminKubeconfig };
      const { stdout } = await promisify(execFile)(kubectl, args, { env: environment, maxBuffer: 2 ** 28 });
      return stdout;
    },
  };
}
