// What a checksum can be of: Secrets or Ingresses, and how each of them is looked at.
import { Ingress, type Kind, type KubeObject, parseLabelSelector, Secret, type Selection, type Stored } from "@keyturn/runtime";
import type { FlagReader } from "../../feature/feature.ts";
import { IngressCheckSum, SecretCheckSum } from "./api.ts";
import type { CheckSumObject } from "./check-sum-object.ts";
import { memberFlags } from "./flags.ts";
import { ingressMember, secretMember } from "./ids.ts";
import type { SeenMember } from "./members.ts";

/** One kind of objects and the kind of its checksums. */
export interface MemberKind<T extends KubeObject = KubeObject> {
  readonly objects: Kind<T>;
  readonly checksums: Kind<CheckSumObject>;
  /** What the names of its checksums begin with, as in the samples of Tengine's documentation. */
  readonly prefix: string;
  /** Which objects are looked at. */
  readonly selection: Pick<Selection, "labels" | "fields">;
  /** Whether that selection has an object in it, for objects that are not in the cluster yet. */
  readonly selects: (object: T) => boolean;
  /** What a checksum sees of an object. */
  readonly member: (object: Stored<T> | T) => SeenMember;
}

const tlsType = "kubernetes.io/tls";

/** Releases of Helm can be a megabyte each; neither holds anything that a gateway serves. */
const uselessTypes: readonly string[] = ["helm.sh/release.v1", "kubernetes.io/service-account-token"];

/** Which Secrets are looked at, the same for whoever publishes, announces, compares or verifies. */
export function secretSelection(types: "tls" | "all", labels: string | undefined): Pick<Selection, "labels" | "fields"> {
  return { fields: types === "all" ? uselessTypes.map((type) => `type!=${type}`).join(",") : `type=${tlsType}`, ...(labels && { labels }) };
}

/** Secrets, as the flags choose them. */
export function secretMemberKind(flag: FlagReader): MemberKind<Secret> {
  const rules = { versionAnnotations: flag(memberFlags.versionAnnotations) };
  const labels = flag(memberFlags.secretSelector) ?? "";
  const wantsAll = flag(memberFlags.secretTypes) === "all";
  return {
    objects: Secret,
    checksums: SecretCheckSum,
    prefix: "secret",
    selection: secretSelection(flag(memberFlags.secretTypes), labels),
    selects: ({ metadata, type = "Opaque" }) =>
      (wantsAll ? !uselessTypes.includes(type) : type === tlsType) && parseLabelSelector(labels)(metadata.labels ?? {}),
    member: (secret) => secretMember(secret, rules),
  };
}

/** Ingresses, as the flags choose them. */
export function ingressMemberKind(flag: FlagReader): MemberKind<Ingress> {
  const rules = { versionAnnotations: flag(memberFlags.versionAnnotations) };
  const classes = flag(memberFlags.ingressClasses);
  const labels = flag(memberFlags.ingressSelector) ?? "";
  return {
    objects: Ingress,
    checksums: IngressCheckSum,
    prefix: "ingress-checksum",
    selection: labels ? { labels } : {},
    selects: ({ metadata }) => parseLabelSelector(labels)(metadata.labels ?? {}),
    member: (ingress) => (classes.length === 0 || classes.includes(classOf(ingress)) ? ingressMember(ingress, rules) : "other"),
  };
}

/** The annotation came before the field, and where both are it counts. */
function classOf({ metadata, spec }: Ingress): string {
  return metadata.annotations?.["kubernetes.io/ingress.class"] ?? spec?.ingressClassName ?? "";
}
