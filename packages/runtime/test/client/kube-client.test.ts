// The client against a real API server: what our contracts say about writes must be what Kubernetes does.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useSharedApiServer } from "@keyturn/runtime/testing/vitest";
import { isApiError, type ApiErrorCode } from "../../src/client/api-error.ts";
import { loadConfig } from "../../src/client/auth/load-config.ts";
import { ConfigMap, CustomResourceDefinition, Lease, Namespace, SelfSubjectAccessReview, Service } from "../../src/client/builtin-kinds.ts";
import type { Client } from "../../src/client/client.ts";
import { createHttpTransport } from "../../src/client/http/http-transport.ts";
import { defineKind, type KubeObject, type Stored } from "../../src/client/kind.ts";
import { createClient } from "../../src/client/kube-client.ts";
import { formatMicroTime } from "../../src/manager/lease-state.ts";
import { observeTransport, type RequestObservation } from "../../src/client/observed-transport.ts";
import { trackAnswers, type WriteRecord } from "../../src/controller/run.ts";
import type { Transport } from "../../src/client/transport.ts";
import { systemClock } from "../../src/clock.ts";

const cluster = useSharedApiServer();
let transport: Transport;
let client: Client;
const observed: RequestObservation[] = [];
const opened: Transport[] = [];

async function open(kubeconfig: string): Promise<Transport> {
  const transport = createHttpTransport(await loadConfig({ kubeconfig, env: {} }));
  opened.push(transport);
  return transport;
}

beforeAll(async () => {
  transport = observeTransport(await open(cluster().adminKubeconfig), { clock: systemClock, onRequest: (request) => observed.push(request) });
  client = createClient(transport);
});

afterAll(async () => {
  for (const transport of opened) transport.close();
});

const namespace = "default";
const configMap = (name: string, data: Readonly<Record<string, string>> = {}, metadata: object = {}): ConfigMap => ({
  metadata: { namespace, name, ...metadata },
  data,
});
const fails = async (work: Promise<unknown>, code: ApiErrorCode): Promise<string> => {
  const error = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(error).toMatchObject({ name: "ApiError", code });
  return error instanceof Error ? error.message : "";
};

/** A CRD is served a moment after it is stored. */
const notServedYet = (error: unknown): undefined => {
  if (!isApiError(error, "NotFound")) throw error;
};

