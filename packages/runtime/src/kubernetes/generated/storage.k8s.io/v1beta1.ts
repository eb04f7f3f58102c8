// storage.k8s.io/v1beta1 as Kubernetes publishes it. Written by `node tools/kubernetes-types.ts`: do not edit.
import { defineKind, type KubeObject } from "../../../client/kind.ts";

/** VolumeAttributesClass represents a specification of mutable volume attributes defined by the CSI driver. The class can be specified during dynamic provisioning of PersistentVolumeClaims, and changed in the PersistentVolumeClaim spec after provisioning. */
export interface VolumeAttributesClass extends KubeObject {
  /** Name of the CSI driver This field is immutable. */
  readonly driverName: string;
  /**
   * parameters hold volume attributes defined by the CSI driver. These values are opaque to the Kubernetes and are passed directly to the CSI driver. The underlying storage provider supports changing these attributes on an existing volume, however the parameters field itself is immutable. To invoke a volume update, a new VolumeAttributesClass should be created with new parameters, and the PersistentVolumeClaim should be updated to reference the new VolumeAttributesClass.
   *
   * This field is required and must contain at least one key/value pair. The keys cannot be empty, and the maximum number of parameters is 512, with a cumulative max size of 256K. If the CSI driver rejects invalid parameters, the target PersistentVolumeClaim will be set to an "Infeasible" state in the modifyVolumeStatus field.
   */
  readonly parameters?: Readonly<Record<string, string>>;
}
/** Names volumeattributesclasses of storage.k8s.io/v1beta1. */
export const VolumeAttributesClass = /* @__PURE__ */ defineKind<VolumeAttributesClass>({ group: "storage.k8s.io", version: "v1beta1", kind: "VolumeAttributesClass", plural: "volumeattributesclasses", namespaced: false });
