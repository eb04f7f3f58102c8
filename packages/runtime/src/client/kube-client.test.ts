// What the client sends, and what it makes of odd answers. What the API server really answers is tested in packages/runtime/test/client.
import { describe, expect, expectTypeOf, it } from "vitest";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { ConfigMap, Namespace, Secret } from "./builtin-kinds.ts";
import type { Client } from "./client.ts";
import { defineKind, type KubeObject, type Stored } from "./kind.ts";
import { type ClientOptions, createClient, pagedList } from "./kube-client.ts";
import { type ScriptedAnswer, scriptedTransport } from "./scripted-transport.fixture.ts";
import { ConnectionError, type TransportRequest } from "./transport.ts";

const stored = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "a", name: "b", uid: "u", resourceVersion: "1" } };
const name = { namespace: "a", name: "b" };
const failure = (code: number, reason: string, more: object = {}) => ({
  status: code,
  body: { kind: "Status", code, reason, message: reason, ...more },
});

interface Scripted {
  readonly client: Client;
  readonly clock: VirtualClock;
  readonly requests: readonly TransportRequest[];
}

function scripted(answers: readonly ScriptedAnswer[], options: ClientOptions = {}): Scripted {
  const transport = scriptedTransport(...answers);
  const clock = new VirtualClock();
  return { client: createClient(transport, { clock, random: () => 1, ...options }), clock, requests: transport.requests };
}

/** Lets virtual time pass until the work is done. */
async function settled<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  const state = { pending: true };
  const watched = work.finally(() => (state.pending = false));
  watched.catch(() => undefined);
  while (state.pending) await clock.advance(100);
  return watched;
}

describe("requests", () => {
  it("fills in the kind, validates strictly, and asks only for what is set", async () => {
    const { client, requests } = scripted([{ status: 200, body: stored }]);
    await client.create(ConfigMap, { metadata: name, data: { k: "v" } }, { fieldManager: "me" });
    await client.apply(ConfigMap, { metadata: name }, { fieldManager: "me", force: true, subresource: "status" });
    await client.replace(ConfigMap, { metadata: name }, { dryRun: true });
    await client.jsonPatch(ConfigMap, name, [{ op: "remove", path: "/data" }]);
    await client.mergePatch(ConfigMap, name, {}, { fieldManager: "me" });
    await client.delete(ConfigMap, name, { uid: "u", propagationPolicy: "Foreground" });
    const path = "/api/v1/namespaces/a/configmaps";
    const body = JSON.stringify({ metadata: name, apiVersion: "v1", kind: "ConfigMap" });
    expect(requests).toEqual([
      {
        method: "POST",
        path: `${path}?fieldManager=me&fieldValidation=Strict`,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ metadata: name, data: { k: "v" }, apiVersion: "v1", kind: "ConfigMap" }),
      },
      {
        method: "PATCH",
        path: `${path}/b/status?fieldManager=me&force=true&fieldValidation=Ignore`,
        headers: { "content-type": "application/apply-patch+yaml" },
        body,
      },
      { method: "PUT", path: `${path}/b?dryRun=All&fieldValidation=Strict`, headers: { "content-type": "application/json" }, body },
      {
        method: "PATCH",
        path: `${path}/b`,
        headers: { "content-type": "application/json-patch+json" },
        body: '[{"op":"remove","path":"/data"}]',
      },
      {
        method: "PATCH",
        path: `${path}/b?fieldManager=me&fieldValidation=Ignore`,
        headers: { "content-type": "application/strategic-merge-patch+json" },
        body: "{}",
      },
      {
        method: "DELETE",
        path: `${path}/b`,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Foreground", preconditions: { uid: "u" } }),
      },
    ]);
  });

  it("sends a merge patch in the form that costs the server less, unless a list, a directive or a custom kind would make a difference", async () => {
    const { client, requests } = scripted([{ status: 200, body: stored }]);
    const widgets = defineKind({ group: "example.com", version: "v1", kind: "Widget", plural: "widgets", namespaced: true });
    await client.mergePatch(ConfigMap, name, { metadata: { labels: { a: null } }, data: { k: "v" } });
    await client.mergePatch(ConfigMap, name, { metadata: { finalizers: [] } });
    await client.mergePatch(ConfigMap, name, { data: { $patch: "replace" } });
    await client.mergePatch(widgets, name, { metadata: { labels: { a: null } } });
    expect(requests.map(({ headers }) => headers?.["content-type"])).toEqual([
      "application/strategic-merge-patch+json",
      "application/merge-patch+json",
      "application/merge-patch+json",
      "application/merge-patch+json",
    ]);
  });

  it("keeps to its lane and its time", async () => {
    const { client, requests } = scripted([{ status: 200, body: stored }], { lane: "lease", timeoutMs: 5_000 });
    await client.get(ConfigMap, name);
    await client.request({ method: "GET", path: "/version", timeoutMs: 1_000 });
    expect(requests).toEqual([
      { method: "GET", path: "/api/v1/namespaces/a/configmaps/b", lane: "lease", timeoutMs: 5_000 },
      { method: "GET", path: "/version", lane: "lease", timeoutMs: 1_000 },
    ]);
  });

  it("sends nothing that lacks a name or a namespace", async () => {
    const { client, requests } = scripted([{ status: 200, body: stored }]);
    await expect(client.apply(ConfigMap, { metadata: { namespace: "a" } }, { fieldManager: "me" })).rejects.toThrow(
      "apply configmaps: metadata.name is missing",
    );
    await expect(client.create(ConfigMap, { metadata: { generateName: "b-" } })).rejects.toThrow(
      "create configmaps b-…: metadata.namespace is missing",
    );
    await expect(client.delete(ConfigMap, { name: "b" })).rejects.toThrow("delete configmaps b: metadata.namespace is missing");
    expect(requests).toHaveLength(0);
    await client.create(Namespace, { metadata: { name: "x" } });
    expect(requests).toHaveLength(1);
  });
});