describe("reads and writes", () => {
  it("creates, gets, replaces, patches and deletes", async () => {
    const created = await client.create(ConfigMap, configMap("crud", { a: "1" }));
    expect(created).toMatchObject({ apiVersion: "v1", kind: "ConfigMap", data: { a: "1" } });
    expect(await client.get(ConfigMap, { namespace, name: "crud" })).toEqual(created);
    const replaced = await client.replace(ConfigMap, { ...created, data: { a: "2" } });
    await fails(client.replace(ConfigMap, { ...created, data: { a: "3" } }), "Conflict");
    const patched = await client.mergePatch(ConfigMap, { namespace, name: "crud" }, { data: { b: "1" } });
    expect(patched.data).toEqual({ a: "2", b: "1" });
    expect(patched.metadata.resourceVersion).not.toBe(replaced.metadata.resourceVersion);
    expect(await client.delete(ConfigMap, { namespace, name: "crud" })).toBeUndefined();
    expect(await client.get(ConfigMap, { namespace, name: "crud" })).toBeUndefined();
    expect(await client.delete(ConfigMap, { namespace, name: "crud" })).toBeUndefined();
  });

  it("merges what is given, takes away what is null, and replaces lists", async () => {
    const name = { namespace, name: "merged" };
    const finalizers = ["test.keyturn.io/one", "test.keyturn.io/two"];
    await client.create(ConfigMap, configMap("merged", { a: "1", b: "1" }, { labels: { x: "1", y: "1" }, finalizers }));
    const { data, metadata } = await client.mergePatch(ConfigMap, name, {
      metadata: { labels: { x: null, none: null }, annotations: { n: "1" } },
      data: { a: null, c: "1" },
    });
    expect(data).toEqual({ b: "1", c: "1" });
    expect(metadata).toMatchObject({ labels: { y: "1" }, annotations: { n: "1" }, finalizers });
    const fewer = await client.mergePatch(ConfigMap, name, { metadata: { finalizers: ["test.keyturn.io/three"] } });
    expect(fewer.metadata.finalizers).toEqual(["test.keyturn.io/three"]);
    const none = await client.mergePatch(ConfigMap, name, { metadata: { finalizers: null }, data: null, binaryData: { d: "MQ==" } });
    expect(none).toMatchObject({ binaryData: { d: "MQ==" } });
    expect([none.metadata.finalizers, none.data]).toEqual([undefined, undefined]);
    await fails(client.mergePatch(ConfigMap, name, { metadata: { resourceVersion: fewer.metadata.resourceVersion }, data: {} }), "Conflict");
    await fails(client.mergePatch(ConfigMap, { namespace, name: "nothing" }, {}), "NotFound");
  });

  it("tells a taken name from a conflict", async () => {
    await client.create(ConfigMap, configMap("taken"));
    expect(await fails(client.create(ConfigMap, configMap("taken")), "AlreadyExists")).toMatch(/^create configmaps default\/taken: /);
  });

  it("stores nothing on a dry run", async () => {
    await client.create(ConfigMap, configMap("dry"), { dryRun: true });
    await client.apply(ConfigMap, configMap("dry"), { fieldManager: "test", dryRun: true });
    expect(await client.get(ConfigMap, { namespace, name: "dry" })).toBeUndefined();
  });

  it("throws for a kind that is not served, instead of calling its objects absent", async () => {
    const Widget = defineKind({ group: "example.org", version: "v1", kind: "Widget", plural: "widgets", namespaced: true });
    expect(await fails(client.get(Widget, { namespace, name: "x" }), "NotFound")).toMatch(/^get widgets\.example\.org default\/x: 404/);
    await fails(client.list(Widget), "NotFound");
    await fails(client.delete(Widget, { namespace, name: "x" }), "NotFound");
  });

  it("answers reviews, and does not record them as writes", async () => {
    const records: WriteRecord[] = [];
    const review = { metadata: {}, spec: { resourceAttributes: { resource: "secrets", verb: "list" } } };
    const answer = await trackAnswers(client, (record) => records.push(record)).create(SelfSubjectAccessReview, review);
    expect(answer.status?.allowed).toBe(true);
    expect(records).toEqual([]);
  });

  it("writes Lease times that the server takes and keeps", async () => {
    const time = formatMicroTime(Date.UTC(2026, 0, 2, 3, 4, 5, 6) + 0.007);
    const lease = await client.create(Lease, { metadata: { namespace, name: "times" }, spec: { renewTime: time } });
    expect(lease.spec?.renewTime).toBe("2026-01-02T03:04:05.006007Z");
    await fails(client.create(Lease, { metadata: { namespace, name: "millis" }, spec: { renewTime: "2026-01-02T03:04:05.006Z" } }), "BadRequest");
  });
});

