// What lies in a cluster's folder: certificates, keys, kubeconfigs and logs, under fixed names, so that another process can find its way with the folder alone.
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { createAuthority, issueCertificate } from "../x509/certificate.ts";
import type { Authority, KeyPair } from "../x509/certificate.ts";
import { writeKubeconfig } from "./kubeconfig-file.ts";

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

const inServiceNetwork = "10.0.0.1";
const serverHosts = ["127.0.0.1", inServiceNetwork, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];

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