describe("answers in metadata", () => {
  const partial = { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata", metadata: stored.metadata };
  const answer = "metadata";

  it("are asked for, with the whole object as second best, and name the kind of the object", async () => {
    const { client, requests } = scripted([{ status: 200, body: partial }]);
    const answers = [
      await client.create(ConfigMap, { metadata: name }, { answer }),
      await client.replace(ConfigMap, { metadata: name }, { answer }),
      await client.apply(ConfigMap, { metadata: name }, { fieldManager: "me", answer }),
      await client.jsonPatch(ConfigMap, name, [], { answer }),
      await client.mergePatch(ConfigMap, name, {}, { answer }),
    ];
    await client.delete(ConfigMap, name, { answer });
    expect(answers).toEqual(answers.map(() => stored));
    const accept = ["application/vnd.kubernetes.protobuf", "application/json"].map((type) => `${type};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,`);
    expect(requests.map(({ headers }) => headers?.["accept"])).toEqual(requests.map(() => `${accept.join("")}application/json`));
  });

  it("are not asked for of a Namespace, whose spec shows whether it is gone", async () => {
    const { client, requests } = scripted([{ status: 200, body: partial }]);
    await client.mergePatch(Namespace, { name: "x" }, {}, { answer });
    await client.delete(Namespace, { name: "x" }, { answer });
    expect(requests.map(({ headers }) => headers?.["accept"])).toEqual([undefined, undefined]);
  });

  it("show no more than metadata to the compiler, also where a server sends the whole object", async () => {
    const { client } = scripted([{ status: 200, body: { ...stored, data: { k: "v" } } }]);
    const applied = await client.apply(ConfigMap, { metadata: name }, { fieldManager: "me", answer });
    expect(applied.metadata).toEqual(stored.metadata);
    expectTypeOf(applied).toEqualTypeOf<Stored<KubeObject>>();
    expectTypeOf(applied).not.toHaveProperty("data");
    expectTypeOf(await client.create(ConfigMap, { metadata: name }, { answer })).toEqualTypeOf<Stored<KubeObject>>();
    expectTypeOf(await client.replace(ConfigMap, { metadata: name }, { answer })).toEqualTypeOf<Stored<KubeObject>>();
    expectTypeOf(await client.jsonPatch(ConfigMap, name, [], { answer })).toEqualTypeOf<Stored<KubeObject>>();
    expectTypeOf(await client.mergePatch(ConfigMap, name, {}, { answer })).toEqualTypeOf<Stored<KubeObject>>();
    expectTypeOf(await client.delete(ConfigMap, name, { answer })).toEqualTypeOf<Stored<KubeObject> | undefined>();
    expectTypeOf(await client.apply(ConfigMap, { metadata: name }, { fieldManager: "me" })).toEqualTypeOf<Stored<ConfigMap>>();
    expectTypeOf(await client.mergePatch(ConfigMap, name, {}, { answer: "object" })).toEqualTypeOf<Stored<ConfigMap>>();
    // @ts-expect-error: who names the type alone means the whole object, and cannot ask for less.
    await client.mergePatch<ConfigMap>(ConfigMap, name, {}, { answer });
  });
});

describe("retries", () => {
  const passing: readonly ScriptedAnswer[] = [
    new ConnectionError("reset"),
    failure(429, "TooManyRequests", { details: { retryAfterSeconds: 2 } }),
    failure(500, "InternalError"),
    { status: 503, body: "<html>", headers: { "retry-after": "1" } },
    { status: 504, body: "" },
  ];

  it("reads up to five times more, waiting longer each time or as long as asked", async () => {
    const { client, clock, requests } = scripted([...passing, { status: 200, body: stored }]);
    const startMs = clock.monotonic();
    expect(await settled(clock, client.get(ConfigMap, name))).toEqual(stored);
    expect(requests).toHaveLength(6);
    expect(clock.monotonic() - startMs).toBe(100 + (2_000 + 200) + 400 + (1_000 + 800) + 1_600);
  });

  it("gives up after that, with the last error", async () => {
    const { client, clock, requests } = scripted([failure(500, "InternalError")]);
    await expect(settled(clock, client.list(ConfigMap))).rejects.toMatchObject({ code: "ServerError" });
    expect(requests).toHaveLength(6);
  });

  it("does not wait for a server that asks for too long, nor retry what does not end by itself", async () => {
    const busy = scripted([{ status: 429, body: "", headers: { "retry-after": "31" } }]);
    await expect(busy.client.get(ConfigMap, name)).rejects.toMatchObject({ code: "TooManyRequests", retryAfterMs: 31_000 });
    const refused = scripted([failure(403, "Forbidden")]);
    await expect(refused.client.get(ConfigMap, name)).rejects.toMatchObject({ code: "Forbidden" });
    expect(refused.requests).toHaveLength(1);
  });

  it("sends writes once", async () => {
    const writes: ((client: Client) => Promise<unknown>)[] = [
      (client) => client.create(ConfigMap, { metadata: name }),
      (client) => client.replace(ConfigMap, { metadata: name }),
      (client) => client.apply(ConfigMap, { metadata: name }, { fieldManager: "me" }),
      (client) => client.jsonPatch(ConfigMap, name, []),
      (client) => client.mergePatch(ConfigMap, name, {}),
      (client) => client.delete(ConfigMap, name),
      (client) => client.request({ method: "POST", path: "/x" }),
    ];
    for (const write of writes) {
      for (const answer of passing) {
        const { client, requests } = scripted([answer]);
        await expect(write(client)).rejects.toBeInstanceOf(Error);
        expect(requests).toHaveLength(1);
      }
    }
  });

  it("stops waiting when the caller does", async () => {
    const { client, clock } = scripted([new ConnectionError("reset")]);
    const caller = new AbortController();
    const read = client.get(ConfigMap, name, caller.signal);
    await clock.advance(50);
    caller.abort("enough");
    await expect(read).rejects.toBe("enough");
  });
});

describe("lists", () => {
  const page = (names: readonly string[], token?: string) => ({
    status: 200,
    body: { metadata: { resourceVersion: "7", ...(token && { continue: token }) }, items: names.map((name) => ({ metadata: { name } })) },
  });

  it("starts again when the continue token has expired", async () => {
    const { client, requests } = scripted([page(["a"], "t/1"), failure(410, "Expired"), page(["a", "b"], "t2"), page(["c"])]);
    const list = await client.list(ConfigMap, { labels: "x in (1,2)", fields: "type=y" });
    expect(list.items.map(({ metadata }) => metadata.name)).toEqual(["a", "b", "c"]);
    expect(list.resourceVersion).toBe("7");
    const first = "/api/v1/configmaps?labelSelector=x%20in%20(1%2C2)&fieldSelector=type%3Dy&limit=500";
    expect(requests.map(({ path }) => path)).toEqual([first, `${first}&continue=t%2F1`, first, `${first}&continue=t2`]);
  });

  it.each([400, 410, 500, 504])("starts again when the continue token is answered with %i", async (status) => {
    // Refusals that may pass are tried again first.
    const refusals = Array.from({ length: status >= 500 ? 6 : 1 }, () => failure(status, "Refused"));
    const { client, clock } = scripted([page(["a"], "t1"), ...refusals, page(["a", "b"], "t2"), page(["c"])]);
    const { items } = await settled(clock, client.list(ConfigMap));
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["a", "b", "c"]);
  });

  it("gives up when it expires again and again", async () => {
    const { client, requests } = scripted([failure(410, "Expired")]);
    await expect(client.list(ConfigMap)).rejects.toMatchObject({ code: "Gone" });
    expect(requests).toHaveLength(4);
  });

  it("takes a list without items as empty, and nothing else as a list", async () => {
    expect((await scripted([{ status: 200, body: { metadata: {}, items: null } }]).client.list(ConfigMap)).items).toEqual([]);
    await expect(scripted([{ status: 200, body: [] }]).client.list(ConfigMap)).rejects.toThrow("list configmaps: the answer is no list of ConfigMap");
  });
});

