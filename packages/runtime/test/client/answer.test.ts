// Writes that ask for metadata alone, on a real API server: what comes back, what is stored, and what does not change by asking.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import {
  type Answer,
  apiVersionOf,
  type Client,
  ConfigMap,
  crdOf,
  createClient,
  createHttpTransport,
  defineCustomKind,
  isApiError,
  type Kind,
  type KubeObject,
  loadConfig,
  Namespace,
  type ObjectMeta,
  type ObjectOf,
  Secret,
  type Stored,
} from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { trackAnswers, type WriteRecord } from "../../src/controller/run.ts";

const Note = defineCustomKind({
  group: "answers.example",
  kind: "Note",
  scope: "Namespaced",
  versions: [{ name: "v1", spec: z.object({ text: z.string() }), status: z.object({ reader: z.string().optional() }) }],
});
type Note = ObjectOf<typeof Note>;

const cluster = useSharedCluster();
const finalizers = ["answers.example/hold"];
const fieldManager = "answers";
const answer = "metadata";

beforeAll(async () => {
  await cluster().apply([crdOf(Note)]);
  // A CRD is said to be established a moment before its kind is served.
  await soon(() => cluster().client.list(Note));
});

/** A kind, and two contents that its objects can have. */
interface Sort {
  readonly kind: Kind;
  readonly first: object;
  readonly second: object;
}

const sorts: readonly Sort[] = [
  { kind: ConfigMap, first: { data: { key: "one" } }, second: { data: { key: "two" } } },
  { kind: Secret, first: { data: { key: "b25l" } }, second: { data: { key: "dHdv" } } },
  { kind: Note, first: { spec: { text: "one" } }, second: { spec: { text: "two" } } },
];

/** An object of a kind that is named at run time only. */
const objectOf = (metadata: ObjectMeta, content: object = {}): KubeObject => ({ ...content, metadata });

/** Expects the answer to be what is stored, less all but the metadata, and less the notes of who wrote which field. */
async function expectMetadataOf(kind: Kind, answered: Stored<KubeObject>): Promise<void> {
  const stored = await cluster().client.get(kind, answered.metadata);
  const { managedFields, ...metadata } = stored?.metadata ?? {};
  expect(managedFields).toBeDefined();
  expect(answered).toEqual({ apiVersion: apiVersionOf(kind), kind: kind.kind, metadata });
}

