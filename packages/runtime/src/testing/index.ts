// The public surface of `@keyturn/runtime/testing`: virtual time, real clusters, and faults between an operator and its API server.
export { type Line, type OpenWatch, openWatch, type RunningOperator, startOperator } from "./running-operator.ts";
export { VirtualClock } from "./virtual-clock.ts";
export { everything, realPods, startCluster, withWatchList } from "./cluster/cluster.ts";
export type { Cluster, ClusterOptions } from "./cluster/cluster.ts";
export { type ClusterAccess, clusterFilesIn, type Grant, type ServiceAccountName, type Subject, writeKubeconfig } from "./cluster/cluster-access.ts";
export { serveFromHost } from "./cluster/host-service.ts";
export { commonFiles, hostFile, imageArchive, type ImageContent, type ImageSettings, librariesOf } from "./cluster/image.ts";
export { nodeNetwork } from "./cluster/node-configuration.ts";
export { connectWithin, forwardTo, hostSocket, realNodeObstacle } from "./cluster/real-node.ts";
export { type ArchiveEntry, compressedTarArchive, tarArchive } from "./cluster/tar-archive.ts";
export type { Manifests } from "./cluster/manifests.ts";
export { freePort, type ServerProcess } from "./cluster/server-process.ts";
export { BuildError, findBinaries } from "./cluster/binaries.ts";
export { clusterToolNames, nodeToolNames, toolNames } from "./cluster/tool-module.ts";
export type { ToolName } from "./cluster/tool-module.ts";
export {
  type Authority,
  type CertificateContent,
  type CertificateRequest,
  createAuthority,
  element,
  explicit,
  integer,
  issueCertificate,
  type KeyPair,
  objectIdentifier,
  octetString,
  sequence,
  signCertificate,
} from "../x509.ts";
export {
  type ActiveFault,
  type Disturbance,
  FaultProxy,
  onWrite,
  type RequestRecord,
  startFaultProxy,
  type WriteMoment,
} from "./fault-proxy/fault-proxy.ts";
export {
  answerWith,
  cutAt,
  CutConnection,
  type CutPoint,
  delayBy,
  endWatchWith,
  type Fault,
  type FaultScope,
  type Handler,
  type ProxyResponse,
  type Refusal,
  type RefusalStatus,
  refuseSendInitialEvents,
} from "./fault-proxy/faults.ts";
export {
  type CutManner,
  dropEvents,
  type ProxiedRequest,
  type RequestLine,
  type RequestMatch,
  type WatchLine,
  withholdEndBookmark,
} from "./fault-proxy/exchange.ts";
export * from "./simulation/index.ts";
