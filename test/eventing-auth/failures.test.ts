// What goes wrong at the tenant, with credentials and kubeconfigs: the object says so, nothing is made twice, and it goes on by itself.
import { startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import type { IasFailure, IasStep } from "../../packages/keyturn/src/dev/stand-ins/ias-failures.ts";
import { type IssuingPlace, issuingPlace } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

async function begin(place: IssuingPlace, flags: Readonly<Record<string, string>> = {}): Promise<void> {
  await place.putKubeconfig();
  await place.putKyma();
  await place.startOperator({ flags });
}

describe("a tenant that fails", { concurrent: true }, () => {
  const refusal: IasFailure = { type: "status", status: 403, body: { code: 403, message: "No right to do that.", details: [] } };

  // The one that waits longest comes first, so that all others pass beside it.
  test("by hanging: the object says so, and goes on when it answers again", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    place.tenant.fail("find", { type: "hang" });
    await begin(place);
    expect(await soon(() => place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed"))).toContain("within");
    place.tenant.recover();
    await soon(async () => expect((await place.auth())?.status?.state).toBe("Ready"));
    await place.isWhole();
  });

  test.each<[IasStep]>([["find"], ["create"], ["create-secret"], ["read"], ["discover"]])(
    "at the step %s: its own words are in the condition and an Event, and one application comes of it",
    async (step) => {
      await using place = await issuingPlace(controlPlane(), target());
      const failure = place.tenant.fail(step, refusal);
      await begin(place);
      expect(await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed")).toContain("No right to do that.");
      expect((await place.auth())?.status?.state).toBe("NotReady");
      expect(await place.eventSays("IASApplicationCreationFailed")).toContain("No right to do that.");
      failure.stop();
      // Rights are given at the tenant, and nobody tells; people touch the credentials, or wait.
      await place.skipMinute();
      await place.putCredentials({ note: "tried again" });
      await place.isReady();
      await place.isWhole();
      expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0 });
      expect(place.tenant.applications(place.runtime)[0]?.secrets).toHaveLength(1);
    },
  );

  test("for a while with the secrets of an application: it is not made anew again and again", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    const failure = place.tenant.fail("create-secret", { type: "status", status: 500 });
    await begin(place);
    await soon(() => expect(failure.hits).toBeGreaterThan(4));
    expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0 });
    failure.stop();
    await place.isReady();
    expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0 });
  });

  test("with a page of a proxy, or half an answer: an error like any other", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    place.tenant.fail("read", { type: "html" }, 1);
    place.tenant.fail("read", { type: "body", text: "{}" }, 1);
    place.tenant.fail("create-secret", { type: "body", text: "{}", status: 201 }, 1);
    await begin(place);
    await place.isReady();
    await place.isWhole();
    expect(place.tenant.counters.created).toBe(1);
  });

  test("once, when all was well: nobody is alarmed", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.ready({ flags: { "eventing-auth.check-interval": "1s" } });
    const changedAt = (await place.condition("Ready"))?.lastTransitionTime;
    const failure = place.tenant.fail("list-secrets", { type: "status", status: 500 }, 4);
    await soon(() => expect(failure.hits).toBe(4));
    await soon(() => expect(place.tenant.counters.requests["list-secrets"]).toBeGreaterThan(4));
    expect(await place.condition("Ready")).toMatchObject({ status: "True", lastTransitionTime: changedAt });
    expect(await place.condition("IASApplicationReady")).toMatchObject({ status: "True" });
  });
});

describe("credentials", { concurrent: true }, () => {
  test.each([
    ["that do not exist", undefined, "eventing-auth-ias-creds does not exist"],
    ["without a password", { password: "" }, "key password is not found in ias secret"],
    ["with an http:// URL where that is not allowed", {}, "http"],
  ])("%s are named in the condition, and what comes later is used at once", async (_what, change, words) => {
    await using place = await issuingPlace(controlPlane(), target());
    if (change) await place.putCredentials(change);
    else await place.deleteSecret("eventing-auth-ias-creds");
    const isHttp = words === "http";
    await begin(place, isHttp ? { "eventing-auth.allow-http": "false" } : {});
    expect(await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed")).toContain(words);
    expect(place.tenant.counters.requests).toEqual({});
    if (isHttp) return;
    await place.putCredentials();
    await place.isReady();
  });

  test("that the tenant refuses are named without being shown", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.putCredentials({ password: "wr0ng-passw0rd" });
    await begin(place);
    expect(await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed")).toContain("401");
    expect(JSON.stringify(await place.auth())).not.toContain("wr0ng-passw0rd");
    await place.putCredentials();
    await place.isReady();
  });

  test("in the runtime that the token endpoint refuses are reported, and stay as they are", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    place.tenant.fail("token", { type: "status", status: 401, body: { error: "invalid_client" } });
    await begin(place);
    await place.conditionSays("CredentialsValid", "False CredentialsRefused");
    expect((await place.auth())?.status?.state).toBe("Ready");
    expect(place.tenant.counters.secretsCreated).toBe(1);
  });
});

