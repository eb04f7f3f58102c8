// Does a stored object already say what is wanted? Asked in the form in which the API server stores it: quantities, times, empty and absent fields, lists by their keys.
import type { Kind, KubeObject } from "../client/kind.ts";
import { isRecord } from "../json.ts";

/**
 * True if `live` says all that `desired` says, so that applying it would change nothing. What the server and others have added does not count where several
 * may own parts of a value, and counts where one owns it whole, such as a selector or a list without keys: there it is taken back. Nor do `apiVersion` and
 * `kind` count, which items of a list lack. Fields that were applied earlier and are no longer desired do not show here. In custom kinds, whose schema is
 * not known here, additions never count.
 */
export function saysAll(kind: Pick<Kind, "group" | "plural">, live: KubeObject, desired: KubeObject): boolean {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...contents } = desired;
  const { plural } = kind;
  if (!says(live.metadata, metadata, { plural, name: "metadata", parent: "", sharing: "shared" })) return false;
  if (!typedGroups.has(kind.group)) return covers(live, contents);
  const isPod = kind.group === "" && plural === "pods";
  return says(live, isPod ? withoutTolerations(contents) : contents, { plural, name: "", parent: "", sharing: isPod ? "fixed" : "shared" });
}

/** A pod keeps the tolerations that it was made with, and admission has added some. */
function withoutTolerations(pod: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return isRecord(pod["spec"]) ? { ...pod, spec: { ...pod["spec"], tolerations: undefined } } : pod;
}

/** The object as the server would store it: the texts of a Secret are data, and belong to whoever applied them only as such. */
export function asSent<T extends KubeObject>(kind: Pick<Kind, "group" | "plural">, object: T): T {
  const texts: unknown = "stringData" in object ? object.stringData : undefined;
  if (kind.group !== "" || kind.plural !== "secrets" || !isRecord(texts)) return object;
  const data = Object.entries(texts).map(([name, value]) => [name, Buffer.from(String(value)).toString("base64")] as const);
  const before: unknown = "data" in object ? object.data : undefined;
  return { ...object, data: { ...(isRecord(before) ? before : {}), ...Object.fromEntries(data) }, stringData: undefined };
}

/** The server writes some empty lists as null. */
function says(stored: unknown, desired: unknown, place: Place): boolean {
  if (desired === undefined || desired === null) return place.sharing !== "whole" || isFilledIn(stored, place);
  const live = stored ?? undefined;
  // The schema in a CRD is data, whatever its fields are called.
  if (place.name === "openAPIV3Schema") return saysSchema(live, desired);
  if (Array.isArray(desired)) return Array.isArray(live) ? saysItems(live, desired, place) : live === undefined && desired.length === 0;
  if (isRecord(desired)) return saysMembers(live, desired, place);
  if (live === desired) return true;
  // A zero that the types cannot keep apart from nothing.
  if (live === undefined) return (desired === false || desired === 0 || desired === "") && !isPointer(place);
  if (isQuantity(place)) return sameQuantity(live, desired);
  const digits = digitsOfTime(place);
  return digits !== undefined && sameTime(live, desired, digits);
}

function saysMembers(live: unknown, desired: Readonly<Record<string, unknown>>, place: Place): boolean {
  const sharing = sharingIn(place, false);
  const isWhole = sharing === "whole";
  if (isTextMap(place) && Object.values(desired).every((value) => typeof value === "string"))
    return isWhole ? isSame(live ?? {}, desired) : covers(live ?? {}, desired);
  const ofQuantities = isQuantityMap(place);
  if (!isRecord(live)) return live === undefined && ofQuantities && Object.keys(desired).length === 0;
  const inside = { plural: place.plural, parent: place.name || place.parent, sharing };
  for (const name in desired) {
    const [a, b] = [live[name], desired[name]];
    if (ofQuantities && !isRecord(b) ? !sameQuantity(a, b) : !says(a, b, { ...inside, name })) return false;
  }
  if (!isWhole) return true;
  for (const name in live)
    if (!(name in desired) && !(ofQuantities && isFilledIn(live, place)) && !isFilledIn(live[name], { ...inside, name })) return false;
  return true;
}

