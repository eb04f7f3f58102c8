// Which namespaces checksums are published in.
import { type Cache, type ControllerScope, type KubeObject, Namespace, type ObjectKey } from "@keyturn/runtime";
import { pausedAnnotation } from "../attention.ts";

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
