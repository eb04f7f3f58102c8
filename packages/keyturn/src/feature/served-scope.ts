// Which objects an operator serves, as it says on its Leases, and whether another one serves some of them too. Two that do replace each other's work.
import { areSelectorsDisjoint, type DeepReadonly, type Lease } from "@keyturn/runtime";
import * as z from "zod";
import { keyturn } from "./feature.ts";

/** On a Lease: what its holder serves, as JSON. */
const servesAnnotation = `${keyturn.domain}/serves`;

const scopeSchema = z.object({
  /** Empty: all. */
  namespaces: z.array(z.string()),
  skipNamespaces: z.array(z.string()),
  selector: z.string(),
  /** By controller, where it works in these namespaces alone. */
  only: z.record(z.string(), z.array(z.string())),
});

/** What an operator serves. */
export type ServedScope = DeepReadonly<z.infer<typeof scopeSchema>>;

/** What the operator's Leases say of it. */
export function scopeAnnotations(scope: ServedScope): Readonly<Record<string, string>> {
  return { [servesAnnotation]: JSON.stringify(scope) };
}

/** What a Lease says; undefined if it says nothing, as those of older releases. */
export function scopeOf({ metadata }: DeepReadonly<Lease>): ServedScope | undefined {
  try {
    return scopeSchema.parse(JSON.parse(metadata.annotations?.[servesAnnotation] ?? ""));
  } catch {
    return undefined;
  }
}

/** True unless it is certain that no object is served by both. */
export function isShared(controller: string, one: ServedScope, other: ServedScope): boolean {
  if (!doMeet(placesOf(controller, one), placesOf(controller, other))) return false;
  try {
    return !areSelectorsDisjoint(one.selector, other.selector);
  } catch {
    // A later release may know more.
    return true;
  }
}

/** Namespaces: these, or all but these. */
type Places = { readonly only: readonly string[] } | { readonly allBut: readonly string[] };

function placesOf(controller: string, { namespaces, skipNamespaces, only }: ServedScope): Places {
  const [first, ...others] = [namespaces, only[controller] ?? []].filter((names) => names.length > 0);
  if (!first) return { allBut: skipNamespaces };
  return { only: first.filter((name) => others.every((names) => names.includes(name)) && !skipNamespaces.includes(name)) };
}

function doMeet(one: Places, other: Places): boolean {
  if ("only" in one) return one.only.some((name) => ("only" in other ? other.only.includes(name) : !other.allBut.includes(name)));
  return "only" in other ? doMeet(other, one) : true;
}