describe.each(sorts)("a write of a $kind.kind is answered with metadata alone", ({ kind, first, second }) => {
  it("when it creates, replaces, applies or patches", async () => {
    const { client } = cluster();
    const name = { namespace: await cluster().namespace("answers"), name: "thing" };
    const created = await client.create(kind, objectOf({ ...name, labels: { app: "x" } }, first), { fieldManager, answer });
    expect(created.metadata.labels).toEqual({ app: "x" });
    await expectMetadataOf(kind, created);
    const { resourceVersion } = created.metadata;
    const replaced = await client.replace(kind, objectOf({ ...name, resourceVersion }, second), { fieldManager, answer });
    expect(replaced.metadata.resourceVersion).not.toBe(resourceVersion);
    await expectMetadataOf(kind, replaced);
    expect(await client.get(kind, name)).toMatchObject(second);
    await expectMetadataOf(kind, await client.apply(kind, objectOf(name, first), { fieldManager, force: true, answer }));
    expect(await client.get(kind, name)).toMatchObject(first);
    await expectMetadataOf(kind, await client.mergePatch(kind, name, second, { answer }));
    expect(await client.get(kind, name)).toMatchObject(second);
    const annotations = [{ op: "add", path: "/metadata/annotations", value: { note: "1" } }] as const;
    const patched = await client.jsonPatch(kind, name, annotations, { answer });
    expect(patched.metadata.annotations).toEqual({ note: "1" });
    await expectMetadataOf(kind, patched);
    await expectMetadataOf(kind, await client.apply(kind, objectOf({ ...name, name: "new" }, first), { fieldManager, answer }));
  });

  it("on a dry run, which stores nothing", async () => {
    const { client } = cluster();
    const name = { namespace: await cluster().namespace("answers"), name: "thing" };
    const created = await client.create(kind, objectOf(name, first), { dryRun: true, answer });
    expect(Object.keys(created).sort()).toEqual(["apiVersion", "kind", "metadata"]);
    expect(await client.get(kind, name)).toBeUndefined();
    const stored = await client.create(kind, objectOf(name, first));
    const applied = await client.apply(kind, objectOf({ ...name, labels: { app: "y" } }, second), {
      fieldManager,
      force: true,
      dryRun: true,
      answer,
    });
    expect(Object.keys(applied).sort()).toEqual(["apiVersion", "kind", "metadata"]);
    expect(applied.metadata.labels).toEqual({ app: "y" });
    expect(await client.get(kind, name)).toEqual(stored);
  });

  it("when it deletes an object that waits, and it is known when that is gone", async () => {
    const records: WriteRecord[] = [];
    const tracked = trackAnswers(cluster().client, (record) => records.push(record));
    const name = { namespace: await cluster().namespace("answers"), name: "thing" };
    const created = await tracked.create(kind, objectOf({ ...name, finalizers, labels: { app: "x" } }, first), { answer });
    const waiting = await tracked.delete(kind, name, { answer });
    if (!waiting) throw new Error("the finalizer should hold it");
    expect(waiting.metadata.deletionTimestamp).toBeDefined();
    await expectMetadataOf(kind, waiting);
    await tracked.jsonPatch(kind, name, [{ op: "remove", path: "/metadata/finalizers" }], { answer });
    expect(await tracked.get(kind, name)).toBeUndefined();
    await tracked.create(kind, objectOf(name, first), { answer });
    expect(await tracked.delete(kind, name, { answer })).toBeUndefined();
    expect(await tracked.get(kind, name)).toBeUndefined();
    const { uid, resourceVersion } = created.metadata;
    expect(records).toMatchObject([
      { type: "written", uid, resourceVersion, labels: { app: "x" } },
      { type: "written", uid, resourceVersion: waiting.metadata.resourceVersion, labels: { app: "x" } },
      { type: "deleted", uid },
      { type: "written" },
      { type: "deleted" },
    ]);
  });
});

it("a write of the status is answered with metadata alone", async () => {
  const { client } = cluster();
  const name = { namespace: await cluster().namespace("answers"), name: "thing" };
  await client.create<Note>(Note, { metadata: name, spec: { text: "one" } });
  const options = { fieldManager, subresource: "status", answer } as const;
  const reader = async (): Promise<string | undefined> => (await client.get<Note>(Note, name))?.status?.reader;
  await expectMetadataOf(Note, await client.apply<KubeObject, "metadata">(Note, objectOf(name, { status: { reader: "ann" } }), options));
  expect(await reader()).toBe("ann");
  await expectMetadataOf(Note, await client.mergePatch(Note, name, { status: { reader: "bob" } }, options));
  expect(await reader()).toBe("bob");
  await expectMetadataOf(Note, await client.jsonPatch(Note, name, [{ op: "replace", path: "/status/reader", value: "cid" }], options));
  expect(await reader()).toBe("cid");
});

it("a Namespace that is asked to go is not taken for one that is gone", async () => {
  const records: WriteRecord[] = [];
  const tracked = trackAnswers(cluster().client, (record) => records.push(record));
  const name = await cluster().namespace("answers");
  const waiting = await tracked.delete(Namespace, { name }, { answer });
  expect(waiting?.metadata.deletionTimestamp).toBeDefined();
  expect(records).toMatchObject([{ type: "written", key: name, resourceVersion: waiting?.metadata.resourceVersion }]);
});

