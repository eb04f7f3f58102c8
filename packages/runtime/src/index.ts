// The public surface of `@keyturn/runtime`.

// Time and chance
export { type Clock, sleep, systemClock, type Timer } from "./clock.ts";
export { formatDuration, longestDurationMs, parseDuration, parseStoredDuration } from "./duration.ts";
export { earliest } from "./earliest.ts";
export { type HeapItem, IndexedHeap } from "./heap.ts";
export { type BackoffOptions, backoffDelayMs } from "./queue/backoff.ts";
export { type Random, seededRandom, systemRandom } from "./random.ts";

// Talking to the API server
export { ApiError, type ApiErrorCode, isApiError } from "./client/api-error.ts";
export { abortRace } from "./client/abort-race.ts";
export { ConfigError } from "./client/auth/config-error.ts";
export type { ConnectionConfig } from "./client/auth/connection-config.ts";
export { fileText, type TextSource } from "./client/auth/text-source.ts";
export { type Credentials, fixedCredentials } from "./client/auth/credentials.ts";
export { embeddedKubeconfig, type EmbeddedKubeconfigOptions } from "./client/auth/embedded-kubeconfig.ts";
export { loadConfig } from "./client/auth/load-config.ts";
export * from "./client/builtin-kinds.ts";
export type {
  Answer,
  Answered,
  ApplyOptions,
  Client,
  CreateOptions,
  DeleteOptions,
  JsonPatchOperation,
  ListResult,
  PatchOptions,
  Selection,
  WriteOptions,
} from "./client/client.ts";
export { createHttpTransport } from "./client/http-transport.ts";
export { apiVersionOf, collectionPath, defineKind, type Kind, resourceOf } from "./client/kind.ts";
export { createClient } from "./client/kube-client.ts";
export { pagedList, type PagedListOptions } from "./client/paged-list.ts";
export {
  keyOf,
  keyOfObject,
  type KubeObject,
  nameOf,
  type ObjectKey,
  type ObjectMeta,
  type ObjectName,
  type OwnerReference,
  type Stored,
} from "./client/object.ts";
export { readText, retryAfterOf } from "./client/answer-body.ts";
export { observeServerClock, type ServerClock } from "./client/server-clock.ts";
export { ConnectionError, type Transport, type TransportRequest, type TransportResponse } from "./client/transport.ts";

// Watching and caching
export {
  type Cache,
  type Change,
  type DeepReadonly,
  type MetadataOnly,
  type MetadataWatchOptions,
  statesOf,
  type SubscribeOptions,
  type WatchOptions,
} from "./cache/cache.ts";
export { createCaches } from "./cache/cache-registry.ts";
export { type LabelMatcher, parseLabelSelector, selectsLabels } from "./cache/label-selector.ts";
export type { Caches, WatchStatus } from "./cache/caches.ts";

// Writing a controller
export type { AccessRule, Verb } from "./controller/access.ts";
export { carryOut, pendingWrites, type PlanContext } from "./controller/carry-out.ts";
export type { ControllerDefinition, ControllerScope, Outcome, Reconcile, Run } from "./controller/controller.ts";
export { TerminalError, TransientError, WaitingError } from "./controller/errors.ts";
export { addFinalizer, dropFinalizer, isBeingDeleted } from "./controller/finalizer.ts";
export { type Live, liveIn, type OwnedWriter, ownedWriter, type WriteResult } from "./controller/owned-writer.ts";
export { fieldManagerOf, managedByLabel, managedBySelector, type Operator } from "./controller/operator.ts";
export { ownerReferenceTo } from "./controller/owner-reference.ts";
export { marked, NameConflictError, type Owner, ownerOf, type Ownership, ownershipOf } from "./controller/ownership.ts";
export { apply, type Notice, type Plan, remove, type Write } from "./controller/plan.ts";
export type { KeyView } from "./controller/shown-keys.ts";
export { writeStatus } from "./controller/status-writer.ts";
export { canonicalJson, covers } from "./controller/unchanged.ts";

// Schemas and rights
export { conditionSchema, conditionsSchema } from "./schema/condition-schema.ts";
export { crdOf } from "./schema/crd.ts";
export { managerAccess } from "./schema/manager-access.ts";
export { type AccessSubject, missingAccess, rightInWords, type SingleRight, singleRights } from "./schema/missing-access.ts";
export { ageColumn, conditionColumn, type PrinterColumn, reasonColumn } from "./schema/printer-column.ts";
export { type PolicyRule, policyRules, rbacObjects } from "./schema/rbac.ts";
export { yamlDocuments } from "./schema/yaml-document.ts";
export * from "./schema/kubernetes-values.ts";
export { type CustomKind, type DecodedObject, defineCustomKind, type ObjectOf } from "./schema/custom-kind.ts";

// Bounded memory
export { LruMap } from "./lru-map.ts";

// What was read or thrown
export { messageOf } from "./error-message.ts";
export { isRecord } from "./json.ts";
export { applyJsonPatch, JsonPatchError } from "./json-patch.ts";

// Watching it work
export { parseBindAddress } from "./observe/bind-address.ts";
export { limitConnections } from "./observe/connection-limit.ts";
export { type Condition, findCondition, isConditionTrue, removeCondition, setCondition } from "./observe/conditions.ts";
export type { EventRecorder, EventToRecord } from "./observe/event-recorder.ts";
export { type HealthCheck, simpleCheck, watchCheck } from "./observe/health-report.ts";
export { BindError, type HealthServer, startHealthServer } from "./observe/health-server.ts";
export { startHeartbeat } from "./observe/heartbeat.ts";
export type { Logger } from "./observe/logger.ts";
export type { MetricRow } from "./observe/metric-table.ts";
export { createMetrics, type Metrics, type MetricsOf, metricsOf, type RuntimeMetrics } from "./observe/metrics.ts";
export { createLogger } from "./observe/pino-logger.ts";
export { observeProcess } from "./observe/process-metrics.ts";
export { redactAndCut } from "./observe/redact.ts";
export { observeCaches, observeWatches } from "./observe/runtime-observers.ts";
export { fullBucket, takeToken, type TokenBucket, type TokenRate } from "./observe/token-bucket.ts";

// Running it
export { createManager, type Manager } from "./manager/manager.ts";
export { type Companion, type CompanionHost, type OperatorOptions, runOperator, type StartedOperator } from "./manager/run-operator.ts";
