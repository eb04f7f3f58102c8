// What was applied, and has not changed, is not sent again, and what somebody has changed is: for objects of every built-in kind, as the real API server stores them.
import * as fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { useCluster } from "@keyturn/runtime/testing/vitest";
import { isApiError } from "../../src/client/api-error.ts";
import { defineKind, type Kind, type KubeObject, type ObjectName, type Stored } from "../../src/client/kind.ts";
import { marked, type Operator, ownedWriter, withAppliedDigest } from "../../src/controller/owned-objects.ts";
import { asSent, isSame, saysAll } from "../../src/controller/stored-form.ts";
import { isRecord } from "../../src/json.ts";
import { chance, drawInt, type Random, seededRandom } from "../../src/random.ts";
import { anyMetadata, otherObjects } from "./generated-objects.ts";
import { type Fields, type Generated, workloads } from "./generated-workloads.ts";

/** `SEED=7 OBJECTS=200` for others, or for more of them. */
const objectsOfEach = Number(process.env["OBJECTS"] ?? 12);
const seed = Number(process.env["SEED"] ?? 7);
const generated: Readonly<Record<string, Generated>> = { ...workloads, ...otherObjects };
const operator: Operator = { name: "demo", domain: "demo.example" };

// One of its own: some of what is made here would be in the way of others, such as an APIService that nobody serves.
const cluster = useCluster();
let namespace: string;
beforeAll(async () => {
  namespace = await cluster().namespace("unchanged");
  await cluster().apply([{ apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name: "default" } }]);
});

/** Kinds that can be applied, by apiVersion and plural, in the version that the server prefers and every other that it has of them. */
async function servedKinds(): Promise<ReadonlyMap<string, Kind>> {
  const { client } = cluster();
  const { groups } = (await client.request({ method: "GET", path: "/apis" })) as { groups: { versions: { groupVersion: string }[] }[] };
  const kinds = new Map<string, Kind>();
  for (const groupVersion of ["v1", ...groups.flatMap(({ versions }) => versions.map((version) => version.groupVersion))]) {
    const path = groupVersion === "v1" ? "/api/v1" : `/apis/${groupVersion}`;
    const { resources } = (await client.request({ method: "GET", path })) as {
      resources: { name: string; kind: string; namespaced: boolean; verbs: string[] }[];
    };
    const [version = "", group = ""] = groupVersion.split("/").toReversed();
    for (const { name: plural, kind, namespaced, verbs } of resources)
      if (!plural.includes("/") && verbs.includes("create") && verbs.includes("patch"))
        kinds.set(`${groupVersion}/${plural}`, defineKind({ group, version, kind, plural, namespaced }));
  }
  return kinds;
}

/** The objects of one kind, in the form in which they are applied. */
function objectsOf(id: string, kind: Kind): readonly KubeObject[] {
  const { fields, name = `${namespace}-#` } = generated[id] ?? {};
  if (!fields) throw new Error(`there is nothing to make of ${id}`);
  return fc.sample(fc.tuple(fields, anyMetadata), { numRuns: objectsOfEach, seed }).map(([content, metadata], index) => {
    const place = { name, ...(kind.namespaced && { namespace }) };
    const object: KubeObject = { metadata: { ...place, ...metadata }, ...content };
    return JSON.parse(
      JSON.stringify(object)
        .replaceAll("#", String(index + 1))
        .replaceAll("@", namespace),
    );
  });
}

function nameIn({ metadata: { name = "", namespace: of } }: KubeObject): ObjectName {
  return { name, ...(of !== undefined && { namespace: of }) };
}

function writerOf(kind: Kind): ReturnType<typeof ownedWriter> {
  const owner = { kind, name: { name: "owner", ...(kind.namespaced && { namespace }) } };
  return ownedWriter({ client: cluster().client, operator, controller: "c", owner, signal: AbortSignal.timeout(500_000) });
}

/** What an edit of others can change, and an apply: the status is neither's, and changes by itself. */
function contentsOf({ metadata, ...rest }: KubeObject): object {
  const { status: ____, ...contents }: Fields = rest;
  const { managedFields: _, resourceVersion: __, generation: ___, ...named } = metadata;
  return { ...contents, metadata: named };
}

const shown = (value: unknown): string => JSON.stringify(value);

