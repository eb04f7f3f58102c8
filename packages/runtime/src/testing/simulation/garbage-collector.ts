// What kube-controller-manager does where controllers can see it: deletes what has lost its owners, and empties namespaces that are to go.
import { apiVersionOf, nameOf, objectPath } from "../../client/kind.ts";
import { isObject, type JsonObject, listOr, objectOr, stringOr } from "../../json.ts";
import { finalizersOf, type ServedKind } from "./object-store.ts";
import type { SimulatedApiServer } from "./simulated-api-server.ts";

interface Found {
  readonly served: ServedKind;
  readonly key: string;
  readonly object: JsonObject;
}

/** One round over everything there is. A chain of owners takes as many rounds as it is long, as in life. */
export function collectGarbage(server: SimulatedApiServer): void {
  const all = everyObject(server);
  for (const found of all) {
    const owners = ownersOf(found.object);
    if (owners.length > 0 && owners.every((owner) => isGone(server, found, owner))) remove(server, found);
  }
  for (const found of all) finishOwner(server, found, all);
  for (const found of all) if (found.served.resource === "namespaces" && isDeleting(found.object)) emptyNamespace(server, found, all);
}

function everyObject(server: SimulatedApiServer): readonly Found[] {
  const byResource = new Map(server.kinds.map((served) => [served.resource, served]));
  return [...server.store.all()].flatMap(([resource, key, object]) => {
    const served = byResource.get(resource);
    return served ? [{ served, key, object }] : [];
  });
}

/** The owner is gone if its name is free or taken by another. An owner of a kind that is not served is left alone. */
function isGone(server: SimulatedApiServer, { key }: Found, owner: JsonObject): boolean {
  const served = server.kinds.find(({ kind }) => kind.kind === owner["kind"] && apiVersionOf(kind) === owner["apiVersion"]);
  if (!served) return false;
  const name = stringOr(owner["name"], "");
  const { namespace } = nameOf(key);
  const object = server.store.get(served.resource, served.kind.namespaced && namespace !== undefined ? `${namespace}/${name}` : name);
  return object === undefined || uidOf(object) !== owner["uid"];
}

/** Lets an owner go that waits for its dependents to be deleted or orphaned. */
function finishOwner(server: SimulatedApiServer, owner: Found, all: readonly Found[]): void {
  const current = server.store.get(owner.served.resource, owner.key);
  if (!current || !isDeleting(current)) return;
  const dependents = all.filter(
    (other) => server.store.get(other.served.resource, other.key) && ownersOf(other.object).some((reference) => reference["uid"] === uidOf(current)),
  );
  const finalizer = ["foregroundDeletion", "orphan"].find((name) => finalizersOf(current).includes(name));
  if (finalizer === undefined) return;
  if (finalizer === "foregroundDeletion" && dependents.length > 0) return dependents.forEach((dependent) => remove(server, dependent));
  for (const dependent of dependents)
    patch(server, dependent, {
      metadata: { ownerReferences: ownersOf(dependent.object).filter((reference) => reference["uid"] !== uidOf(current)) },
    });
  patch(server, owner, { metadata: { finalizers: finalizersOf(current).filter((name) => name !== finalizer) } });
}

function emptyNamespace(server: SimulatedApiServer, { key: namespace }: Found, all: readonly Found[]): void {
  const content = all.filter(
    ({ served, key }) => served.kind.namespaced && nameOf(key).namespace === namespace && server.store.get(served.resource, key),
  );
  for (const found of content) if (!isDeleting(found.object)) remove(server, found);
  if (content.length === 0) server.store.remove("namespaces", namespace);
}

function remove(server: SimulatedApiServer, { served, key, object }: Found): void {
  const body = JSON.stringify({ preconditions: { uid: uidOf(object) }, propagationPolicy: "Background" });
  server.handle({ method: "DELETE", path: objectPath(served.kind, nameOf(key)), body });
}

function patch(server: SimulatedApiServer, { served, key }: Found, body: JsonObject): void {
  const headers = { "content-type": "application/merge-patch+json", "user-agent": "kube-controller-manager" };
  server.handle({ method: "PATCH", path: objectPath(served.kind, nameOf(key)), headers, body: JSON.stringify(body) });
}

function ownersOf(object: JsonObject): readonly JsonObject[] {
  return listOr(objectOr(object["metadata"])["ownerReferences"]).filter((reference) => isObject(reference));
}

function uidOf(object: JsonObject): string {
  return stringOr(objectOr(object["metadata"])["uid"], "");
}

function isDeleting(object: JsonObject): boolean {
  return objectOr(object["metadata"])["deletionTimestamp"] !== undefined;
}
