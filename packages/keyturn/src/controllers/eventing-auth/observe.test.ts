// What is known of an EventingAuth before anybody is asked.
import type { Stored } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { adoptAnnotation, type EventingAuth } from "./api.ts";
import { readSettings } from "./flags.ts";
import { isElder, observeEventingAuth } from "./observe.ts";

const id = "6a0c4bb1-33c3-4d9f-8e2e-0f6e5a6e7c21";

function object(name: string, content: { readonly adopts?: string; readonly uuid?: string }): Stored<EventingAuth> {
  const { adopts, uuid } = content;
  const metadata = { namespace: "kcp-system", name, uid: `uid of ${name}`, resourceVersion: "1" };
  return {
    metadata: { ...metadata, ...(adopts !== undefined && { annotations: { [adoptAnnotation]: adopts } }) },
    spec: {},
    ...(uuid !== undefined && { status: { state: "Ready", iasApplication: { name, uuid } } }),
  };
}

async function adoptedBy(objects: readonly Stored<EventingAuth>[]): Promise<unknown> {
  const all = new Map(objects.map((each) => [`kcp-system/${each.metadata.name}`, each]));
  const none = { get: () => undefined };
  const watches = { objects: all, credentials: none, kubeconfigs: none } as unknown as Parameters<typeof observeEventingAuth>[1]["watches"];
  const pool = { close: () => {} } as unknown as Parameters<typeof observeEventingAuth>[1]["pool"];
  const providers = { forSecret: () => Promise.reject(new Error("nobody is asked")) } as never;
  const options = {
    watches,
    settings: readSettings((flag) => flag.parse(undefined)),
    pool,
    providers,
    askedAt: new Map(),
    unheardAt: new Map(),
    doubled: new Set<string>(),
  };
  return (await observeEventingAuth({ key: "kcp-system/own", client: undefined as never }, options))?.observation.adopts;
}

test("an application is adopted under the id that its provider gave it, however that is spelled", async () => {
  const own = object("own", { adopts: ` ${id.toUpperCase()}\n` });
  expect(await adoptedBy([own])).toEqual({ id, claimedBy: undefined });
  expect(await adoptedBy([own, object("another", { uuid: id })])).toEqual({ id, claimedBy: "EventingAuth kcp-system/another" });
  expect(await adoptedBy([own, object("another", { uuid: id.toUpperCase() })])).toEqual({ id, claimedBy: "EventingAuth kcp-system/another" });
});

test("ids of other providers are taken as they are, and none is none", async () => {
  expect(await adoptedBy([object("own", { adopts: "Client-A" })])).toEqual({ id: "Client-A", claimedBy: undefined });
  expect(await adoptedBy([object("own", { adopts: " " })])).toBeUndefined();
});

test("of two of one second, the one that has begun keeps the runtime, whichever has the lower uid", () => {
  const at = (uid: string, creationTimestamp: string, uuid?: string): Stored<EventingAuth> => {
    const { metadata, ...rest } = object("own", uuid === undefined ? {} : { uuid });
    return { ...rest, metadata: { ...metadata, uid, creationTimestamp } };
  };
  const [first, second] = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"];
  expect(isElder(at("b", first), at("a", second, id))).toBe(true);
  expect([isElder(at("a", first), at("b", first)), isElder(at("b", first), at("a", first))]).toEqual([true, false]);
  expect([isElder(at("a", first), at("b", first, id)), isElder(at("b", first, id), at("a", first))]).toEqual([false, true]);
});
