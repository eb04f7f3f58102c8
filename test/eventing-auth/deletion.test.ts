// The way back: the application, then the Secret, then the object, also when somebody is gone for good.
import { Buffer } from "node:buffer";
import { Secret } from "@keyturn/runtime";
import { answerWith, startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { abandonAnnotation, EventingAuth } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { openid, openidPlace } from "./identity/openid-place.ts";
import { type IssuingPlace, issuingPlace } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Nothing is left of the runtime anywhere. */
async function leavesNothing(place: IssuingPlace): Promise<void> {
  await place.isGone();
  expect(place.tenant.applications()).toEqual([]);
  expect(await place.targetSecret()).toBeUndefined();
}

async function abandon(place: IssuingPlace, what: string): Promise<void> {
  const patch = { metadata: { annotations: { [abandonAnnotation]: what } } };
  await place.client.mergePatch(EventingAuth, { namespace: place.namespace, name: place.runtime }, patch);
}

test("a deleted Kyma takes the application and the Secret with it", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  await place.ready();
  await place.deleteKyma();
  await leavesNothing(place);
});

test(
  "a Kyma that was deleted without its dependents leaves an EventingAuth that goes too, as long as it names that Kyma",
  { concurrent: true },
  async () => {
    await using place = await issuingPlace(controlPlane(), target());
    const operator = await place.ready();
    await operator.stop();
    // A reference to a Kyma that never existed: what a backup that was restored, or a garbage collector that is down, leaves behind.
    const auth = await place.auth();
    const owner = { ...auth?.metadata.ownerReferences?.[0], uid: "00000000-0000-0000-0000-000000000000", blockOwnerDeletion: false };
    await place.client.mergePatch(EventingAuth, { namespace: place.namespace, name: place.runtime }, { metadata: { ownerReferences: [owner] } });
    await place.deleteKyma();
    await place.startOperator();
    await leavesNothing(place);
  },
);

test("only a Secret of ours is deleted", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  const operator = await place.ready();
  await operator.stop();
  await place.parts.target.delete(Secret, place.targetName);
  await place.parts.target.create(Secret, { metadata: place.targetName, data: { client_id: base64("theirs") } });
  await place.deleteKyma();
  await place.startOperator();
  await place.isGone();
  expect(place.tenant.applications()).toEqual([]);
  expect(await place.credentials()).toMatchObject({ client_id: "theirs" });
});

test("a runtime whose kubeconfig is gone is let go", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  await place.ready();
  await place.deleteSecret(`kubeconfig-${place.runtime}`);
  await place.conditionSays("TargetReachable", "False KubeconfigNotFound");
  await place.deleteKyma();
  await place.isGone();
  expect(place.tenant.applications()).toEqual([]);
});

test.each(["clusters: *nope", "[".repeat(20_000), "users:\n- name: u\n  user:\n    exec: { apiVersion: v1, command: sh }\n", "#".repeat(40_000)])(
  "a kubeconfig that cannot be used (%#) is reported, and holds no deletion of an object that never reached its cluster",
  { concurrent: true },
  async (config) => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.putKubeconfig(config);
    await place.putKyma();
    await place.startOperator();
    expect(await place.conditionSays("TargetReachable", "False KubeconfigRefused")).toContain(`kubeconfig-${place.runtime}`);
    expect(await place.conditionSays("Ready", "False KubeconfigRefused")).toContain(`kubeconfig-${place.runtime}`);
    await place.eventSays("KubeconfigRefused");
    await place.deleteKyma();
    await place.isGone();
  },
);

describe("a cluster that does not answer", { concurrent: true }, () => {
  /** Ready, and then the cluster cannot be reached any more. */
  async function cutOff(place: IssuingPlace, flags: Readonly<Record<string, string>> = {}): Promise<AsyncDisposable & { mend(): Promise<void> }> {
    const proxy = await startFaultProxy(target());
    const operator = await place.ready({ flags });
    await operator.stop();
    await proxy.refuseConnections();
    await place.putKubeconfig(await readFile(proxy.through(place.parts.targetKubeconfig), "utf8"));
    await place.startOperator({ flags });
    await place.conditionSays("TargetReachable", "False TargetUnreachable");
    return { mend: () => proxy.listen(), [Symbol.asyncDispose]: () => proxy.stop() };
  }

  test("is waited for, the condition says until when, and the deletion ends when it is back", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await using cut = await cutOff(place);
    await place.deleteKyma();
    expect(await place.conditionSays("Ready", "False DeletionWaiting")).toMatch(
      /the deletion waits for it until \d{4}-\d\d-\d\dT.*keyturn\.io\/abandon/,
    );
    expect((await place.auth())?.status?.state).toBe("NotReady");
    await soon(() => expect(place.tenant.applications()).toEqual([]));
    expect(await place.targetSecret()).toBeDefined();
    await cut.mend();
    await leavesNothing(place);
  });

  test("is given up after the time that was set for it, with an Event", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await using _cut = await cutOff(place, { "eventing-auth.deletion-patience": "2s" });
    await place.deleteKyma();
    await place.isGone();
    expect(place.tenant.applications()).toEqual([]);
    expect(await place.eventSays("Abandoned")).toContain("eventing-webhook-auth in the cluster of the runtime was left behind");
  });

  test("is given up at once if somebody says so", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await using _cut = await cutOff(place);
    await place.deleteKyma();
    await place.conditionSays("Ready", "False DeletionWaiting");
    await abandon(place, "target");
    await place.isGone();
    await place.eventSays("Abandoned");
  });
});

