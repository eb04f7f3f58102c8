// The public surface of `@keyturn/runtime`.

// Time and chance
export {
  type Clock,
  earliest,
  formatDuration,
  maxDurationMs,
  parseDuration,
  parseStoredDuration,
  sharedTimeSlice,
  sleep,
  systemClock,
  type TimeSlice,
  type Timer,
} from "./clock.ts";
export { type HeapItem, IndexedHeap, LruMap } from "./collections.ts";
export { type BackoffOptions, backoffDelayMs, RepeatBackoff } from "./queue/backoff.ts";
export { FairQueue } from "./queue/fair-queue.ts";
export { type Random, seededRandom, systemRandom } from "./random.ts";

// Talking to the API server
export { ApiError, type ApiErrorCode, isApiError } from "./client/api-error.ts";
export {
  abortRace,
  type AnswerLimits,
  AnswerTooLongError,
  ConnectionError,
  type Sender,
  type SendPermit,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from "./client/transport.ts";
export { ConfigError, type ConnectionConfig } from "./client/auth/connection-config.ts";
export { fileText, type TextSource } from "./client/auth/text-source.ts";
export { basicAuthorization, type Credentials, fixedCredentials } from "./client/auth/credentials.ts";
export { embeddedKubeconfig, type EmbeddedKubeconfigOptions } from "./client/auth/kubeconfig.ts";
export { loadConfig } from "./client/auth/load-config.ts";
export * from "./client/builtin-kinds.ts";
export type {
  Answer,
  Answered,
  ApplyOptions,
  Client,
  CreateOptions,
  DeleteCollectionOptions,
  DeleteOptions,
  JsonPatchOperation,
  ListResult,
  PatchOptions,
  Selection,
  WriteOptions,
} from "./client/client.ts";
export { type AskedRight, bearerToken, isAllowedTo, ownerOfToken, type ReviewedUser, SubjectAccessReview, TokenReview } from "./client/reviews.ts";
export { createHttpTransport } from "./client/http/http-transport.ts";
export { createNameLookup } from "./client/http/name-lookup.ts";
export type { OnRead } from "./client/http/read-meter.ts";
export {
  apiVersionOf,
  collectionPath,
  defineKind,
  keyOf,
  keyOfObject,
  type Kind,
  type KubeObject,
  nameOf,
  type ObjectKey,
  type ObjectMeta,
  type ObjectName,
  objectPath,
  type OwnerReference,
  resourceOf,
  type Stored,
} from "./client/kind.ts";
export { type ForeignObject, type PlainObject, plainObject } from "./client/plain-object.ts";
export { createClient, pagedList, type PagedListOptions } from "./client/kube-client.ts";
export { readText, retryAfterOf } from "./client/response.ts";
export { observeServerClock, type ServerClock } from "./client/observed-transport.ts";

// Watching and caching
export {
  type Cache,
  type Change,
  type DeepReadonly,
  type MetadataOnly,
  type MetadataWatchOptions,
  type SubscribeOptions,
  type UnreadableObjects,
  type Watch,
  type WatchOptions,
  type WholeCache,
  type WholeWatchOptions,
} from "./cache/cache.ts";
export { type Caches, createCaches, type WatchStatus } from "./cache/caches.ts";
export { ListedCaches, type ListedCachesOptions } from "./cache/listed-caches.ts";
export { areSelectorsDisjoint, type LabelMatcher, parseLabelSelector, selectsLabels } from "./cache/selectors.ts";

// Writing a controller
export type { AccessRule, ControllerDefinition, ControllerScope, Outcome, Reconcile, Run, Verb } from "./controller/controller.ts";
export {
  conflictReason,
  type Failure,
  isConflict,
  missingRight,
  TerminalError,
  TransientError,
  UnreadableError,
  WaitingError,
} from "./controller/failure.ts";
export { addFinalizer, dropFinalizer, isBeingDeleted } from "./controller/finalizer.ts";
export {
  canonicalJson,
  fieldManagerOf,
  type Live,
  liveIn,
  managedByLabel,
  managedBySelector,
  marked,
  NameConflictError,
  type Operator,
  type OwnedWriter,
  ownedWriter,
  type Owner,
  ownerOf,
  ownerReferenceTo,
  type Ownership,
  ownershipOf,
  type WriteResult,
} from "./controller/owned-objects.ts";
export type {
  Blocker,
  ConditionReport,
  EventObject,
  HeldBack,
  Moment,
  Plan,
  PlannedEvent,
  Reason,
  ReasonTable,
  ReportedStatus,
  StatusObject,
  StatusReport,
  Step,
  Write,
} from "./controller/plan.ts";
export type { LeftAlone, Planner, ReconcileOptions } from "./controller/planner.ts";
export { maxSkewMs, reconcileWith } from "./controller/reconcile.ts";
export { TermEndedError } from "./controller/run.ts";
export { covers } from "./controller/stored-form.ts";
export { annotationsChanged, generationChanged, labelsChanged, statesOf } from "./controller/trigger.ts";
export type { KeyView } from "./controller/runner.ts";
export {
  type Condition,
  conditionEvents,
  findCondition,
  isConditionTrue,
  removeCondition,
  reportOn,
  setCondition,
  statusAfter,
  statusDigest,
  writeStatus,
} from "./controller/status.ts";

// Schemas and rights
export { conditionSchema, conditionsSchema } from "./schema/kubernetes-values.ts";
export { crdOf, yamlDocuments } from "./schema/crd.ts";
export { installationKeyAccess } from "./manager/installation-key.ts";
export { managerAccess, type PolicyRule, policyRules, rbacObjects } from "./schema/rbac.ts";
export { type AccessSubject, missingAccess, rightInWords, type SingleRight, singleRights } from "./schema/missing-access.ts";
export {
  ageColumn,
  conditionColumn,
  type CustomKind,
  type DecodedObject,
  defineCustomKind,
  type ObjectOf,
  type PrinterColumn,
  reasonColumn,
} from "./schema/custom-kind.ts";
export { dateTime, duration, embeddedObject, intOrString, labelName, looseDuration, objectName, quantity } from "./schema/kubernetes-values.ts";

// Bounded memory

// What was read or thrown
export { messageOf, redactAndCut, safeErrorSummary } from "./observe/redaction.ts";
export { isRecord } from "./json.ts";
export { applyJsonPatch, JsonPatchError } from "./json-patch.ts";

// Watching it work
export {
  BindError,
  type HealthCheck,
  type HealthServer,
  parseBindAddress,
  simpleCheck,
  startHealthServer,
  startHeartbeat,
  watchCheck,
} from "./observe/health.ts";
export { limitConnections, oneAtATime } from "./observe/connection-limit.ts";
export type { EventRecorder, EventToRecord } from "./observe/events.ts";
export { createLogger, type Logger } from "./observe/logger.ts";
export { createMetrics, metricDocs, type MetricRow, type Metrics, type MetricsOf, metricsOf, type RuntimeMetrics } from "./observe/metrics.ts";
export { scrapeAccess } from "./observe/scrape-gate.ts";
export { observeCaches, observeProcess, observeWatches } from "./observe/runtime-metrics.ts";
export { fullBucket, RateByClient, takeToken, type TokenBucket, type TokenRate, type WriteLimits } from "./rate-limit.ts";

// Running it
export { createManager, type Manager } from "./manager/manager.ts";
export { type Runnable, type RunnableHost, type OperatorOptions, runOperator, type StartedOperator, stopSignal } from "./manager/run-operator.ts";
