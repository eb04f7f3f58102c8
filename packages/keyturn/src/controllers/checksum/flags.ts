// The flags of this feature: which objects are covered, in which namespaces, and how checksums are published.
import { type Cache, type ControllerScope, type KubeObject, Namespace, type ObjectKey } from "@keyturn/runtime";
import { choiceFlag, durationFlag, type Flag, listFlag, numberFlag, switchFlag, textFlag, textFlagWithDefault } from "../../feature/flag.ts";
import { pausedAnnotation } from "../../feature/pause-and-selection.ts";
import { defaultVersionAnnotations } from "./ids.ts";

/** A namespace with this label is covered unless flags say otherwise. */
const namespaceLabel = "keyturn.io/checksum=enabled";

const versionAnnotations = listFlag({
  name: "checksum.version-annotations",
  help: `the annotations that may hold an object's version; the first that is there counts (default ${defaultVersionAnnotations.join(",")})`,
});

const kindNames = ["secrets", "ingresses"] as const;
const kinds = listFlag({ name: "checksum.kinds", help: "what checksums are published of: secrets, ingresses or both (default both)" });

const kindsFlag: Flag<readonly (typeof kindNames)[number][]> = {
  ...kinds,
  parse(text) {
    const chosen = kinds.parse(text);
    const unknown = chosen.find((kind) => !kindNames.some((known) => known === kind));
    if (unknown !== undefined) throw new Error(`"${unknown}" is not one of ${kindNames.join(", ")}`);
    return chosen.length === 0 ? kindNames : kindNames.filter((kind) => chosen.includes(kind));
  },
};

const versionAnnotationsFlag: Flag<readonly string[]> = {
  ...versionAnnotations,
  parse(text) {
    const names = versionAnnotations.parse(text);
    return names.length === 0 ? defaultVersionAnnotations : names;
  },
};

/** Which objects count: the same for whoever publishes, announces or verifies. */
export const memberFlags = {
  versionAnnotations: versionAnnotationsFlag,
  secretSelector: textFlag({ name: "checksum.secret-selector", placeholder: "LABELS", help: "only Secrets with these labels; otherwise all" }),
  secretTypes: choiceFlag({
    name: "checksum.secret-types",
    choices: ["tls", "all"],
    default: "tls",
    help: "tls: only Secrets of type kubernetes.io/tls; all: every Secret that has a version, as Tengine counts them",
  }),
  ingressSelector: textFlag({ name: "checksum.ingress-selector", placeholder: "LABELS", help: "only Ingresses with these labels; otherwise all" }),
  ingressClasses: listFlag({ name: "checksum.ingress-classes", help: "only Ingresses of these classes; otherwise all" }),
};

/** Everything about publishing. */
export const checksumFlags = {
  kinds: kindsFlag,
  namespaces: listFlag({ name: "checksum.namespaces", help: "the namespaces to publish checksums in; they take the place of the selector" }),
  namespaceSelector: textFlagWithDefault({
    name: "checksum.namespace-selector",
    placeholder: "LABELS",
    default: namespaceLabel,
    help: "publish checksums in the namespaces with these labels",
  }),
  ...memberFlags,
  stabilize: durationFlag({
    name: "checksum.settle",
    default: "2s",
    help: "how long a namespace must be quiet before its checksum is published; ten times as long at most",
  }),
  keep: numberFlag({ name: "checksum.keep", default: 3, least: 1, most: 100, help: "the most checksums of earlier states that stay" }),
  keepFor: durationFlag({
    name: "checksum.keep-for",
    default: "10m",
    help: "how long the checksum of an earlier state stays after another took its place",
  }),
  maxAnnouncement: durationFlag({
    name: "checksum.longest-announcement",
    default: "1h",
    help: "how long an announced state is awaited, however long it was announced for",
  }),
  publishEmpty: switchFlag({
    name: "checksum.publish-empty",
    default: false,
    help: "publish a checksum of nothing when no object counts any more; otherwise the last one stays, and gateways keep what they have",
  }),
};

// Which namespaces checksums are published in.

/** Named ones, or those with certain labels. */
export type NamespaceChoice = { readonly type: "named"; readonly names: readonly string[] } | { readonly type: "labelled"; readonly labels: string };

/** The choice at work. */
export interface ChosenNamespaces {
  includes(namespace: string): boolean;
  /** The annotation that pauses a namespace, as it was written. Named namespaces are not looked at themselves. */
  pausedBy(namespace: string): string | undefined;
  /** What the choice rests on; undefined if nothing has to be known for it. */
  readonly restsOn: Cache<unknown> | undefined;
}

/** What is kept of a namespace. In one that is on its way out nothing can be created any more. */
interface NamespaceState {
  readonly isThereToStay: boolean;
  readonly paused: string | undefined;
}

const keepState = ({ metadata: { deletionTimestamp, annotations } }: KubeObject): NamespaceState => ({
  isThereToStay: deletionTimestamp === undefined,
  paused: annotations?.[pausedAnnotation],
});

/** Follows the choice; a namespace whose labels change is looked at at once. */
export function chooseNamespaces({ watch, trigger }: Pick<ControllerScope, "watch" | "trigger">, choice: NamespaceChoice): ChosenNamespaces {
  if (choice.type === "named") return { includes: (namespace) => choice.names.includes(namespace), pausedBy: () => undefined, restsOn: undefined };
  const labelled = watch(Namespace, { only: "metadata", labels: choice.labels, keep: keepState });
  trigger(labelled);
  return {
    includes: (namespace: ObjectKey) => labelled.get(namespace)?.isThereToStay === true,
    pausedBy: (namespace: ObjectKey) => labelled.get(namespace)?.paused,
    restsOn: labelled,
  };
}

/** Where to watch: in each of the named namespaces, or wherever the operator works. */
export function placesOf(choice: NamespaceChoice): readonly { readonly namespace?: string }[] {
  return choice.type === "named" ? choice.names.map((namespace) => ({ namespace })) : [{}];
}