function saysItems(live: readonly unknown[], desired: readonly unknown[], place: Place): boolean {
  if (desired.length === 0 && isDefault(live, place)) return true;
  if (isSet(place)) return desired.every((item) => live.includes(item));
  const keyOf = itemKey(place);
  const item: Place = { plural: place.plural, name: "", parent: place.name, sharing: sharingIn(place, true) };
  if (!keyOf) return live.length === desired.length && desired.every((wanted, index) => says(live[index], wanted, item));
  // In the order that is wanted, whatever stands in between.
  let from = 0;
  return desired.every((wanted) => {
    const at = isRecord(wanted) ? live.findIndex((other, index) => index >= from && isRecord(other) && keyOf(other) === keyOf(wanted)) : -1;
    from = at + 1;
    return at >= 0 && says(live[at], wanted, item);
  });
}

/** It belongs to a list with one owner, so what others add to it counts. */
function saysSchema(live: unknown, desired: unknown): boolean {
  return isSame(schemaAsStored(live), schemaAsStored(desired));
}

const schemasByName: ReadonlySet<string> = new Set(["properties", "patternProperties", "definitions", "dependencies"]);
const schemaData: ReadonlySet<string> = new Set(["default", "example", "enum"]);

/** A schema without what is empty or false. All its numbers are pointers. */
function schemaAsStored(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(schemaAsStored);
  if (!isRecord(schema)) return schema;
  const kept = Object.entries(schema).flatMap(([name, value]) => {
    if (schemaData.has(name)) return [[name, value]];
    const inner = schemasByName.has(name) && isRecord(value) ? Object.entries(value).map(([key, one]) => [key, schemaAsStored(one)]) : undefined;
    if (inner) return inner.length > 0 ? [[name, Object.fromEntries(inner)]] : [];
    const isNothing = value === undefined || value === null || value === false || value === "" || (Array.isArray(value) && value.length === 0);
    return isNothing ? [] : [[name, schemaAsStored(value)]];
  });
  return Object.fromEntries(kept);
}

/**
 * True if `live` already says all that `desired` says, value by value. The server's own additions (defaults, status, other managers' fields) do not count
 * as differences.
 */
export function covers(live: unknown, desired: unknown): boolean {
  if (desired === undefined) return true;
  if (Array.isArray(desired)) {
    return Array.isArray(live) && live.length === desired.length && desired.every((item, index) => covers(live[index], item));
  }
  if (isRecord(desired)) {
    if (!isRecord(live)) return false;
    for (const name in desired) if (!covers(live[name], desired[name])) return false;
    return true;
  }
  return live === desired;
}

/** True if both say the same. The order of keys does not matter, nor do members that are undefined. */
export function isSame(a: unknown, b: unknown): boolean {
  return covers(a, b) && covers(b, a);
}

// Quantities and times, which the server writes in one form of many.

/** k8s.io/apimachinery/pkg/api/resource: a decimal with an SI or binary suffix or an exponent. Longer ones are compared as texts. */
const quantity = /^([+-]?)(\d{0,40})(?:\.(\d{0,40}))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?$/;
const decimals: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const binaries = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

function sameQuantity(live: unknown, desired: unknown): boolean {
  const [a, b] = [amountOf(live), amountOf(desired)];
  return a !== undefined && b !== undefined ? a === b : live === desired;
}

/** In units of 10^-139, which no quantity is too small for; undefined for what is none. */
function amountOf(value: unknown): bigint | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const match = quantity.exec(String(value));
  if (!match) return undefined;
  const [, sign, whole = "", fraction = "", suffix = "", exponent = "0"] = match;
  if (whole === "" && fraction === "") return undefined;
  const binary = BigInt(1024 ** Math.max(0, binaries.indexOf(suffix)));
  const power = (decimals[suffix] ?? 0) + Number(exponent) - fraction.length + 139;
  const amount = BigInt(`${whole}${fraction}`) * binary * 10n ** BigInt(power);
  return sign === "-" ? -amount : amount;
}

const instant = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** True if both are the same time, to so many digits of a second. */
function sameTime(live: unknown, desired: unknown, digits: number): boolean {
  const [a, b] = [live, desired].map((value) => {
    const match = typeof value === "string" ? instant.exec(value) : null;
    return match && `${Date.parse(`${match[1]}${match[3]}`)}.${(match[2] ?? "").padEnd(digits, "0").slice(0, digits)}`;
  });
  return typeof a === "string" && a === b;
}

