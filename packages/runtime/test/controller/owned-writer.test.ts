// Owned writes on a real API server: created, updated, left alone, never taken from others.
import { describe, expect, it } from "vitest";
import { ConfigMap, type Client, NameConflictError, ownedWriter, type OwnedWriter } from "@keyturn/runtime";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";

const operator = { name: "demo", domain: "demo.example" };
const kind = { group: "demo.example", version: "v1", kind: "Widget", plural: "widgets", namespaced: true } as const;
const signal = new AbortController().signal;

const cluster = useSharedCluster();

function writerFor(namespace: string, name: string, through: Client = cluster().client): OwnedWriter {
  return ownedWriter({ client: through, operator, controller: "widgets", owner: { kind, name: { namespace, name } }, signal });
}

const configMap = (namespace: string, data: Record<string, string>) => ({ metadata: { namespace, name: "thing" }, data });

describe("an owned writer", () => {
  it("creates an object with its mark, and sends nothing when nothing changed", async () => {
    const { client } = cluster();
    const namespace = await cluster().namespace("owned");
    const writer = writerFor(namespace, "one");
    expect(await writer.apply(ConfigMap, configMap(namespace, { a: "1" }))).toBe("created");
    const created = await client.get(ConfigMap, { namespace, name: "thing" });
    expect(created?.metadata.labels).toEqual({ "app.kubernetes.io/managed-by": "demo" });
    expect(created?.metadata.annotations?.["demo.example/owner"]).toBe(`widgets.demo.example/${namespace}/one`);

    expect(await writer.apply(ConfigMap, configMap(namespace, { a: "1" }))).toBe("unchanged");
    const after = await client.get(ConfigMap, { namespace, name: "thing" });
    expect(after?.metadata.resourceVersion).toBe(created?.metadata.resourceVersion);
  });

  it("removes a field that is no longer wanted, and keeps what others added", async () => {
    const { client } = cluster();
    const namespace = await cluster().namespace("owned");
    const writer = writerFor(namespace, "one");
    await writer.apply(ConfigMap, configMap(namespace, { a: "1", b: "2" }));
    await client.mergePatch(ConfigMap, { namespace, name: "thing" }, { metadata: { labels: { team: "shop" } } }, { fieldManager: "someone" });
    expect(await writer.apply(ConfigMap, configMap(namespace, { a: "1" }))).toBe("updated");
    const after = await client.get(ConfigMap, { namespace, name: "thing" });
    expect(after?.data).toEqual({ a: "1" });
    expect(after?.metadata.labels).toMatchObject({ team: "shop" });
  });

  it("repairs what others changed", async () => {
    const { client } = cluster();
    const namespace = await cluster().namespace("owned");
    const writer = writerFor(namespace, "one");
    await writer.apply(ConfigMap, configMap(namespace, { a: "1" }));
    await client.mergePatch(ConfigMap, { namespace, name: "thing" }, { data: { a: "changed" } }, { fieldManager: "someone" });
    expect(await writer.apply(ConfigMap, configMap(namespace, { a: "1" }))).toBe("updated");
    expect((await client.get(ConfigMap, { namespace, name: "thing" }))?.data).toEqual({ a: "1" });
  });

  it("leaves an object that somebody else made exactly as it is", async () => {
    const { client } = cluster();
    const namespace = await cluster().namespace("owned");
    const foreign = await client.create(ConfigMap, configMap(namespace, { theirs: "yes" }));
    const writer = writerFor(namespace, "one");
    await expect(writer.apply(ConfigMap, configMap(namespace, { a: "1" }))).rejects.toThrow(NameConflictError);
    expect(await writer.remove(ConfigMap, { namespace, name: "thing" })).toBe(false);
    expect(await client.get(ConfigMap, { namespace, name: "thing" })).toEqual(foreign);
  });

  it("leaves another owner's object exactly as it is, and says whose it is", async () => {
    const { client } = cluster();
    const namespace = await cluster().namespace("owned");
    await writerFor(namespace, "one").apply(ConfigMap, configMap(namespace, { a: "1" }));
    const before = await client.get(ConfigMap, { namespace, name: "thing" });
    const two = writerFor(namespace, "two");
    await expect(two.apply(ConfigMap, configMap(namespace, { a: "2" }))).rejects.toThrow(`it belongs to widgets.demo.example/${namespace}/one`);
    expect(await two.remove(ConfigMap, { namespace, name: "thing" })).toBe(false);
    expect(await client.get(ConfigMap, { namespace, name: "thing" })).toEqual(before);
  });

  it("creates with one request what no cache shows, and touches nothing if the name is taken all the same", async () => {
    const { client } = cluster();
    const namespace = await cluster().namespace("owned");
    const reads: string[] = [];
    const counting: Client = {
      ...client,
      get: (...call) => {
        reads.push(call[1].name);
        return client.get(...call);
      },
    };
    const writer = writerFor(namespace, "one", counting);
    expect(await writer.apply(ConfigMap, configMap(namespace, { a: "1" }), { seen: "absent" })).toBe("created");
    expect(reads).toEqual([]);
    const created = await client.get(ConfigMap, { namespace, name: "thing" });
    // A cache that is behind: the object is there, and ours.
    expect(await writer.apply(ConfigMap, configMap(namespace, { a: "1" }), { seen: "absent" })).toBe("unchanged");
    expect(await writer.apply(ConfigMap, configMap(namespace, { b: "2" }), { seen: "absent" })).toBe("updated");
    expect(created?.metadata.managedFields?.map(({ operation }) => operation)).toEqual(["Apply"]);

    const foreign = await client.create(ConfigMap, { metadata: { namespace, name: "foreign" }, data: { theirs: "yes" } });
    const wanted = { metadata: { namespace, name: "foreign" }, data: { a: "1" } };
    await expect(writer.apply(ConfigMap, wanted, { seen: "absent" })).rejects.toThrow(NameConflictError);
    expect(await client.get(ConfigMap, { namespace, name: "foreign" })).toEqual(foreign);
  });

  it("told to create and nothing else, writes nothing to an object of its own that it did not know of", async () => {
    const { client } = cluster();
    const namespace = await cluster().namespace("owned");
    const writer = writerFor(namespace, "one");
    expect(await writer.apply(ConfigMap, configMap(namespace, { a: "1" }), { seen: "absent", createOnly: true })).toBe("created");
    await expect(writer.apply(ConfigMap, configMap(namespace, { a: "2" }), { seen: "absent", createOnly: true })).rejects.toMatchObject({
      code: "Transient",
      reason: "Conflict",
    });
    expect((await client.get(ConfigMap, { namespace, name: "thing" }))?.data).toEqual({ a: "1" });
    await expect(writerFor(namespace, "two").apply(ConfigMap, configMap(namespace, {}), { seen: "absent", createOnly: true })).rejects.toThrow(
      NameConflictError,
    );
  });

  it("does not bring back an object that was deleted after it was seen", async () => {
    const { client } = cluster();
    const namespace = await cluster().namespace("owned");
    const writer = writerFor(namespace, "one");
    await writer.apply(ConfigMap, configMap(namespace, { a: "1" }));
    const object = await client.get(ConfigMap, { namespace, name: "thing" });
    await client.delete(ConfigMap, { namespace, name: "thing" });
    if (!object) throw new Error("the object was just written");
    await expect(
      writer.apply(ConfigMap, configMap(namespace, { a: "2" }), { seen: "present", object, uid: object.metadata.uid }),
    ).rejects.toMatchObject({ code: "Conflict" });
    expect(await client.get(ConfigMap, { namespace, name: "thing" })).toBeUndefined();
  });

  it("given the version that was seen, writes nothing to an object that has changed since", async () => {
    const { client } = cluster();
    const namespace = await cluster().namespace("owned");
    const writer = writerFor(namespace, "one");
    await writer.apply(ConfigMap, configMap(namespace, { a: "1" }));
    const object = await client.get(ConfigMap, { namespace, name: "thing" });
    if (!object) throw new Error("the object was just written");
    const seen = { seen: "present", object, uid: object.metadata.uid, resourceVersion: object.metadata.resourceVersion } as const;
    expect(await writer.apply(ConfigMap, configMap(namespace, { a: "2" }), seen)).toBe("updated");
    await expect(writer.apply(ConfigMap, configMap(namespace, { a: "3" }), seen)).rejects.toMatchObject({ code: "Conflict" });
    expect((await client.get(ConfigMap, { namespace, name: "thing" }))?.data).toEqual({ a: "2" });
  });

  it("deletes its own", async () => {
    const { client } = cluster();
    const namespace = await cluster().namespace("owned");
    const writer = writerFor(namespace, "one");
    await writer.apply(ConfigMap, configMap(namespace, { a: "1" }));
    expect(await writer.remove(ConfigMap, { namespace, name: "thing" })).toBe(true);
    expect(await client.get(ConfigMap, { namespace, name: "thing" })).toBeUndefined();
  });
});