describe("a cluster that answers and does not let go of the Secret", { concurrent: true }, () => {
  /** Ready, and then its user may not delete any more. */
  async function clinging(place: IssuingPlace, flags: Readonly<Record<string, string>> = {}): Promise<AsyncDisposable & { relent(): void }> {
    const proxy = await startFaultProxy(target());
    await place.putKubeconfig(await readFile(proxy.through(place.parts.targetKubeconfig), "utf8"));
    await place.putKyma();
    await place.startOperator({ flags });
    await place.isReady();
    const refusal = proxy.inject(answerWith({ status: 403 }, { method: "DELETE" }));
    await place.deleteKyma();
    return { relent: () => refusal.remove(), [Symbol.asyncDispose]: () => proxy.stop() };
  }

  test("is waited for, the condition says until when, and the deletion ends when it does", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await using cluster = await clinging(place);
    await soon(async () =>
      expect((await place.condition("Ready"))?.message).toMatch(/forbidden.*the deletion waits for it until \d{4}-\d\d-\d\dT.*keyturn\.io\/abandon/),
    );
    await place.conditionSays("Ready", "False DeletionWaiting");
    expect(place.tenant.applications()).toEqual([]);
    cluster.relent();
    await leavesNothing(place);
  });

  test("is given up after the time that was set for it, with an Event", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await using _cluster = await clinging(place, { "eventing-auth.deletion-patience": "2s" });
    await place.isGone();
    expect(place.tenant.applications()).toEqual([]);
    expect(await place.eventSays("Abandoned")).toContain("eventing-webhook-auth in the cluster of the runtime was left behind");
  });

  test("is given up at once if somebody says so", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await using _cluster = await clinging(place);
    await place.conditionSays("Ready", "False DeletionWaiting");
    await abandon(place, "target");
    await place.isGone();
    await place.eventSays("Abandoned");
  });
});

test("a cluster that takes connections and says nothing keeps no application alive", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  await using proxy = await startFaultProxy(target());
  const operator = await place.ready();
  await operator.stop();
  proxy.inject({ on: {}, intervene: async (request, next) => ({ ...(await next(request)), body: silence() }) });
  await place.putKubeconfig(await readFile(proxy.through(place.parts.targetKubeconfig), "utf8"));
  await place.deleteKyma();
  await place.startOperator({ flags: { "eventing-auth.deletion-patience": "2s" } });
  await place.isGone();
  expect(place.tenant.applications()).toEqual([]);
  await place.eventSays("Abandoned");
});

async function* silence(): AsyncGenerator<Uint8Array> {
  await new Promise(() => {});
  yield Buffer.of();
}

describe("an identity provider that cannot be asked", { concurrent: true }, () => {
  test("holds the deletion up, the condition says why, and it ends when the credentials are back", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready();
    await place.deleteSecret("eventing-auth-ias-creds");
    await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed");
    await place.deleteKyma();
    expect(await place.conditionSays("Ready", "False DeletionWaiting")).toContain("eventing-auth-ias-creds does not exist");
    expect(place.tenant.applications(place.runtime)).toHaveLength(1);
    await place.putCredentials();
    await leavesNothing(place);
  });

  test("holds the deletion up if it answers everything with an empty 404, as a proxy does that knows no such address", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready();
    await place.skipMinute();
    for (const step of ["find", "read", "delete"] as const) place.tenant.fail(step, { type: "body", text: "", status: 404 });
    await place.deleteKyma();
    expect(await place.conditionSays("Ready", "False DeletionWaiting")).toContain("404");
    expect(await place.eventSays("DeletionWaiting")).toContain("404");
    expect(place.tenant.applications(place.runtime)).toHaveLength(1);
    place.tenant.recover();
    await leavesNothing(place);
  });

  test.each([
    ["a proxy's page", { type: "html" }, "text/html"],
    ["a success without an effect", { type: "body", text: '{"status":"UP"}' }, "is still there"],
  ] as const)("holds the deletion up if it answers it with %s", async (_what, failure, says) => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready();
    place.tenant.fail("delete", failure);
    await place.deleteKyma();
    expect(await place.conditionSays("Ready", "False DeletionWaiting")).toContain(says);
    expect(place.tenant.applications(place.runtime)).toHaveLength(1);
    place.tenant.recover();
    await leavesNothing(place);
  });

  test("holds the deletion up if its URL was changed to one that nobody answers", async () => {
    await using world = await openidPlace(controlPlane(), target());
    const { place, server } = world;
    await place.ready({ flags: openid });
    await place.skipMinute();
    await place.putCredentials({ url: "http://127.0.0.1:1" });
    await place.deleteKyma();
    expect(await place.conditionSays("Ready", "False DeletionWaiting")).toContain("ECONNREFUSED");
    expect(server.clients()).toHaveLength(1);
    await place.putCredentials({ url: server.issuer.replace("http://", "HTTP://") });
    await place.isGone();
    expect(server.clients()).toEqual([]);
  });

  test("is given up if somebody says so", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready();
    place.tenant.fail("delete", { type: "status", status: 500 });
    await place.deleteKyma();
    await place.conditionSays("Ready", "False DeletionWaiting");
    await abandon(place, "application");
    await place.isGone();
    expect(await place.targetSecret()).toBeUndefined();
    expect(place.tenant.applications(place.runtime)).toHaveLength(1);
    expect(await place.eventSays("Abandoned")).toContain("application");
  });
});

test("several applications of the name: the one whose id is known goes, the others stay", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  await place.ready();
  const other = place.tenant.directory.create(place.runtime, {});
  await place.deleteKyma();
  await place.isGone();
  expect(place.tenant.applications().map(({ id }) => id)).toEqual([other.id]);
});