describe("apply, read, apply again sends nothing; apply, edit, apply sends what the edit has changed", () => {
  const tally = { restored: 0, left: 0 };
  /** What the two disagree about: all of it, because there is a reason for each kind of field. */
  const wrong: string[] = [];

  it("of every kind that the API server stores", async ({ annotate }) => {
    const kinds = await servedKinds();
    // The oldest Kubernetes that is supported serves fewer.
    expect([...kinds.keys()].filter((id) => !(id in generated))).toEqual([]);
    for (const [id, kind] of kinds) {
      for (const [index, object] of objectsOf(id, kind).entries()) await tryOne(kind, object, seededRandom(seed * 1000 + index));
    }
    await annotate(JSON.stringify(tally));
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(tally.restored).toBeGreaterThan(objectsOfEach);
    expect(tally.left).toBeGreaterThan(objectsOfEach);
  });

  async function tryOne(kind: Kind, object: KubeObject, random: Random): Promise<void> {
    const { client } = cluster();
    const writer = writerOf(kind);
    const refused = await writer.apply(kind, object).then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (refused !== undefined) return void wrong.push(`refused: ${refused}: ${shown(object)}`);
    const read = async (): Promise<Stored<KubeObject>> => {
      const live = await client.get(kind, nameIn(object));
      if (!live) throw new Error(`${kind.kind} ${object.metadata.name} is gone`);
      return live;
    };
    const live = await read();
    const again = await writer.apply(kind, object, { seen: "present", object: live, uid: live.metadata.uid });
    if (again !== "unchanged") wrong.push(`applied again: ${shown(object)}\nis stored as ${shown(contentsOf(live))}`);
    for (let edits = 0; edits < 4; edits++) await tryEdit(kind, object, { live: await read(), random });
    await client.delete(kind, nameIn(object));
  }

  /** Somebody edits the object; whether the edit is to be taken back, the API server is asked. */
  async function tryEdit(
    kind: Kind,
    object: KubeObject,
    { live, random }: { readonly live: Stored<KubeObject>; readonly random: Random },
  ): Promise<void> {
    const { client } = cluster();
    const owner = { kind, name: { name: "owner", ...(kind.namespaced && { namespace }) } };
    const wanted = withAppliedDigest(marked(asSent(kind, object), operator, owner), operator);
    const edited = edit(live, random);
    const after = await client.replace(kind, edited, { fieldManager: "somebody" }).catch(refusal);
    const wouldBe = after && (await client.apply(kind, wanted, { fieldManager: "demo-c", force: true, dryRun: true }).catch(refusal));
    if (!after || !wouldBe) return;
    const unchanged = isSame(contentsOf(after), contentsOf(wouldBe));
    tally[unchanged ? "left" : "restored"]++;
    if (saysAll(kind, after, wanted) !== unchanged)
      wrong.push(
        `${unchanged ? "needlessly applied" : "not restored"}: ${shown(wanted)}\nstands as ${shown(contentsOf(after))}\napplied: ${shown(contentsOf(wouldBe))}`,
      );
    if (!unchanged) await client.apply(kind, wanted, { fieldManager: "demo-c", force: true });
  }
});

function refusal(error: unknown): undefined {
  // A 500 too: to a list that holds the same key twice nothing can be applied.
  if (!isApiError(error, "Invalid", "BadRequest", "Conflict", "Forbidden", "ServerError")) throw error;
}

// What people do to objects: something is taken away, put in, changed or moved, at one place.

function edit(live: Stored<KubeObject>, random: Random): Stored<KubeObject> {
  const { apiVersion, kind, metadata, ...contents } = structuredClone(live);
  const places = placesIn(contents);
  const place = places[drawInt(random, [0, places.length - 1])];
  place?.(random);
  return { apiVersion, kind, metadata, ...contents } as Stored<KubeObject>;
}

/** Ways to edit, one for each place in the contents. */
function placesIn(value: unknown): readonly ((random: Random) => void)[] {
  if (Array.isArray(value)) {
    return [(random) => editList(value, random), ...value.flatMap(placesIn)];
  }
  if (!isRecord(value)) return [];
  return [(random) => editMembers(value, random), ...Object.values(value).flatMap(placesIn)];
}

function editList(list: unknown[], random: Random): void {
  const at = drawInt(random, [0, Math.max(0, list.length - 1)]);
  if (list.length > 1 && chance(random, 0.3)) list.reverse();
  else if (list.length > 0 && chance(random, 0.4)) list.splice(at, 1);
  else if (list.length > 0) list.splice(at, 0, renamed(list[at], random));
  else list.push(chance(random, 0.5) ? "x" : {});
}

/** Another like it. */
function renamed(item: unknown, random: Random): unknown {
  if (typeof item === "string") return `${item}x`;
  if (!isRecord(item)) return item;
  const names = Object.keys(item);
  const name =
    ["name", "key", "ip", "port", "containerPort", "mountPath", "host"].find((each) => each in item) ?? names[drawInt(random, [0, names.length - 1])];
  return name === undefined ? item : { ...item, [name]: another(item[name]) };
}

function another(value: unknown): unknown {
  if (typeof value === "number") return value + 1;
  if (typeof value === "boolean") return !value;
  return typeof value === "string" ? `${value}x` : value;
}

/** Members that objects have anywhere, to be put where they are not. */
const additions: readonly (readonly [string, unknown])[] = [
  ["namespaceSelector", {}],
  ["podSelector", {}],
  ["matchLabels", { more: "1" }],
  ["more", "1"],
  ["matchExpressions", [{ key: "more", operator: "Exists" }]],
  ["optional", true],
  ["readOnly", true],
  ["mode", 256],
  ["endPort", 9000],
  ["tolerationSeconds", 5],
  ["resourceNames", ["more"]],
  ["hostname", "more"],
  ["namespaces", ["more"]],
  ["except", ["10.1.0.0/16"]],
  ["description", "more"],
  ["value", "more"],
  ["image", "example.com/more:1"],
  ["memory", "2Gi"],
];

function editMembers(record: Record<string, unknown>, random: Random): void {
  const names = Object.keys(record);
  const name = names[drawInt(random, [0, Math.max(0, names.length - 1)])];
  const [added, value] = additions[drawInt(random, [0, additions.length - 1])] ?? ["more", "1"];
  const way = name === undefined ? 0 : drawInt(random, [0, 3]);
  if (way < 2 || name === undefined) record[added] = structuredClone(value);
  else if (way === 2) delete record[name];
  else record[name] = another(record[name]);
}