describe("odd answers", () => {
  it("takes nothing for an object whose name or version is no text, alone or in a list", async () => {
    for (const odd of [{ resourceVersion: 7 }, { uid: {} }, { name: null }]) {
      const object = { ...stored, metadata: { ...stored.metadata, ...odd } };
      await expect(scripted([{ status: 200, body: object }]).client.get(ConfigMap, name)).rejects.toThrow("the answer is no ConfigMap");
      await expect(scripted([{ status: 200, body: object }]).client.create(ConfigMap, { metadata: name })).rejects.toThrow(
        "the answer is no ConfigMap",
      );
      await expect(scripted([{ status: 200, body: { metadata: {}, items: [object] } }]).client.list(ConfigMap)).rejects.toThrow(
        "no list of ConfigMap",
      );
    }
  });

  it("says what kind of thing came instead of JSON, and what every proxy says, and quotes nothing else", async () => {
    const html = `<html>\n<h1>Sign in</h1>${"x".repeat(500)}`;
    const attempt = scripted([{ status: 200, body: html }]).client.get(ConfigMap, name);
    await expect(attempt).rejects.toMatchObject({ code: "Unexpected", status: 200 });
    await expect(attempt).rejects.toThrow(
      /^get configmaps a\/b: the answer is no JSON \(text\/html, 523 characters\), perhaps from something in between$/,
    );
    await expect(scripted([{ status: 403, body: "<h1>403 Forbidden</h1> blocked: hunter2" }]).client.get(ConfigMap, name)).rejects.toMatchObject({
      code: "Forbidden",
      message: "get configmaps a/b: 403: the answer is no JSON (text/html, 39 characters), perhaps from something in between: 403 Forbidden",
    });
  });

  it("does not quote credentials that something in between echoes", async () => {
    const echo = "<td>x-forwarded-credentials</td><td>opaque-token-4711</td>";
    const attempt = scripted([{ status: 502, body: echo, headers: { "content-type": "text/html; token=opaque-token-4711" } }]).client.request({
      method: "DELETE",
      path: "/api",
    });
    await expect(attempt).rejects.toThrow(
      /DELETE \/api: 502: the answer is no JSON \(text\/html, 58 characters\), perhaps from something in between$/,
    );
  });

  it("does not quote broken JSON, which may be half a Secret", async () => {
    const headers = { "content-type": "application/json" };
    const error = await scripted([{ status: 200, body: '{"data":{"password":"aHVudGVyMg=="', headers }])
      .client.get(ConfigMap, name)
      .catch(String);
    expect(error).toBe("ApiError: get configmaps a/b: the answer is no valid Kubernetes JSON (34 characters)");
  });

  it("does not read more than it may", async () => {
    const { client } = scripted([{ status: 200, body: { ...stored, data: { k: "x".repeat(100) } } }], { maxBodyBytes: 100 });
    await expect(client.get(ConfigMap, name)).rejects.toMatchObject({ code: "AnswerTooLong", part: "body", maxBytes: 100 });
  });

  it("takes a 404 about the object as absence, and any other as an error", async () => {
    const missing = failure(404, "NotFound", { details: { name: "b" } });
    expect(await scripted([missing]).client.get(ConfigMap, name)).toBeUndefined();
    expect(await scripted([missing]).client.delete(ConfigMap, name)).toBeUndefined();
    await expect(scripted([{ status: 404, body: "404 page not found" }]).client.get(ConfigMap, name)).rejects.toMatchObject({ code: "NotFound" });
  });

  it("keeps characters that arrive in two pieces", async () => {
    const object = { ...stored, data: { k: "äöü€😀".repeat(50) } };
    expect(await scripted([{ status: 200, body: object }]).client.get(ConfigMap, name)).toEqual(object);
  });
});

