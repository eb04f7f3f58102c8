// networking.k8s.io/v1beta1 as Kubernetes publishes it. Written by `node tools/kubernetes-types.ts`: do not edit.
import { defineKind, type KubeObject } from "../../../client/kind.ts";
import type * as metaV1 from "../meta/v1.ts";

/** IPAddress represents a single IP of a single IP Family. The object is designed to be used by APIs that operate on IP addresses. The object is used by the Service core API for allocation of IP addresses. An IP address can be represented in different formats, to guarantee the uniqueness of the IP, the name of the object is the IP address in canonical format, four decimal digits separated by dots suppressing leading zeros for IPv4 and the representation defined by RFC 5952 for IPv6. Valid: 192.168.1.5 or 2001:db8::1 or 2001:db8:aaaa:bbbb:cccc:dddd:eeee:1 Invalid: 10.01.2.3 or 2001:db8:0:0:0::1 */
export interface IPAddress extends KubeObject {
  /** spec is the desired state of the IPAddress. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status */
  readonly spec: IPAddressSpec;
}
/** Names ipaddresses of networking.k8s.io/v1beta1. */
export const IPAddress = /* @__PURE__ */ defineKind<IPAddress>({ group: "networking.k8s.io", version: "v1beta1", kind: "IPAddress", plural: "ipaddresses", namespaced: false });

/** IPAddressSpec describe the attributes in an IP Address. */
export interface IPAddressSpec {
  /** ParentRef references the resource that an IPAddress is attached to. An IPAddress must reference a parent object. */
  readonly parentRef: ParentReference;
}

/** ParentReference describes a reference to a parent object. */
export interface ParentReference {
  /** Group is the group of the object being referenced. */
  readonly group?: string;
  /** Name is the name of the object being referenced. */
  readonly name: string;
  /** Namespace is the namespace of the object being referenced. */
  readonly namespace?: string;
  /** Resource is the resource of the object being referenced. */
  readonly resource: string;
}

/** ServiceCIDR defines a range of IP addresses using CIDR format (e.g. 192.168.0.0/24 or 2001:db2::/64). This range is used to allocate ClusterIPs to Service objects. */
export interface ServiceCIDR extends KubeObject {
  /** spec is the desired state of the ServiceCIDR. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status */
  readonly spec?: ServiceCIDRSpec;
  /** status represents the current state of the ServiceCIDR. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status */
  readonly status?: ServiceCIDRStatus;
}
/** Names servicecidrs of networking.k8s.io/v1beta1. */
export const ServiceCIDR = /* @__PURE__ */ defineKind<ServiceCIDR>({ group: "networking.k8s.io", version: "v1beta1", kind: "ServiceCIDR", plural: "servicecidrs", namespaced: false });

/** ServiceCIDRSpec define the CIDRs the user wants to use for allocating ClusterIPs for Services. */
export interface ServiceCIDRSpec {
  /** CIDRs defines the IP blocks in CIDR notation (e.g. "192.168.0.0/24" or "2001:db8::/64") from which to assign service cluster IPs. Max of two CIDRs is allowed, one of each IP family. This field is immutable. */
  readonly cidrs?: readonly string[];
}

/** ServiceCIDRStatus describes the current state of the ServiceCIDR. */
export interface ServiceCIDRStatus {
  /** conditions holds an array of metav1.Condition that describe the state of the ServiceCIDR. Current service state */
  readonly conditions?: readonly metaV1.Condition[];
}
