// What each user of a cluster can make an installation do to others: nothing. Everything is switched on, and whoever attacks is a real user of the API server.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { ConfigMap, Deployment, type Kind, type KubeObject, Pod, ReplicaSet, Secret, Service } from "@keyturn/runtime";
import { everything } from "@keyturn/runtime/testing";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { adoptAnnotation, EventingAuth } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { restartedAtAnnotation, rolloutLabel } from "../../packages/keyturn/src/workloads/annotations.ts";
import { attacks, put } from "./attacks.ts";
import {
  encoded,
  isReady,
  jwksConfig,
  object,
  openBank,
  pictureAtRest,
  pictureOf,
  rotationTarget,
  runtime,
  servesOthers,
  tenantNamespace,
} from "./bank.ts";
import { startKeyturn } from "../support/keyturn-process.ts";
import { type Actor, actor, installation, rulesFor, Tenancy } from "./tenancy.ts";

const cluster = useCluster(everything);
let tenancy: Tenancy;
let mallory: Actor;
beforeAll(async () => {
  tenancy = await Tenancy.start(cluster());
  await openBank(cluster());
  mallory = await actor(cluster(), "mallory", await tenantNamespace(cluster(), "evil"), "edit");
  // The controller manager adds the chart's roles to the cluster's own.
  await soon(async () => expect(await mallory.client.list(JWKSConfig, { namespace: "evil" })).toBeDefined());
});
afterAll(() => tenancy[Symbol.asyncDispose]());

describe("with ClusterRole edit in one namespace", () => {
  test.each(attacks)("%s: nothing of others changes, and they are served", async (_name, attack) => {
    const before = await pictureAtRest(cluster(), tenancy);
    await attack(mallory, "evil");
    await servesOthers(cluster());
    await tenancy.isIdle();
    expect(await pictureOf(cluster())).toEqual(before);
    expect(await tenancy.probe("healthz")).toBe(200);
    const { items } = await cluster().client.list(Secret, { namespace: "bank" });
    const stolen = await cluster().kubectl(
      "get",
      "all,configmaps,jwksconfigs.keyturn.io,jwks.rieset.io,rotationtargets,events.events.k8s.io",
      "-n",
      "evil",
      "-o",
      "yaml",
    );
    for (const { data = {} } of items) for (const value of Object.values(data)) expect(stolen).not.toContain(value);
  });

  test.each<readonly [string, Kind, KubeObject]>([
    ["an EventingAuth", EventingAuth, { metadata: { namespace: "evil", name: runtime.name } }],
    ["anything in another namespace", ConfigMap, { metadata: { namespace: "bank", name: "x" } }],
    ["a Secret of the installation", Secret, { metadata: { namespace: installation, name: "keyturn-installation-key" } }],
  ])("the chart gives no right to make %s", async (_what, kind, what) => {
    await expect(put(mallory, kind, what)).rejects.toMatchObject({ status: 403 });
  });

  test("a rollout goes on in other namespaces, whatever is stuck in this one", async () => {
    tenancy.istiod.configure({ tag: "1.28.0" });
    await cluster().apply(object("v1", "ConfigMap", tenancy.istiod.configMap().metadata, { data: tenancy.istiod.configMap().data }));
    await soon(async () => {
      const web = await cluster().client.get<Deployment>(Deployment, { namespace: "bank", name: "web" });
      expect(web?.spec?.template.metadata?.annotations?.[restartedAtAnnotation]).toBeDefined();
      expect(web?.metadata.labels?.[rolloutLabel]).toBeUndefined();
      // All that there is of it, one after the other: nginx has a sidecar too.
      const { items: pods } = await cluster().client.list(Pod, { namespace: "bank" });
      const sidecars = pods.flatMap(({ spec }) => /istio\/proxyv2:[\w.]+/.exec(JSON.stringify(spec)) ?? []);
      expect(sidecars.length).toBeGreaterThan(1);
      expect(new Set(sidecars)).toEqual(new Set(["istio/proxyv2:1.28.0"]));
    });
  });
});

