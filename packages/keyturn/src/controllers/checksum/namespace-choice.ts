// Which namespaces checksums are published in.
import { type ControllerScope, type KubeObject, Namespace, type ObjectKey } from "@keyturn/runtime";

/** Named ones, or those with certain labels. */
export type NamespaceChoice = { readonly type: "named"; readonly names: readonly string[] } | { readonly type: "labelled"; readonly labels: string };

/** The choice at work. */
export interface ChosenNamespaces {
  includes(namespace: string): boolean;
}

/** In a namespace that is on its way out nothing can be created any more. */
const isThereToStay = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp === undefined;

/** Follows the choice; a namespace whose labels change is looked at at once. */
export function chooseNamespaces({ watch, trigger }: Pick<ControllerScope, "watch" | "trigger">, choice: NamespaceChoice): ChosenNamespaces {
  if (choice.type === "named") return { includes: (namespace) => choice.names.includes(namespace) };
  const labelled = watch(Namespace, { only: "metadata", labels: choice.labels, keep: isThereToStay });
  trigger(labelled);
  return { includes: (namespace: ObjectKey) => labelled.get(namespace) === true };
}

/** Where to watch: in each of the named namespaces, or wherever the operator works. */
export function placesOf(choice: NamespaceChoice): readonly { readonly namespace?: string }[] {
  return choice.type === "named" ? choice.names.map((namespace) => ({ namespace })) : [{}];
}