// What the API server does with the fields of its built-in kinds, as of k8s.io/api 0.36: which of them can hold a zero, who shares a list or a map, and what is filled in.

/** A field, or an item of a list, which has no name of its own. */
interface Place {
  /** The kind's plural. */
  readonly plural: string;
  readonly name: string;
  /** The name of the field around it, or of the list that it is an item of. */
  readonly parent: string;
  /** `whole`: within a value that has one owner, so that what others add to it is a change. `fixed`: in a spec that stays as it was made, with what admission put in. */
  readonly sharing: "shared" | "whole" | "fixed";
}

/** The words of a text. */
function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/**
 * The groups that the API server keeps as Go types, in protobuf: there an empty list or map is the same as none, and a number or text that has no pointer
 * is not there when it is zero. Custom kinds are kept as they were sent, so of them only the metadata is looked at in this way.
 */
const typedGroups: ReadonlySet<string> = new Set([
  "",
  ...words(`
apiextensions.k8s.io apiregistration.k8s.io apps autoscaling batch policy admissionregistration.k8s.io certificates.k8s.io coordination.k8s.io
discovery.k8s.io events.k8s.io flowcontrol.apiserver.k8s.io networking.k8s.io node.k8s.io rbac.authorization.k8s.io resource.k8s.io
scheduling.k8s.io storage.k8s.io
`),
]);

/** A member of one of these sets is a name, wherever it stands, or `parent.name`, or `plural/name`. */
function isAmong(set: ReadonlySet<string>, { plural, name, parent }: Place): boolean {
  return set.has(name) || set.has(`${parent}.${name}`) || set.has(`${plural}/${name}`);
}

// Zeros.

/** Fields that are a pointer to a scalar in some type: there, zero is something else than nothing, and who took it away has changed something. */
const pointers = words(`
activeDeadlineSeconds adminAccess allNodes allocateLoadBalancerNodePorts allowMultipleAllocations allowPrivilegeEscalation allowVolumeExpansion
apiGroup appProtocol attachRequired automountServiceAccountToken averageUtilization backoffLimit backoffLimitPerIndex bindsToNode blockOwnerDeletion
borrowingLimitPercent cachingMode capacityKey completionMode completions containerName controller count defaultMode distinctAttribute
enableServiceLinks endPort endpointsNamespace expirationSeconds extendedResourceName failedJobsHistoryLimit failurePolicy force fsGroup
fsGroupChangePolicy fsGroupPolicy fsType gmsaCredentialSpec gmsaCredentialSpecName holderIdentity hostProcess hostUsers hostname hostnameOverride
immutable ingressClassName initiatorName internalTrafficPolicy ipFamilyPolicy ipMode kind labelSelectorPath leaseDurationSeconds leaseTransitions
lendablePercent loadBalancerClass localhostProfile lun managedBy manualSelector matchAttribute matchPolicy maxExpirationSeconds maxFailedIndexes
maxItems maxLength maxProperties maxSurge maxUnavailable maximum message minAvailable minDomains minItems minLength minProperties minReplicas minimum mode mountPropagation multipleOf name
namespace nodeAffinityPolicy nodeAllocatableUpdatePeriodSeconds nodeName nodeTaintsPolicy nominalConcurrencyShares observedGeneration optional
optionalOldSelf parallelism parameterNotFoundAction partition patchType path pathType perDeviceNodeSelection persistentVolumeName podGroupName
podInfoOnMount podReplacementPolicy port preemptionPolicy preferredHolder preventPodSchedulingIfMissing priority privileged procMount
progressDeadlineSeconds protocol readOnly readOnlyRootFilesystem ready reason reclaimPolicy recursiveReadOnly recursiveReadOnlyMounts
reinvocationPolicy replicas requiresRepublish resourceClaimName resourceClaimTemplateName restartPolicy revisionHistoryLimit runAsGroup runAsNonRoot
runAsUser runAsUserName runtimeClassName scope seLinuxChangePolicy seLinuxMount secretNamespace selectPolicy service serviceAccountTokenInSecrets
serving setHostnameAsFQDN shareID shareProcessNamespace sideEffects signerName stabilizationWindowSeconds startingDeadlineSeconds stopSignal
storageCapacity storageClassName strategy successfulJobsHistoryLimit supplementalGroupsPolicy suspend targetAverageUtilization
targetCPUUtilizationPercentage terminating terminationGracePeriodSeconds timeZone timeoutSeconds tolerationSeconds trafficDistribution
ttlSecondsAfterFinished type unhealthyPodEvictionPolicy url userNamespaces value version volumeAttributesClassName volumeBindingMode volumeMode
x-kubernetes-list-type x-kubernetes-map-type x-kubernetes-preserve-unknown-fields zone
`);

