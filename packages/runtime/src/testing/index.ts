// The public surface of `@keyturn/runtime/testing`: virtual time, real clusters, and faults between an operator and its API server.
export { VirtualClock } from "../testing/virtual-clock.ts";
export { everything, startCluster } from "./cluster/cluster.ts";
export type { Cluster, ClusterOptions } from "./cluster/cluster.ts";
export { accessCluster } from "./cluster/cluster-access.ts";
export type { ClusterAccess } from "./cluster/cluster-access.ts";
export type { Grant, PolicyRule, ServiceAccountName, Subject } from "./cluster/access-grant.ts";
export type { Manifests } from "./cluster/manifests.ts";
export type { ServerProcess } from "./cluster/server-process.ts";
export { findBinaries } from "./cluster/binaries.ts";
export { BuildError } from "./cluster/build.ts";
export { toolNames } from "./cluster/cluster-module.ts";
export type { ToolName } from "./cluster/cluster-module.ts";
export { createAuthority, issueCertificate } from "./x509/certificate.ts";
export type { Authority, CertificateRequest, KeyPair } from "./x509/certificate.ts";