describe("with our kinds alone", () => {
  let dave: Actor;
  beforeAll(async () => {
    const rules = rulesFor(["keyturn.io", "jwksconfigs"], ["rieset.io", "jwks"], [RotationTarget.group, "rotationtargets"]);
    dave = await actor(cluster(), "dave", "bank", rules);
  });

  test("no image, device or number of pods that the installation does not allow is run", async () => {
    const spec = { certificateSecret: "signer", configMapName: "d-jwks", nginxConfigMapName: "d-nginx" };
    const asked = {
      image: { image: "evil.example/miner" },
      replicas: { replicas: 100 },
      cores: { resources: { limits: { cpu: "64" } } },
      devices: { resources: { limits: { "nvidia.com/gpu": "4" } } },
    };
    for (const [name, nginx] of Object.entries(asked)) {
      await put(
        dave,
        JWKSConfig,
        jwksConfig("bank", `d-${name}`, { ...spec, configMapName: `d-${name}-jwks`, nginxConfigMapName: `d-${name}-nginx`, nginx }),
      );
    }
    for (const name of Object.keys(asked)) {
      await soon(async () => expect(await reasonOf(`d-${name}`, "Served")).toBe("NotAllowed"));
      expect(await cluster().client.get(Deployment, { namespace: "bank", name: `d-${name}` })).toBeUndefined();
    }
  });

  test("nothing that has a name they ask for is overwritten, and no Secret is shown to them", async () => {
    const names = ["password", "signer", "settings", "web"];
    const taken = names.flatMap((name) => [Secret, ConfigMap, Service].map((kind: Kind) => ({ kind, name: { namespace: "bank", name } })));
    const found = (): Promise<readonly (KubeObject | undefined)[]> =>
      Promise.all(taken.map(({ kind, name }) => cluster().client.get<KubeObject>(kind, name)));
    const there = (await found()).map((each) => each !== undefined);
    // A name that nobody has is free.
    const read = async (): Promise<readonly unknown[]> => (await found()).filter((_, index) => there[index]);
    const before = await read();
    for (const name of names) {
      await put(
        dave,
        JWKSConfig,
        jwksConfig("bank", name, {
          certificateSecret: "password",
          certificateSecrets: ["signer"],
          configMapName: name,
          nginxConfigMapName: "settings-2",
        }),
      );
      await put(
        dave,
        RotationTarget,
        rotationTarget("bank", `take-${name}`, { rotationSet: "vault", rotationOrder: 10 + names.indexOf(name), targetName: name }),
      );
    }
    for (const name of names) {
      await soon(async () => expect(await conditionsOf(JWKSConfig, name)).toMatch(/"Ready":"False/));
      await soon(async () => expect(await conditionsOf(RotationTarget, `take-${name}`)).toMatch(/"Ready":/));
    }
    await tenancy.isIdle();
    expect(await read()).toEqual(before);
    const seen = JSON.stringify([
      await dave.client.list(JWKSConfig, { namespace: "bank" }),
      await dave.client.list(RotationTarget, { namespace: "bank" }),
    ]);
    expect(seen).not.toContain("hunter2-of-the-bank");
    expect(seen).not.toContain(encoded("hunter2-of-the-bank"));
  });
});

describe("with Kymas and EventingAuths in a namespace of one's own", () => {
  test("an object that is called as another's runtime gets none of its credentials, takes none away, and cannot claim its application", async () => {
    const kinds = ["kymas", "eventingauths"].map((plural) => ["operator.kyma-project.io", plural] as const);
    const kim = await actor(cluster(), "kim", "evil", rulesFor(...kinds));
    const before = await pictureAtRest(cluster(), tenancy);
    const victim = await cluster().client.get<EventingAuth>(EventingAuth, runtime);
    const uuid = victim?.status?.iasApplication?.uuid ?? "";
    expect(uuid).not.toBe("");
    const name = { namespace: "evil", name: runtime.name };
    const Kyma: Kind = { group: "operator.kyma-project.io", version: "v1beta2", kind: "Kyma", plural: "kymas", namespaced: true };
    await put(kim, Kyma, object("operator.kyma-project.io/v1beta2", "Kyma", name, { spec: { channel: "regular" } }));
    await soon(async () => expect(await kim.client.get(EventingAuth, name)).toBeDefined());
    await kim.client.mergePatch(EventingAuth, name, { metadata: { annotations: { [adoptAnnotation]: uuid } } });
    await soon(async () => expect(JSON.stringify(await kim.client.get(EventingAuth, name))).toContain("nothing is done for this one"));
    expect(await pictureOf(cluster())).toEqual(before);
    await kim.client.delete(Kyma, name);
    await soon(async () => expect(await cluster().client.get(EventingAuth, name)).toBeUndefined());
    await servesOthers(cluster());
    await tenancy.isIdle();
    expect(await pictureOf(cluster())).toEqual(before);
    expect(await isReady(cluster(), EventingAuth, runtime)).toBe(true);
  });
});

describe("with pods alone", () => {
  test("pods that look like those of another namespace's workload, and say that they are, cause no restart there", async () => {
    const paul = await actor(cluster(), "paul", "evil", rulesFor(["", "pods"]));
    const { items } = await cluster().client.list(ReplicaSet, { namespace: "bank" });
    const set = items.find(({ metadata }) => metadata.name.startsWith("web-"))?.metadata;
    const before = await pictureAtRest(cluster(), tenancy);
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: set?.name ?? "", uid: set?.uid ?? "", controller: true };
    const annotations = { "sidecar.istio.io/status": '{"containers":["istio-proxy"],"initContainers":["istio-init"],"revision":"default"}' };
    for (const image of ["docker.io/istio/proxyv2:1.0.0", `${"x/".repeat(100)}:1`, "istio/proxyv2"]) {
      const name = `web-${image.length}`;
      const metadata = { namespace: "evil", name, labels: { app: "web", ...set?.labels }, annotations, ownerReferences: [owner] };
      const containers = ["app", "istio-proxy"].map((container) => ({ name: container, image }));
      await put(paul, Pod, object("v1", "Pod", metadata, { spec: { containers } }));
    }
    await servesOthers(cluster());
    await tenancy.isIdle();
    expect(await pictureOf(cluster())).toEqual(before);
    await expect(put(paul, Pod, object("v1", "Pod", { namespace: "bank", name: "web-x" }, { spec: { containers: [] } }))).rejects.toMatchObject({
      status: 403,
    });
  });
});

describe("with ConfigMaps alone", () => {
  test("a published document that is edited, forged or deleted is made anew from what nobody else writes", async () => {
    const carol = await actor(cluster(), "carol", "bank", rulesFor(["", "configmaps"]));
    const name = { namespace: "bank", name: "tokens-jwks" };
    const document = async (): Promise<unknown> => (await cluster().client.get(ConfigMap, name))?.data;
    const before = await document();
    const forged = '{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"mine","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}';
    const annotations = { "keyturn.io/jwks-history": '[{"kid":"mine"}]', "keyturn.io/jwks-revision": "999" };
    for (const change of [{ data: { "jwks.json": forged } }, { data: { "jwks.json": forged }, metadata: { annotations } }, { data: null }]) {
      await carol.client.mergePatch(ConfigMap, name, change);
      await soon(async () => expect(await document()).toEqual(before));
    }
    await carol.client.delete(ConfigMap, name);
    await soon(async () => expect(await document()).toEqual(before));
    await soon(async () => expect(await isReady(cluster(), JWKSConfig, { namespace: "bank", name: "tokens" })).toBe(true));
  });
});

describe("with ClusterRole view", () => {
  test("no digest of a client secret is in anything that can be seen of the runtime that it is for", async () => {
    const secret = await cluster().client.get(Secret, { namespace: "kyma-system", name: "eventing-webhook-auth" });
    const clientSecret = Buffer.from(secret?.data?.["client_secret"] ?? "", "base64");
    expect(clientSecret.length).toBeGreaterThan(0);
    const victor = await actor(cluster(), "victor", runtime.namespace, "view");
    await expect(victor.client.list(Secret, { namespace: runtime.namespace })).rejects.toMatchObject({ status: 403 });
    const kinds = "eventingauths.operator.kyma-project.io,configmaps,events.events.k8s.io";
    const seen = await cluster().kubectl("get", kinds, "-n", runtime.namespace, "-o", "yaml", `--kubeconfig=${victor.kubeconfig}`);
    expect(seen).toContain(runtime.name);
    const forms = [clientSecret, Buffer.from(clientSecret.toString("base64"))];
    const digests = forms.flatMap((form) =>
      ["md5", "sha1", "sha256", "sha512"].flatMap((algorithm) =>
        (["hex", "base64", "base64url"] as const).map((encoding) => createHash(algorithm).update(form).digest(encoding)),
      ),
    );
    // As little of one as could be mistaken for chance.
    for (const text of [...forms.map(String), ...digests]) expect(seen).not.toContain(text.slice(0, 10));
  });
});

describe("whoever looks at what tenants wrote", () => {
  test("has a terminal that obeys nobody but the program, and lines and colours that are its own", async () => {
    const odd = "\u001b]0;owned\u0007\u001b[2J\u202egnirts\u061c \u001b[32mall is well\u001b[0m\r\nHEALTHY: line\n\nSTEP  OBJECTS";
    const metadata = { namespace: "evil", name: "terminal" };
    const spec = { certificateSecret: odd, configMapName: odd, oldKeysTTL: "\u001b[32m1h" };
    const hostile = [
      object("rieset.io/v1alpha1", "JWKS", metadata, { spec }),
      object("rieset.io/v1alpha1", "JWKS", { ...metadata, name: "terminal-paused", annotations: { "keyturn.io/paused": odd } }, { spec }),
      object(
        "rieset.io/v1alpha1",
        "JWKS",
        { ...metadata, name: "terminal-revoked", annotations: { "keyturn.io/revoke": odd } },
        { spec: { certificateSecret: "none", configMapName: "terminal-jwks" } },
      ),
    ];
    for (const each of hostile) await put(mallory, JWKS, each);
    await servesOthers(cluster());
    await tenancy.isIdle();
    const commands = [
      ["status", "-A"],
      ...hostile.map(({ metadata: { name } }) => ["status", "-n", "evil", `jwks/${name}`]),
      ["plan", "sidecars", "-A"],
      ["doctor"],
    ];
    let shown = "";
    for (const words of commands) {
      const { output, exit } = startKeyturn(words, { KUBECONFIG: cluster().adminKubeconfig, FORCE_COLOR: "1" });
      await exit;
      expect(output.out + output.err).not.toBe("");
      shown += output.out + output.err;
    }
    expect(shown).toContain("all is well");
    expect(shown).not.toContain("\u001b[32mall is well");
    expect(shown).not.toMatch(/^(?:HEALTHY: line|STEP {2}OBJECTS)$/m);
    // oxlint-disable-next-line no-control-regex -- they are what it is about
    expect(shown.replaceAll(/\u001b\[\d*m/g, "").match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u202a-\u202e]/g)).toBeNull();
  });
});