// A collection read page by page: every object once, and no page before it is wanted.

const page = (names: readonly string[], token?: string) => ({
  status: 200,
  body: {
    metadata: { resourceVersion: "9", ...(token && { continue: token }) },
    items: names.map((name) => ({ metadata: { namespace: "shop", name } })),
  },
});

describe("an etcd that is restored from a backup between two pages", () => {
  const before = [page(["a"], "more"), { status: 200, body: { metadata: { resourceVersion: "8" }, items: [] } }] as const;

  it("makes a list begin again", async () => {
    const transport = scriptedTransport(...before, page(["b"], "more"), page(["c"]));
    const { items } = await createClient(transport).list(Secret, { namespace: "shop" });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["b", "c"]);
  });

  it("ends one that is read object by object, as `Gone`", async () => {
    const clock = new VirtualClock();
    const seen: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { metadata } of pagedList(Secret, { client: createClient(scriptedTransport(...before), { clock }), clock }))
        seen.push(metadata.name);
    };
    await expect(read()).rejects.toMatchObject({ code: "Gone", message: "list secrets: the pages of the list are not of one history" });
    expect(seen).toEqual(["a"]);
  });
});

it("ends a list with an error where a page is followed by itself, which would go on for ever", async () => {
  const endless = scriptedTransport(page(["a"], "same"));
  const refused = { code: "Unexpected", message: "list secrets: a page of the list is followed by itself" };
  await expect(createClient(endless).list(Secret)).rejects.toMatchObject(refused);
  const clock = new VirtualClock();
  const read = async (): Promise<void> => {
    for await (const _object of pagedList(Secret, { client: createClient(endless, { clock }), clock }));
  };
  await expect(read()).rejects.toMatchObject(refused);
  expect(endless.requests).toHaveLength(4);
});

it("gives every object once, in the order of the pages, and asks for a page when the one before is used up", async () => {
  const transport = scriptedTransport(page(["a", "b"], "more"), page([], "most"), page(["c"]));
  const clock = new VirtualClock();
  const selection = { namespace: "shop", labels: "gateway=tao", fields: "type=kubernetes.io/tls" };
  const seen: string[] = [];
  for await (const { kind, metadata } of pagedList(Secret, { client: createClient(transport, { clock }), clock, selection })) {
    seen.push(`${kind} ${metadata.name} after ${transport.requests.length}`);
  }
  expect(seen).toEqual(["Secret a after 1", "Secret b after 1", "Secret c after 3"]);
  const query = "limit=500&labelSelector=gateway%3Dtao&fieldSelector=type%3Dkubernetes.io%2Ftls";
  const path = "/api/v1/namespaces/shop/secrets";
  expect(transport.requests.map((request) => request.path)).toEqual(
    ["", "&continue=more", "&continue=most"].map((rest) => `${path}?${query}${rest}`),
  );
});
