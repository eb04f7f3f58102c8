// Working with a running cluster: its folder, its kubeconfigs, and users with exactly the rights that are given.
import { execFile } from "node:child_process";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { stringify } from "yaml";
import * as z from "zod";
import { fixedCredentials } from "../../client/auth/credentials.ts";
import { isApiError } from "../../client/api-error.ts";
import { Namespace, type PolicyRule } from "../../client/builtin-kinds.ts";
import type { Client } from "../../client/client.ts";
import { createHttpTransport } from "../../client/http/http-transport.ts";
import type { KubeObject, Stored } from "../../client/kind.ts";
import { createClient } from "../../client/kube-client.ts";
import { type Authority, createAuthority, issueCertificate, type KeyPair } from "../../x509.ts";
import { type BinaryOptions, findBinaries } from "./binaries.ts";
import { applyManifests, type Manifests } from "./manifests.ts";
import { nodeNetwork } from "./node-configuration.ts";

/** A ServiceAccount by name. */
export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

/** Whom the rights are for. */
export type Subject = { readonly serviceAccount: ServiceAccountName } | { readonly user: string; readonly groups?: readonly string[] };

/** Rights of one subject. Granting again replaces what was granted before in the same place. */
export type Grant = Subject & {
  /** In the whole cluster. Default none. */
  readonly rules?: readonly PolicyRule[];
  /** In single namespaces, which are made if need be. Default none. */
  readonly namespacedRules?: Readonly<Record<string, readonly PolicyRule[]>>;
};

/** Makes the roles and bindings, and the ServiceAccount if it is one, and resolves when the API server acts on them. */
async function grantAccess(client: Client, grant: Grant): Promise<void> {
  const subject = rbacSubject(grant);
  const name = `keyturn-testing:${slugOf(grant)}`;
  const namespaces = Object.entries(grant.namespacedRules ?? {});
  const needed = new Set([...("serviceAccount" in grant ? [grant.serviceAccount.namespace] : []), ...namespaces.map(([namespace]) => namespace)]);
  for (const namespace of needed) await makeNamespace(client, namespace);
  await applyManifests(client, [
    ...("serviceAccount" in grant ? [{ apiVersion: "v1", kind: "ServiceAccount", metadata: { ...grant.serviceAccount } }] : []),
    ...roleAndBinding("Cluster", { name }, grant.rules ?? [], subject),
    ...namespaces.flatMap(([namespace, rules]) => roleAndBinding("", { name, namespace }, rules, subject)),
  ]);
  await Promise.all([
    ...(grant.rules ?? []).map((rule) => inForce(client, grant, rule)),
    ...namespaces.flatMap(([namespace, rules]) => rules.map((rule) => inForce(client, grant, rule, namespace))),
  ]);
}

/** One that is there keeps its labels. */
async function makeNamespace(client: Client, name: string): Promise<void> {
  if (await client.get(Namespace, { name })) return;
  try {
    await client.create(Namespace, { metadata: { name } });
  } catch (error) {
    if (!isApiError(error, "AlreadyExists")) throw error;
  }
}

/** A word for the subject that can stand in file and object names. */
function slugOf(subject: Subject): string {
  const parts = "serviceAccount" in subject ? [subject.serviceAccount.namespace, subject.serviceAccount.name] : [subject.user];
  return parts.join("-").replaceAll(/[^A-Za-z0-9.-]/g, "-");
}

function rbacSubject(subject: Subject): object {
  if ("serviceAccount" in subject) return { kind: "ServiceAccount", ...subject.serviceAccount };
  return { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: subject.user };
}

function roleAndBinding(
  scope: "Cluster" | "",
  metadata: { readonly name: string; readonly namespace?: string },
  rules: readonly PolicyRule[],
  subject: object,
): (KubeObject & Readonly<Record<string, unknown>>)[] {
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: `${scope}Role`, name: metadata.name };
  return [
    { apiVersion, kind: `${scope}Role`, metadata, rules },
    { apiVersion, kind: `${scope}RoleBinding`, metadata, roleRef, subjects: [subject] },
  ];
}

const reviewSchema = z.object({ status: z.object({ allowed: z.boolean() }) });

/** The API server learns of roles and bindings through watches of its own, so a grant takes effect a moment after it is stored. */
async function inForce(client: Client, subject: Subject, rule: PolicyRule, namespace?: string): Promise<void> {
  const body = JSON.stringify({
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { ...reviewedUser(subject), ...reviewedRequest(rule, namespace) },
  });
  const review = {
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    headers: { "content-type": "application/json" },
    body,
  } as const;
  while (!reviewSchema.parse(await client.request(review)).status.allowed) await delay(10);
}

function reviewedUser(subject: Subject): object {
  if (!("serviceAccount" in subject)) return { user: subject.user, groups: subject.groups ?? [] };
  const { namespace, name } = subject.serviceAccount;
  return {
    user: `system:serviceaccount:${namespace}:${name}`,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
  };
}