describe("apply", () => {
  it("conflicts over another manager's field, and takes it over when forced", async () => {
    await client.apply(ConfigMap, configMap("owned", { a: "1" }), { fieldManager: "one" });
    const message = await fails(client.apply(ConfigMap, configMap("owned", { a: "2" }), { fieldManager: "two" }), "Conflict");
    expect(message).toContain('conflict with "one"');
    const forced = await client.apply(ConfigMap, configMap("owned", { a: "2" }), { fieldManager: "two", force: true });
    expect(forced.data).toEqual({ a: "2" });
  });

  it("with a uid never touches another object, and never makes one", async () => {
    const uid = "00000000-0000-4000-8000-000000000000";
    await fails(client.apply(ConfigMap, configMap("by-uid", {}, { uid }), { fieldManager: "test" }), "Conflict");
    expect(await client.get(ConfigMap, { namespace, name: "by-uid" })).toBeUndefined();
    const created = await client.create(ConfigMap, configMap("by-uid"));
    await fails(client.apply(ConfigMap, configMap("by-uid", { a: "1" }, { uid }), { fieldManager: "test" }), "Conflict");
    const applied = await client.apply(ConfigMap, configMap("by-uid", { a: "1" }, { uid: created.metadata.uid }), { fieldManager: "test" });
    expect(applied.data).toEqual({ a: "1" });
  });

  it("is refused for fields that the kind does not have, unless told not to mind", async () => {
    const odd: ConfigMap & { readonly dtaa: object } = { ...configMap("odd"), dtaa: {} };
    expect(await fails(client.apply(ConfigMap, odd, { fieldManager: "test" }), "BadRequest")).toMatch(/dtaa|field not declared in schema/);
    expect(await fails(client.create(ConfigMap, odd), "BadRequest")).toContain('unknown field "dtaa"');
    const lenient = createClient(transport, { fieldValidation: "Ignore" });
    expect(await lenient.create(ConfigMap, odd)).not.toHaveProperty("dtaa");
  });

  it("reaches the status subresource", async () => {
    const Gadget = defineKind<{ readonly metadata: object; readonly spec?: object; readonly status?: { readonly phase: string } }>({
      group: "example.org",
      version: "v1",
      kind: "Gadget",
      plural: "gadgets",
      namespaced: true,
    });
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    const crd = {
      metadata: { name: "gadgets.example.org" },
      spec: {
        group: "example.org",
        scope: "Namespaced",
        names: { kind: "Gadget", plural: "gadgets" },
        versions: [{ name: "v1", served: true, storage: true, schema, subresources: { status: {} } }],
      },
    } as const satisfies CustomResourceDefinition;
    await client.create(CustomResourceDefinition, crd);
    const gadget = { metadata: { namespace, name: "g" } };
    let created: Stored<KubeObject> | undefined;
    while (!created) created = await client.create(Gadget, gadget).catch(notServedYet);
    const foreign = { metadata: { ...gadget.metadata, uid: "00000000-0000-4000-8000-000000000000" } };
    await fails(client.apply(Gadget, foreign, { fieldManager: "test" }), "Conflict");
    await fails(client.apply(Gadget, { ...foreign, metadata: { ...foreign.metadata, name: "none" } }, { fieldManager: "test" }), "Conflict");
    const options = { fieldManager: "test", subresource: "status" } as const;
    expect((await client.apply(Gadget, { ...gadget, status: { phase: "Ready" } }, options)).status).toEqual({ phase: "Ready" });
    const patch = [{ op: "replace", path: "/status/phase", value: "Old" }] as const;
    expect((await client.jsonPatch(Gadget, { namespace, name: "g" }, patch, { subresource: "status" })).status).toEqual({ phase: "Old" });
  });
});

describe("conditional writes", () => {
  it("fails a JSON patch whose test does not hold, and changes nothing", async () => {
    await client.create(ConfigMap, configMap("tested", { a: "1" }));
    const name = { namespace, name: "tested" };
    const patch = (expected: string) =>
      client.jsonPatch(ConfigMap, name, [
        { op: "test", path: "/data/a", value: expected },
        { op: "replace", path: "/data/a", value: "2" },
      ]);
    await fails(patch("other"), "Conflict");
    expect((await client.get(ConfigMap, name))?.data).toEqual({ a: "1" });
    expect((await patch("1")).data).toEqual({ a: "2" });
  });

  it("fails a delete whose precondition does not hold, and deletes nothing", async () => {
    const name = { namespace, name: "guarded" };
    const created = await client.create(ConfigMap, configMap("guarded"));
    const changed = await client.mergePatch(ConfigMap, name, { data: { a: "1" } });
    await fails(client.delete(ConfigMap, name, { uid: "00000000-0000-4000-8000-000000000000" }), "Conflict");
    await fails(client.delete(ConfigMap, name, { resourceVersion: created.metadata.resourceVersion }), "Conflict");
    await client.delete(ConfigMap, name, { uid: created.metadata.uid, resourceVersion: changed.metadata.resourceVersion, dryRun: true });
    expect(await client.get(ConfigMap, name)).toEqual(changed);
    await client.delete(ConfigMap, name, { uid: created.metadata.uid, resourceVersion: changed.metadata.resourceVersion });
    expect(await client.get(ConfigMap, name)).toBeUndefined();
  });

  it("tells an object that waits for its finalizers from one that is gone, and records both", async () => {
    const records: WriteRecord[] = [];
    const tracked = trackAnswers(client, (record) => records.push(record));
    const name = { namespace, name: "held" };
    const created = await tracked.create(ConfigMap, configMap("held", {}, { finalizers: ["example.org/hold"], labels: { a: "b" } }));
    const waiting = await tracked.delete(ConfigMap, name);
    expect(waiting?.metadata.deletionTimestamp).toBeDefined();
    await tracked.mergePatch(ConfigMap, name, { metadata: { finalizers: null } });
    expect(await client.get(ConfigMap, name)).toBeUndefined();
    await tracked.delete(ConfigMap, name, { uid: created.metadata.uid });
    const written = { type: "written", key: "default/held", uid: created.metadata.uid, labels: { a: "b" } };
    expect(records).toMatchObject([
      { ...written, resourceVersion: created.metadata.resourceVersion },
      { ...written, resourceVersion: waiting?.metadata.resourceVersion },
      { type: "deleted", key: "default/held", uid: created.metadata.uid },
      { type: "deleted", key: "default/held", uid: created.metadata.uid },
    ]);
  });

  it("deletes what a selection covers, and never everything by accident", async () => {
    for (const [name, tier] of [
      ["x", "a"],
      ["y", "a"],
      ["z", "b"],
    ] as const) {
      await client.create(ConfigMap, { metadata: { namespace, name: `many-${name}`, labels: { tier } } });
    }
    const left = async (): Promise<readonly string[]> =>
      (await client.list(ConfigMap, { namespace, labels: "tier" })).items.map(({ metadata }) => metadata.name);
    await client.deleteCollection(ConfigMap, { namespace, labels: "tier=a" }, { dryRun: true });
    expect(await left()).toHaveLength(3);
    await client.deleteCollection(ConfigMap, { namespace, labels: "tier=a" });
    expect(await left()).toEqual(["many-z"]);
    await expect(client.deleteCollection(ConfigMap, { labels: "tier=b" })).rejects.toThrow(
      "delete configmaps: name a namespace, or everything would go",
    );
    await expect(client.deleteCollection(Namespace, {})).rejects.toThrow("delete namespaces: give a selector, or everything would go");
  });

  it("knows that a Namespace is not gone at once", async () => {
    await client.create(Namespace, { metadata: { name: "leaving" } });
    expect((await client.delete(Namespace, { name: "leaving" }))?.status?.phase).toBe("Terminating");
  });

  it("calls a Service gone at once, although the server answers with the object", async () => {
    await client.create(Service, { metadata: { namespace, name: "svc" }, spec: { ports: [{ port: 80 }] } });
    expect(await client.delete(Service, { namespace, name: "svc" })).toBeUndefined();
    expect(await client.get(Service, { namespace, name: "svc" })).toBeUndefined();
  });
});