describe("from any pod", () => {
  test.each([
    ["one address", () => "127.0.0.2"],
    ["an address each", (index: number) => `127.0.${2 + Math.floor(index / 250)}.${1 + (index % 250)}`],
  ])("500 idle connections from %s keep no probe from being answered", async (_from, addressOf) => {
    const sockets: Socket[] = [];
    try {
      for (let index = 0; index < 500; index++) {
        const socket = connect({ host: "127.0.0.1", port: tenancy.healthPort, localAddress: addressOf(index) });
        socket.on("error", () => socket.destroy());
        sockets.push(socket);
        await once(socket, "connect");
      }
      const statuses = [];
      for (let index = 0; index < 8; index++) statuses.push(await tenancy.probe("healthz"), await tenancy.probe("readyz"));
      expect(new Set(statuses)).toEqual(new Set([200]));
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });
});

interface Conditioned extends KubeObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[] };
}

async function conditionsOf(kind: Kind, name: string): Promise<string> {
  const found: Conditioned | undefined = await cluster().client.get<KubeObject>(kind, { namespace: "bank", name });
  return JSON.stringify(Object.fromEntries((found?.status?.conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`])));
}

async function reasonOf(name: string, type: string): Promise<string | undefined> {
  const found: Conditioned | undefined = await cluster().client.get<KubeObject>(JWKSConfig, { namespace: "bank", name });
  return found?.status?.conditions?.find((condition) => condition.type === type)?.reason;
}