describe("errors are the same, whatever answer was asked for", () => {
  const uid = "00000000-0000-4000-8000-000000000000";
  const failing: readonly (readonly [code: string, write: (client: Client, namespace: string, answer: Answer) => Promise<unknown>])[] = [
    ["AlreadyExists", (client, namespace, answer) => client.create(Secret, { metadata: { namespace, name: "there" } }, { answer })],
    ["Conflict", (client, namespace, answer) => client.replace(Secret, { metadata: { namespace, name: "there", resourceVersion: "2" } }, { answer })],
    ["Conflict", (client, namespace, answer) => client.apply(Secret, { metadata: { namespace, name: "there", uid } }, { fieldManager, answer })],
    [
      "Conflict",
      (client, namespace, answer) =>
        client.jsonPatch(Secret, { namespace, name: "there" }, [{ op: "test", path: "/metadata/uid", value: uid }], { answer }),
    ],
    ["Conflict", (client, namespace, answer) => client.delete(Secret, { namespace, name: "there" }, { uid, answer })],
    ["Invalid", (client, namespace, answer) => client.mergePatch(Secret, { namespace, name: "there" }, { data: { "no/key": "" } }, { answer })],
    ["BadRequest", (client, namespace, answer) => client.create(Note, objectOf({ namespace, name: "n" }, { spec: { txt: "" } }), { answer })],
    [
      "BadRequest",
      (client, namespace, answer) => client.apply(Note, objectOf({ namespace, name: "n" }, { spec: { txt: "" } }), { fieldManager, answer }),
    ],
    ["NotFound", (client, namespace, answer) => client.mergePatch(Secret, { namespace, name: "none" }, {}, { answer })],
  ];

  it.each(failing)("%s", async (code, write) => {
    const { client } = cluster();
    const namespace = await cluster().namespace("answers");
    await client.create(Secret, { metadata: { namespace, name: "there" } });
    const failures = await Promise.all(
      (["object", "metadata"] as const).map((asked) => write(client, namespace, asked).catch((error: unknown) => error)),
    );
    expect(failures).toMatchObject([
      { name: "ApiError", code },
      { name: "ApiError", code },
    ]);
    const [asObject, asMetadata] = failures;
    expect(String(asMetadata)).toBe(String(asObject));
    expect(asObject).toHaveProperty("body", isApiError(asMetadata) && asMetadata.body);
  });
});

describe("rights", () => {
  const opened: { close(): void }[] = [];
  afterAll(() => {
    for (const transport of opened) transport.close();
  });

  it("to write are enough: who may not read is answered all the same", async () => {
    const namespace = await cluster().namespace("answers");
    const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["create", "update", "patch", "delete"] }];
    const kubeconfig = await cluster().kubeconfigFor({ serviceAccount: { namespace, name: "writer" }, namespacedRules: { [namespace]: rules } });
    const transport = createHttpTransport(await loadConfig({ kubeconfig, env: {} }));
    opened.push(transport);
    const writer = createClient(transport);
    const name = { namespace, name: "thing" };
    await expect(writer.get(Secret, name)).rejects.toMatchObject({ code: "Forbidden" });
    const written = [
      await writer.create(Secret, { metadata: name }, { answer }),
      await writer.replace(Secret, { metadata: name, data: { key: "b25l" } }, { answer }),
      await writer.apply(Secret, { metadata: name, data: { key: "dHdv" } }, { fieldManager, force: true, answer }),
      await writer.mergePatch(Secret, name, { metadata: { finalizers } }, { answer }),
      await writer.jsonPatch(Secret, name, [{ op: "add", path: "/metadata/labels", value: { app: "x" } }], { answer }),
      await writer.delete(Secret, name, { answer }),
      await writer.mergePatch(Secret, name, { metadata: { finalizers: null } }, { answer }),
    ];
    for (const object of written) expect(Object.keys(object ?? {}).sort()).toEqual(["apiVersion", "kind", "metadata"]);
  });
});