describe("lists", () => {
  it("reads more than a page, whole, at one version, and by selector", async () => {
    const names = Array.from({ length: 620 }, (_, index) => `many-${String(index).padStart(4, "0")}`);
    await Promise.all(
      names.map((name, index) => client.create(ConfigMap, configMap(name, {}, { labels: { set: "many", even: String(index % 2 === 0) } }))),
    );
    observed.length = 0;
    const list = await client.list(ConfigMap, { namespace, labels: "set=many" });
    expect(list.items.map((item) => item.metadata.name).sort()).toEqual(names);
    expect(list.items[0]).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });
    expect(Number(list.resourceVersion)).toBeGreaterThan(0);
    expect(observed.map(({ verb, resource, status }) => ({ verb, resource, status }))).toEqual([
      { verb: "list", resource: "configmaps", status: 200 },
      { verb: "list", resource: "configmaps", status: 200 },
    ]);
    expect((await client.list(ConfigMap, { labels: "set=many,even=true" })).items).toHaveLength(310);
    expect((await client.list(ConfigMap, { namespace, fields: "metadata.name=many-0007" })).items).toHaveLength(1);
  });
});

describe("identities", () => {
  it("is the ServiceAccount or the user of its kubeconfig, with that one's rights", async () => {
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }];
    const subjects = [{ serviceAccount: { namespace, name: "reader" } }, { user: "jane" }];
    for (const subject of subjects) {
      const reader = createClient(await open(await cluster().kubeconfigFor({ ...subject, namespacedRules: { [namespace]: rules } })));
      expect((await reader.list(ConfigMap, { namespace })).items.length).toBeGreaterThan(0);
      const message = await fails(reader.create(ConfigMap, configMap("forbidden")), "Forbidden");
      expect(message).toContain("user" in subject ? '"jane"' : '"system:serviceaccount:default:reader"');
    }
  });

  it("is nobody with a wrong token", async () => {
    const config = await loadConfig({ kubeconfig: cluster().adminKubeconfig, env: {} });
    const { tls } = await config.credentials.authorize();
    const credentials = {
      authorize: () => Promise.resolve({ headers: { authorization: "Bearer wrong" }, tls: tls.ca ? { ca: tls.ca } : {} }),
      refresh: () => Promise.resolve(false),
    };
    const stranger = createHttpTransport({ ...config, credentials });
    opened.push(stranger);
    expect(await fails(createClient(stranger).list(ConfigMap), "Unauthorized")).toBe("list configmaps: Unauthorized");
  });
});