describe("a kubeconfig", { concurrent: true }, () => {
  const edited = async (place: IssuingPlace, user: object, cluster: object = {}): Promise<string> => {
    const kubeconfig = parse(await readFile(place.parts.targetKubeconfig, "utf8")) as { clusters: { cluster: object }[]; users: { user: object }[] };
    const [firstCluster] = kubeconfig.clusters;
    const [firstUser] = kubeconfig.users;
    return stringify({
      ...kubeconfig,
      clusters: [{ ...firstCluster, cluster: { ...firstCluster?.cluster, ...cluster } }],
      users: [{ ...firstUser, user: { ...firstUser?.user, ...user } }],
    });
  };

  test.each([
    [
      "that would run a program",
      { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "touch", args: ["/tmp/pwned"] } },
      {},
      "exec would run a program",
    ],
    ["that would read a file", { tokenFile: "/etc/passwd" }, {}, "tokenFile would read a file"],
    ["that would trust any server", {}, { "insecure-skip-tls-verify": true }, "insecure-skip-tls-verify"],
  ])("%s is refused, and nothing is made at the tenant", async (_what, user, cluster, words) => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.putKubeconfig(await edited(place, user, cluster));
    await place.putKyma();
    await place.startOperator();
    expect(await place.conditionSays("TargetReachable", "False KubeconfigRefused")).toContain(words);
    expect((await place.auth())?.status).toMatchObject({ state: "NotReady" });
    expect(place.tenant.counters.requests).toEqual({});
    await place.putKubeconfig();
    await place.isReady();
  });

  test("that does not exist or is no kubeconfig is said to be so", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await place.putKyma();
    await place.startOperator();
    expect(await place.conditionSays("TargetReachable", "False KubeconfigNotFound")).toContain(`kubeconfig-${place.runtime} does not exist`);
    await place.putKubeconfig("t0p-s3cret: [");
    expect(await place.conditionSays("TargetReachable", "False KubeconfigRefused")).not.toContain("t0p-s3cret");
    await place.putKubeconfig();
    await place.isReady();
  });

  test("whose user may not watch the Secret is said to be so", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    const namespace = place.parts.targetNamespace;
    const powerless = await target().kubeconfigFor({ serviceAccount: { namespace, name: "powerless" } });
    await place.putKubeconfig(await readFile(powerless, "utf8"));
    await place.putKyma();
    await place.startOperator();
    expect(await place.conditionSays("TargetReachable", "False TargetForbidden")).toContain("403");
    expect(place.tenant.counters.created).toBe(0);
  });
});

describe("the cluster of the runtime", { concurrent: true }, () => {
  test("that cannot be reached is said to be so, and gets its Secret when it can", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await using proxy = await startFaultProxy(target());
    await proxy.refuseConnections();
    await place.putKubeconfig(await readFile(proxy.through(place.parts.targetKubeconfig), "utf8"));
    await place.putKyma();
    await place.startOperator();
    expect(await place.conditionSays("TargetReachable", "False TargetUnreachable")).toContain("ECONNREFUSED");
    expect(place.tenant.counters.created).toBe(0);
    await proxy.listen();
    await place.isReady();
    await place.isWhole();
  });

  test("that hangs holds up no other", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    await using proxy = await startFaultProxy(target());
    using _stall = proxy.stall();
    const hanging = await readFile(proxy.through(place.parts.targetKubeconfig), "utf8");
    const runtimes = Array.from({ length: 120 }, (_, index) => `hanging-${index}`);
    for (const runtime of runtimes) await place.putKubeconfig(hanging, runtime);
    await Promise.all(runtimes.map((runtime) => place.putKyma(place.namespace, runtime)));
    await place.ready();
    await place.isWhole();
  });

  test("without the namespace: the condition says so, and no secrets pile up at the tenant", async () => {
    await using place = await issuingPlace(controlPlane(), target());
    const admin = await readFile(target().adminKubeconfig, "utf8");
    await place.putKubeconfig(admin);
    await place.putKyma();
    await place.startOperator({ flags: { "eventing-auth.target-namespace": "missing" } });
    expect(await place.conditionSays("SecretReady", "False SecretCreationFailed")).toContain('namespaces "missing" not found');
    await soon(() => expect(place.tenant.counters.secretsCreated).toBeGreaterThan(2));
    await soon(() => expect(place.tenant.applications(place.runtime)[0]?.secrets).toEqual([]));
    expect(place.tenant.counters.created).toBe(1);
  });
});
