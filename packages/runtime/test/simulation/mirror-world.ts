// What users do to the objects of the model controller, and what must hold of them.
import { ConfigMap, Secret } from "../../src/client/builtin-kinds.ts";
import { objectPath } from "../../src/client/kind.ts";
import type { ObservedWrite, UserAction, World } from "../../src/testing/simulation/index.ts";
import { drawOne } from "../../src/random.ts";
import { type JsonObject, listOr, objectOr, sameJson, stringOr } from "../../src/json.ts";
import { digestOf, finalizer, mirrorLabel } from "./mirror-controller.ts";

/** The names that Secrets are given; few, so that delete and create meet. */
export const secretNames = ["a", "b", "c", "d", "e"] as const;

const mergePatch = { "content-type": "application/merge-patch+json", "user-agent": "user" };
const note = "example.com/note";

function aName({ random }: World): { readonly namespace: string; readonly name: string } {
  return { namespace: "default", name: drawOne(random, secretNames) ?? "a" };
}

function put(world: World, labels: Readonly<Record<string, string>>): void {
  const name = aName(world);
  const data = { value: Buffer.from(String(world.random())).toString("base64") };
  world.apply(Secret, { metadata: { ...name, labels }, data });
}

/** Everything a user does. */
export const mirrorActions: readonly UserAction[] = [
  { name: "puts a secret that is to be mirrored", weight: 6, run: (world) => put(world, { [mirrorLabel]: "yes" }) },
  { name: "puts a secret that is not to be mirrored", weight: 2, run: (world) => put(world, {}) },
  { name: "deletes a secret", weight: 3, run: (world) => world.delete(Secret, aName(world)) },
  { name: "deletes a mirror", run: (world) => world.delete(ConfigMap, aName(world)) },
  {
    name: "spoils a mirror",
    run: (world) =>
      world.request({ method: "PATCH", path: objectPath(ConfigMap, aName(world)), headers: mergePatch, body: '{"data":{"digest":"spoilt"}}' }),
  },
  {
    name: "notes something on a mirror",
    run: (world) => {
      const body = JSON.stringify({ metadata: { annotations: { [note]: String(world.random()) } } });
      world.request({ method: "PATCH", path: objectPath(ConfigMap, aName(world)), headers: mergePatch, body });
    },
  },
];

/** What is not yet as it should be. */
export function mirrorUnsettled({ objects }: World): string | undefined {
  const mirrors = new Map(objects(ConfigMap).map((mirror) => [nameOf(mirror), objectOr(mirror["data"])["digest"]]));
  for (const secret of objects(Secret)) {
    const { labels, finalizers, deletionTimestamp } = objectOr(secret["metadata"]);
    const digest = mirrors.get(nameOf(secret));
    const isHeld = listOr(finalizers).includes(finalizer);
    mirrors.delete(nameOf(secret));
    if (deletionTimestamp !== undefined) return `secret ${nameOf(secret)} is still being deleted`;
    const isWanted = objectOr(labels)[mirrorLabel] === "yes";
    if (isHeld !== isWanted) return `secret ${nameOf(secret)} ${isHeld ? "has" : "lacks"} the finalizer`;
    const wanted = isWanted ? digestOf(objectOr(secret["data"])) : undefined;
    if (digest !== wanted) return `the mirror of ${nameOf(secret)} is ${JSON.stringify(digest)}, not ${JSON.stringify(wanted)}`;
  }
  const [left] = mirrors.keys();
  return left === undefined ? undefined : `the mirror of ${left} is left over`;
}

/** What users wrote is never undone by the operator: of Secrets it may change finalizers alone, of mirrors only what is its own. */
export function lostUpdate({ change: { resource, key, before, after }, client }: ObservedWrite): string | undefined {
  if (client === "user" || client === "server" || !before || !after) return undefined;
  if (resource === "secrets" && !sameJson(usersPart(before), usersPart(after))) return `${client} changed secret ${key}`;
  if (resource === "configmaps" && noteOf(before) !== noteOf(after)) return `${client} lost the note on ${key}`;
  return undefined;
}

function usersPart({ metadata, ...rest }: JsonObject): JsonObject {
  const { labels = null, annotations = null } = objectOr(metadata);
  return { ...rest, labels, annotations };
}

function noteOf(object: JsonObject): unknown {
  return objectOr(objectOr(object["metadata"])["annotations"])[note];
}

function nameOf(object: JsonObject): string {
  return stringOr(objectOr(object["metadata"])["name"], "");
}