/** The same names where they are no pointers. */
const plain = words(`
env.value tolerations.value taints.value volumeMounts.readOnly ports.name ports.protocol paths.path persistentVolumeClaim.readOnly
additionalPrinterColumns.priority events/message events/count persistentvolumes/storageClassName persistentvolumes/readOnly endpoints/hostname validations.message
`);

/** True for a zero that the types can keep apart from nothing. */
function isPointer(place: Place): boolean {
  return pointers.has(place.name) && !isAmong(plain, place);
}

// Forms.

/** Fields that are maps with keys of the user's choice, and never anything else when they are empty. Their values are texts, and compared as such. */
const maps = words(
  "annotations binaryData data labels matchLabels nodeSelector parameters stringData volumeAttributes attributes services/selector replicationcontrollers/selector",
);
/** Maps whose values are quantities. */
const quantityMaps = words("allocatable capacity default defaultRequest hard limits max maxLimitRequestRatio min podFixed requests");
/** Fields that are a quantity. */
const quantities = words(
  "allocationMultiplier averageValue divisor maximumVolumeSize sizeLimit step capacity tolerance target.value resourceslices/value",
);
const times = words(
  "completionTime creationTimestamp deprecatedFirstTimestamp deprecatedLastTimestamp expirationTimestamp firstTimestamp lastTimestamp startTime timeAdded",
);
const microTimes = words("acquireTime eventTime lastObservedTime renewTime");

const isTextMap = (place: Place): boolean => isAmong(maps, place);
const isQuantityMap = ({ name }: Place): boolean => quantityMaps.has(name);
const isQuantity = (place: Place): boolean => isAmong(quantities, place);

/** To how many digits of a second the field is a time; undefined if it is none. */
function digitsOfTime({ name }: Place): number | undefined {
  return times.has(name) ? 0 : microTimes.has(name) ? 6 : undefined;
}

// Owners. What is none of these belongs as a whole to whoever applied it.

type KeyOf = (item: Readonly<Record<string, unknown>>) => unknown;
const byName: KeyOf = ({ name }) => name;
const portKey =
  (number: string): KeyOf =>
  ({ [number]: port, protocol = "TCP" }) =>
    `${String(port)}/${String(protocol)}`;

/** Lists that are merged by a key of their items (`+listType=map`): others may add items of their own, such as sidecars, volumes and mounts. */
const keyedLists: Readonly<Record<string, KeyOf>> = {
  ...Object.fromEntries(
    "containers initContainers ephemeralContainers volumes env secrets resourceClaims claims schedulingGates webhooks matchConditions variables drivers spec.imagePullSecrets"
      .split(" ")
      .map((list) => [list, byName]),
  ),
  volumeMounts: ({ mountPath }) => mountPath,
  volumeDevices: ({ devicePath }) => devicePath,
  hostAliases: ({ ip }) => ip,
  ownerReferences: ({ uid }) => uid,
  conditions: ({ type }) => type,
  topologySpreadConstraints: ({ topologyKey, whenUnsatisfiable }) => `${String(topologyKey)}/${String(whenUnsatisfiable)}`,
  "x-kubernetes-validations": ({ rule }) => rule,
  "spec.ports": portKey("port"),
  "containers.ports": portKey("containerPort"),
  "initContainers.ports": portKey("containerPort"),
};