function reviewedRequest(rule: PolicyRule, namespace?: string): object {
  const [verb] = rule.verbs;
  const [path] = rule.nonResourceURLs ?? [];
  if (path !== undefined) return { nonResourceAttributes: { verb, path } };
  const [resource, subresource] = rule.resources?.[0]?.split("/") ?? [];
  const [group] = rule.apiGroups ?? [];
  const [name] = rule.resourceNames ?? [];
  return { resourceAttributes: { verb, group, resource, subresource, name, namespace } };
}

// Kubeconfig files: one cluster, one user, one context; readable by their owner only, because they hold credentials.

/** How the user of a kubeconfig logs in. */
type Login = { readonly type: "certificate"; readonly keyPair: KeyPair } | { readonly type: "token"; readonly token: string };

/** What a kubeconfig says. */
interface KubeconfigContent {
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

// What lies in a cluster's folder: certificates, keys, kubeconfigs and logs, under fixed names, so that another process can find its way with the folder alone.

/** Paths within a cluster's folder. */
export interface ClusterFiles {
  readonly folder: string;
  readonly connection: string;
  readonly authority: string;
  readonly authorityKey: string;
  readonly serverCertificate: string;
  readonly serverKey: string;
  readonly serviceAccountKey: string;
  readonly adminKubeconfig: string;
  readonly etcdSocket: string;
  readonly etcdData: string;
  log(server: string): string;
  kubeconfig(name: string): string;
}

/** What another process must know to use a running cluster. */
export interface ClusterConnection {
  readonly url: string;
  readonly authority: Authority;
  readonly admin: KeyPair;
}

/** The paths of the cluster in `folder`. */
export function clusterFilesIn(folder: string): ClusterFiles {
  const path = (name: string): string => join(folder, name);
  return {
    folder,
    connection: path("connection.json"),
    authority: path("ca.crt"),
    authorityKey: path("ca.key"),
    serverCertificate: path("server.crt"),
    serverKey: path("server.key"),
    serviceAccountKey: path("service-account.key"),
    adminKubeconfig: path("admin.kubeconfig"),
    etcdSocket: path("etcd.sock"),
    etcdData: path("etcd"),
    log: (server) => join(folder, "logs", `${server}.log`),
    kubeconfig: (name) => join(folder, "kubeconfigs", `${name}.kubeconfig`),
  };
}

/** Where pods find the API server: as a Service, and in the network of a real node. */
const forPods = ["10.0.0.1", nodeNetwork.apiServer];
const serverHosts = ["127.0.0.1", ...forPods, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];

/** Makes everything that a new cluster at `url` needs before its servers start. */
export function writeClusterFiles(files: ClusterFiles, url: string): ClusterConnection {
  mkdirSync(join(files.folder, "logs"), { recursive: true });
  mkdirSync(join(files.folder, "kubeconfigs"), { recursive: true });
  const authority = createAuthority(`keyturn cluster ${files.folder}`);
  const server = issueCertificate(authority, { usage: "server", commonName: "kube-apiserver", hosts: serverHosts });
  const admin = issueCertificate(authority, { usage: "client", commonName: "keyturn-admin", organizations: ["system:masters"] });
  const { privateKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "pem" },
    // kube-apiserver takes no elliptic key in PKCS #8 here.
    privateKeyEncoding: { type: "sec1", format: "pem" },
  });
  const write = (file: string, content: string): void => writeFileSync(file, content, { mode: 0o600 });
  write(files.authority, authority.certificate);
  write(files.authorityKey, authority.privateKey);
  write(files.serverCertificate, server.certificate);
  write(files.serverKey, server.privateKey);
  write(files.serviceAccountKey, privateKey);
  const connection = { url, authority, admin };
  write(files.connection, JSON.stringify(connection));
  writeKubeconfig(files.adminKubeconfig, { server: url, authority: authority.certificate, login: { type: "certificate", keyPair: admin } });
  return connection;
}

const keyPairSchema = z.object({ certificate: z.string(), privateKey: z.string() });
const connectionSchema = z.object({ url: z.string(), authority: keyPairSchema.extend({ commonName: z.string() }), admin: keyPairSchema });

/** Reads what `writeClusterFiles` left. */
export function readConnection(files: ClusterFiles): ClusterConnection {
  return connectionSchema.parse(JSON.parse(readFileSync(files.connection, "utf8")));
}

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
  /** Makes a new namespace with a name of its own that begins with `prefix`, and resolves to that name. Labels that come later are seen later, too. */
  namespace(prefix: string, labels?: Readonly<Record<string, string>>): Promise<string>;
  /** Grants the rights and returns the path of a kubeconfig for their subject: a token for a ServiceAccount, a client certificate for a user. */
  kubeconfigFor(grant: Grant): Promise<string>;
  /** A bound token for a ServiceAccount that exists. Lives an hour by default; the server's minimum is ten minutes. */
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
    async namespace(prefix, labels = {}) {
      const name = `${prefix}-${randomUUID().slice(0, 8)}`;
      await applyManifests(client, { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
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
