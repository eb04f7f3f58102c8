// Which namespaces checksums are published in.
import { type ControllerScope, Namespace, type ObjectKey } from "@keyturn/runtime";

/** Named ones, or those with certain labels. */
export type NamespaceChoice = { readonly type: "named"; readonly names: readonly string[] } | { readonly type: "labelled"; readonly labels: string };

/** The choice at work. */
export interface ChosenNamespaces {
  includes(namespace: string): boolean;
}

const exists = (): true => true;

/** Follows the choice; a namespace whose labels change is looked at at once. */
export function chooseNamespaces({ watch, trigger }: Pick<ControllerScope, "watch" | "trigger">, choice: NamespaceChoice): ChosenNamespaces {
  if (choice.type === "named") return { includes: (namespace) => choice.names.includes(namespace) };
  const labelled = watch(Namespace, { only: "metadata", labels: choice.labels, keep: exists });
  trigger(labelled);
  return { includes: (namespace: ObjectKey) => labelled.get(namespace) === true };
}

/** Where to watch: in each of the named namespaces, or wherever the operator works. */
export function placesOf(choice: NamespaceChoice): readonly { readonly namespace?: string }[] {
  return choice.type === "named" ? choice.names.map((namespace) => ({ namespace })) : [{}];
}
