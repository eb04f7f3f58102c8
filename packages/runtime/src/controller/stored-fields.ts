// What the API server does with the fields of its built-in kinds, as of k8s.io/api 0.36: which of them can hold a zero, who shares a list or a map, and what is filled in.
import { isRecord } from "../json.ts";

/** A field, or an item of a list, which has no name of its own. */
export interface Place {
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
export const typedGroups: ReadonlySet<string> = new Set([
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
export function isPointer(place: Place): boolean {
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

export const isTextMap = (place: Place): boolean => isAmong(maps, place);
export const isQuantityMap = ({ name }: Place): boolean => quantityMaps.has(name);
export const isQuantity = (place: Place): boolean => isAmong(quantities, place);

/** To how many digits of a second the field is a time; undefined if it is none. */
export function digitsOfTime({ name }: Place): number | undefined {
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
export function itemKey({ name, parent, sharing }: Place): KeyOf | undefined {
  if (sharing === "whole") return undefined;
  const specific = `${parent}.${name}`;
  if (Object.hasOwn(keyedLists, specific)) return keyedLists[specific];
  return Object.hasOwn(keyedLists, name) ? keyedLists[name] : undefined;
}

/** Lists to which everybody may add texts of their own (`+listType=set`). */
const sets = words("metadata.finalizers volumeLifecycleModes podCIDRs validationActions");
export const isSet = (place: Place): boolean => place.sharing !== "whole" && isAmong(sets, place);

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
export function sharingIn(place: Place, isItem: boolean): Place["sharing"] {
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
export function isFilledIn(stored: unknown, place: Place): boolean {
  if (stored === undefined || stored === null || isAmong(computed, place)) return true;
  if (stored === false || stored === 0 || stored === "") return !isPointer(place) || isDefault(stored, place);
  if (isRecord(stored) && Object.keys(stored).length === 0 && emptyStructs.has(place.name)) return true;
  return isDefault(stored, place);
}

/** True if this is what an empty value, or none, becomes. */
export function isDefault(stored: unknown, { plural, name, parent }: Place): boolean {
  const known = defaults[`${parent}.${name}`] ?? defaults[`${plural}/${name}`] ?? defaults[name] ?? [];
  const text = JSON.stringify(stored);
  return known.some((value) => JSON.stringify(value) === text);
}
