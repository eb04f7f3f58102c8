// Does a stored object already say what is wanted? Asked in the form in which the API server stores it: quantities, times, empty and absent fields, lists by their keys.
import type { Kind, KubeObject } from "../client/kind.ts";
import { isRecord } from "../json.ts";

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
apiextensions.k8s.io apps autoscaling batch policy admissionregistration.k8s.io certificates.k8s.io coordination.k8s.io discovery.k8s.io
events.k8s.io flowcontrol.apiserver.k8s.io networking.k8s.io node.k8s.io rbac.authorization.k8s.io resource.k8s.io scheduling.k8s.io storage.k8s.io
`),
]);

/** Fields that are a pointer to a scalar in some type of k8s.io/api 0.36: there, zero is something else than nothing, and who took it away has changed something. */
const pointers = words(`
activeDeadlineSeconds adminAccess allNodes allocateLoadBalancerNodePorts allowMultipleAllocations allowPrivilegeEscalation allowVolumeExpansion
apiGroup appProtocol attachRequired automountServiceAccountToken averageUtilization backoffLimit backoffLimitPerIndex bindsToNode blockOwnerDeletion
borrowingLimitPercent cachingMode capacityKey completionMode completions containerName controller count defaultMode distinctAttribute
enableServiceLinks endPort endpointsNamespace expirationSeconds extendedResourceName failedJobsHistoryLimit failurePolicy force fsGroup
fsGroupChangePolicy fsGroupPolicy fsType gmsaCredentialSpec gmsaCredentialSpecName holderIdentity hostProcess hostUsers hostname hostnameOverride
immutable ingressClassName initiatorName internalTrafficPolicy ipFamilyPolicy ipMode kind labelSelectorPath leaseDurationSeconds leaseTransitions
lendablePercent loadBalancerClass localhostProfile lun managedBy manualSelector matchAttribute matchPolicy maxExpirationSeconds maxFailedIndexes
maxItems maxLength maxProperties maximum message minDomains minItems minLength minProperties minReplicas minimum mode mountPropagation multipleOf name
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

/** The same names where they are no pointers, by the field around them. */
const plain = words("env.value tolerations.value volumeMounts.readOnly ports.name ports.protocol paths.path");

/** Fields that are maps with keys of the user's choice, and never anything else when they are empty. Their values are texts, and compared as such. */
const maps = words("annotations binaryData data labels matchLabels nodeSelector parameters stringData volumeAttributes attributes");
/** Maps whose values are quantities. */
const quantityMaps = words("allocatable capacity default defaultRequest hard limits max maxLimitRequestRatio min podFixed requests");
/** Fields that are a quantity; `value` is one in the target of a HorizontalPodAutoscaler. */
const quantities = words("allocationMultiplier averageValue divisor maximumVolumeSize sizeLimit step capacity tolerance");
const times = words("completionTime creationTimestamp deprecatedFirstTimestamp deprecatedLastTimestamp expirationTimestamp startTime timeAdded");
const microTimes = words("acquireTime eventTime lastObservedTime renewTime");

/** Lists that are merged by a key of their items (`+listType=map`): others may add items of their own, such as sidecars, volumes and mounts. */
const keyedLists: Readonly<Record<string, (item: Readonly<Record<string, unknown>>) => unknown>> = {
  ...Object.fromEntries(
    "containers initContainers ephemeralContainers volumes env imagePullSecrets secrets resourceClaims schedulingGates webhooks matchConditions"
      .split(" ")
      .map((list) => [list, ({ name }: Readonly<Record<string, unknown>>) => name]),
  ),
  volumeMounts: ({ mountPath }) => mountPath,
  volumeDevices: ({ devicePath }) => devicePath,
  hostAliases: ({ ip }) => ip,
  ownerReferences: ({ uid }) => uid,
  conditions: ({ type }) => type,
};

/**
 * True if `live` says all that `desired` says, so that applying it would change nothing. What the server and others have added does not count, nor do
 * `apiVersion` and `kind`, which items of a list lack. Fields that were applied earlier and are no longer desired do not show here.
 */
export function saysAll(kind: Pick<Kind, "group" | "plural">, live: KubeObject, desired: KubeObject): boolean {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...contents } = desired;
  if (!says(live.metadata, metadata, "metadata", "")) return false;
  if (!typedGroups.has(kind.group)) return covers(live, contents);
  return says(live, kind.group === "" && kind.plural === "pods" ? withoutTolerations(contents) : contents, "", "");
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

/** `name` is the field's, `parent` that of the one around it. The server writes some empty lists as null. */
function says(stored: unknown, desired: unknown, name: string, parent: string): boolean {
  if (desired === undefined || desired === null) return true;
  // The schema in a CRD is data, whatever its fields are called.
  if (name === "openAPIV3Schema") return covers(stored, desired);
  const live = stored ?? undefined;
  if (Array.isArray(desired)) return live === undefined ? desired.length === 0 : Array.isArray(live) && saysItems(live, desired, name);
  if (isRecord(desired)) {
    if (maps.has(name) && Object.values(desired).every((value) => typeof value === "string")) return covers(live ?? {}, desired);
    if (!isRecord(live)) return live === undefined && quantityMaps.has(name) && Object.keys(desired).length === 0;
    const inner = quantityMaps.has(name) ? sameQuantity : undefined;
    for (const member in desired) {
      const [a, b] = [live[member], desired[member]];
      if (inner && !isRecord(b) ? !inner(a, b) : !says(a, b, member, name || parent)) return false;
    }
    return true;
  }
  if (live === desired) return true;
  // A zero that the types cannot keep apart from nothing.
  if (live === undefined) return (desired === false || desired === 0 || desired === "") && (!pointers.has(name) || plain.has(`${parent}.${name}`));
  if (quantities.has(name) || (name === "value" && parent === "target")) return sameQuantity(live, desired);
  if (times.has(name)) return sameTime(live, desired, 0);
  return microTimes.has(name) && sameTime(live, desired, 6);
}

function saysItems(live: readonly unknown[], desired: readonly unknown[], name: string): boolean {
  if (name === "finalizers") return desired.every((item) => live.includes(item));
  const keyOf = Object.hasOwn(keyedLists, name) ? keyedLists[name] : undefined;
  if (!keyOf) return live.length === desired.length && desired.every((item, index) => says(live[index], item, "", name));
  // In the order that is wanted, whatever stands in between.
  let from = 0;
  return desired.every((item) => {
    const at = isRecord(item) ? live.findIndex((other, index) => index >= from && isRecord(other) && keyOf(other) === keyOf(item)) : -1;
    from = at + 1;
    return at >= 0 && says(live[at], item, "", name);
  });
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