/** What tells the items of a list apart that several may share; undefined if they do not share it. */
function itemKey({ name, parent, sharing }: Place): KeyOf | undefined {
  if (sharing === "whole") return undefined;
  const specific = `${parent}.${name}`;
  if (Object.hasOwn(keyedLists, specific)) return keyedLists[specific];
  return Object.hasOwn(keyedLists, name) ? keyedLists[name] : undefined;
}

/** Lists to which everybody may add texts of their own (`+listType=set`). */
const sets = words("metadata.finalizers volumeLifecycleModes podCIDRs validationActions");
const isSet = (place: Place): boolean => place.sharing !== "whole" && isAmong(sets, place);

/** Objects that have one owner (`+mapType=atomic`), among them all selectors and references. */
const wholes = words(`
selector labelSelector podSelector namespaceSelector objectSelector nodeSelector nodeTopology scopeSelector required preference
requiredDuringSchedulingIgnoredDuringExecution matchConstraints matchResources paramKind paramRef roleRef scaleTargetRef dataSource
controllerExpandSecretRef controllerPublishSecretRef nodeExpandSecretRef nodePublishSecretRef nodeStageSecretRef secretRef fieldRef resourceFieldRef
configMapKeyRef fileKeyRef secretKeyRef involvedObject regarding related targetRef service.port backend.resource defaultBackend.resource
`);
/** Shared lists whose items are such objects. */
const wholeItems = words("ownerReferences imagePullSecrets secrets variables");

/** How what is in the field is shared; for an item of a list, `place` is the list. */
function sharingIn(place: Place, isItem: boolean): Place["sharing"] {
  if (place.sharing !== "shared") return place.sharing;
  return (isItem ? wholeItems.has(place.name) || !itemKey(place) : isAmong(wholes, place)) ? "whole" : "shared";
}

// What is filled in where nothing was said.

const rbac = "rbac.authorization.k8s.io";
/** In what has one owner; anywhere else it does not matter. */
const defaults: Readonly<Record<string, readonly unknown[]>> = {
  protocol: ["TCP"],
  "fieldRef.apiVersion": ["v1"],
  divisor: ["0"],
  "subjects.apiGroup": [rbac],
  "roleRef.apiGroup": [rbac],
  "rules.scope": ["*"],
  "resourceRules.scope": ["*"],
  matchPolicy: ["Equivalent"],
  "matchConstraints.namespaceSelector": [{}],
  "matchConstraints.objectSelector": [{}],
  "matchResources.namespaceSelector": [{}],
  "matchResources.objectSelector": [{}],
  "serviceAccountToken.expirationSeconds": [3600],
  "onPodConditions.status": ["True"],
  "volumeClaimTemplates.apiVersion": ["v1"],
  "volumeClaimTemplates.kind": ["PersistentVolumeClaim"],
  "volumeClaimTemplates.status": [{ phase: "Pending" }],
  volumeMode: ["Filesystem"],
  allocationMode: ["ExactCount"],
  count: [1],
  "tolerations.operator": ["Equal"],
  "endpointslices/name": [""],
  policyTypes: [["Ingress"], ["Ingress", "Egress"]],
  volumeLifecycleModes: [["Persistent"]],
  "horizontalpodautoscalers/metrics": [[{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } } }]],
};
/** From other fields of the same object, or whatever it is. */
const computed = words("limits.default limits.defaultRequest taints.timeAdded");
/** Structs that are written also when they are empty. */
const emptyStructs = words("conditions metadata resources spec status strategy");

/** True if the API server, or the way in which it writes nothing, has put this where nothing was said. */
function isFilledIn(stored: unknown, place: Place): boolean {
  if (stored === undefined || stored === null || isAmong(computed, place)) return true;
  if (stored === false || stored === 0 || stored === "") return !isPointer(place) || isDefault(stored, place);
  if (isRecord(stored) && Object.keys(stored).length === 0 && emptyStructs.has(place.name)) return true;
  return isDefault(stored, place);
}

/** True if this is what an empty value, or none, becomes. */
function isDefault(stored: unknown, { plural, name, parent }: Place): boolean {
  const known = defaults[`${parent}.${name}`] ?? defaults[`${plural}/${name}`] ?? defaults[name] ?? [];
  const text = JSON.stringify(stored);
  return known.some((value) => JSON.stringify(value) === text);
}
