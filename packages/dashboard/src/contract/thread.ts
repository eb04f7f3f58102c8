// One credential out of all: the objects of every step that are about it. `keyturn status NAME` and the page of an object follow the same thread.
import type { ObjectRef, ObjectReport } from "./records.ts";

/** As much of an object as tells what it has to do with others. */
type Threaded = Pick<ObjectReport, "ref" | "about" | "covers">;

/** The objects of a step. */
interface ThreadStep<R> {
  /** They are about every credential of their namespace. */
  readonly perNamespace: boolean;
  readonly objects: readonly R[];
}

/**
 * For each step, the objects that are meant, and from there on everything that shares a Secret or a set with them; and of steps whose objects are about
 * whole namespaces those of the namespaces in which the others are, or of a scope that has them.
 */
export function threadOf<R extends Threaded>(steps: readonly ThreadStep<R>[], isMeant: (object: R) => boolean): readonly (readonly R[])[] {
  const all = steps.filter(({ perNamespace }) => !perNamespace).flatMap(({ objects }) => objects);
  const found = new Set(all.filter(isMeant));
  const known = new Set<string>();
  for (let before = -1; before < found.size;) {
    before = found.size;
    for (const name of Array.from(found).flatMap(namesOf)) known.add(name);
    for (const object of all) if (namesOf(object).some((name) => known.has(name))) found.add(object);
  }
  const namespaces = new Set(Array.from(found, ({ ref }) => ref.namespace));
  const belongs = (perNamespace: boolean, object: R): boolean =>
    perNamespace
      ? [object.ref.namespace, ...(object.covers ?? [])].some((namespace) => namespaces.has(namespace)) || isMeant(object)
      : found.has(object);
  return steps.map(({ perNamespace, objects }) => objects.filter((object) => belongs(perNamespace, object)));
}

/** Whether a record is the object of that name, or about it: a Secret has no record, and others are about it. */
export function isAbout({ ref, about }: Threaded, { resource, namespace, name }: Pick<ObjectRef, "resource" | "namespace" | "name">): boolean {
  return ref.namespace === namespace && (about.includes(name) || (ref.name === name && ref.resource === resource));
}

function namesOf({ ref, about }: Threaded): readonly string[] {
  return about.map((name) => `${ref.namespace}/${name}`);
}
