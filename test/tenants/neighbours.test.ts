// What each user of a cluster can make an installation do to others: nothing. Everything is switched on, and whoever attacks is a real user of the API server.
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { ConfigMap, Deployment, type Kind, type KubeObject, keyOf, Secret, Service } from "@keyturn/runtime";
import { everything } from "@keyturn/runtime/testing";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EventingAuth } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { objectProof, sealOf } from "../../packages/keyturn/src/controllers/rotation/seal.ts";
import { restartedAtAnnotation, rolloutLabel, rolloutLabelValue } from "../../packages/keyturn/src/workloads/annotations.ts";
import {
  deployment,
  encoded,
  isReady,
  jwksConfig,
  object,
  openBank,
  pictureOf,
  rotationTarget,
  runtime,
  servesOthers,
  source,
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

const put = (who: Actor, kind: Kind, what: KubeObject): Promise<unknown> => who.client.create(kind, what);

const domain = "rotator.k8s.telekom.com";
const ours = { "app.kubernetes.io/managed-by": "keyturn" };
const owners = [
  `rotationtargets.${domain}/bank/live`,
  "jwksconfigs.keyturn.io/bank/tokens",
  "jwks.rieset.io/bank/old",
  "namespaces/bank",
  `eventingauths.operator.kyma-project.io/${runtime.namespace}/${runtime.name}`,
];

/** What carries the marks of somebody else's objects: of every owner there is, in every kind that is kept for one. */
function forgeries(namespace: string): readonly (readonly [Kind, KubeObject])[] {
  const seal = sealOf(randomBytes(32));
  return owners.flatMap((owner, index) => {
    const proof = objectProof(
      seal,
      { setKey: keyOf({ namespace: "bank", name: "vault" }), targetKey: keyOf({ namespace: "bank", name: "live" }) },
      { seq: 2, digest: "00", atMs: 0 },
    );
    const annotations = {
      "keyturn.io/owner": owner,
      [`${domain}/version`]: "2",
      [`${domain}/digest`]: "00",
      [`${domain}/applied-at`]: "2026-01-01T00:00:00.000Z",
      [`${domain}/proof`]: proof,
      "keyturn.io/jwks-history": "[]",
    };
    const metadata = { namespace, name: `forged-${index}`, labels: ours, annotations };
    const forged = deployment(namespace, `forged-${index}`, ours);
    return [
      [ConfigMap, { metadata, data: { "jwks.json": '{"keys":[]}' } }],
      [Secret, { metadata, data: { key: encoded("forged") } }],
      [Service, { metadata, spec: { ports: [{ port: 80 }] } }],
      [Deployment, { ...forged, metadata: { ...forged.metadata, annotations } }],
    ] as const;
  });
}

/** Each gets a namespace of its own, as large as `evil`. */
const attacks: readonly (readonly [string, (who: Actor, namespace: string) => Promise<unknown>])[] = [
  ["the marks of all others' objects", (who, namespace) => Promise.all(forgeries(namespace).map(([kind, forged]) => put(who, kind, forged)))],
  [
    "records of others' versions, and names of the installation's own objects",
    (who, namespace) =>
      Promise.all([
        put(
          who,
          Secret,
          object("v1", "Secret", { namespace, name: "keyturn-installation-key" }, { data: { key: randomBytes(32).toString("base64") } }),
        ),
        ...["vault-1", "vault-2", "vault-9007199254740992"].map((name) =>
          put(
            who,
            Secret,
            object(
              "v1",
              "Secret",
              {
                namespace,
                name,
                labels: ours,
                annotations: { [`${domain}/version`]: "9007199254740991", [`${domain}/rotation-set`]: "vault", [`${domain}/log`]: "[]" },
              },
              { type: `${domain}/version`, data: { content: encoded("x") } },
            ),
          ),
        ),
        put(who, ConfigMap, object("v1", "ConfigMap", { namespace, name: "keyturn-restarts" }, { data: { restarts: "[]" } })),
      ]),
  ],
  [
    "a set, a target and a source of others' names",
    (who, namespace) =>
      Promise.all([
        put(who, Secret, source(namespace, "vault", "evil")),
        ...["live", "before"].map((name, index) =>
          cluster().client.create(
            kindOfTarget,
            rotationTarget(namespace, name, { rotationSet: "vault", rotationOrder: index + 1, deletionMode: "cascade" }),
          ),
        ),
      ]),
  ],
  [
    "names that lead out of the namespace",
    (who, namespace) =>
      Promise.all(
        [
          "..",
          ".",
          "../../bank/configmaps/tokens-jwks",
          "..%2f..%2fbank%2fconfigmaps%2ftokens-jwks",
          "bank/tokens-jwks",
          "x/status",
          "a?force=true",
          "a#b",
          "a\r\nx: y",
        ].map((odd, index) =>
          put(
            who,
            JWKS,
            object(
              "rieset.io/v1alpha1",
              "JWKS",
              { namespace, name: `way-out-${index}` },
              { spec: { certificateSecret: odd, configMapName: odd, nginxConfigMapName: `${odd}x` } },
            ),
          ),
        ),
      ),
  ],
  [
    "a certificate of others' Secrets",
    async (who, namespace) => {
      await put(
        who,
        JWKSConfig,
        jwksConfig(namespace, "tokens", { certificateSecret: "signer", configMapName: "tokens-jwks", mergedConfigMaps: ["old-jwks"] }),
      );
      await put(
        who,
        JWKS,
        object(
          "rieset.io/v1alpha1",
          "JWKS",
          { namespace, name: "old" },
          { spec: { certificateSecret: "../bank/signer", configMapName: "old-jwks" } },
        ),
      );
    },
  ],
  [
    "a rollout that never ends, and the injector's configuration",
    (who, namespace) =>
      Promise.all([
        put(
          who,
          Deployment,
          deployment(
            namespace,
            "stuck",
            { [rolloutLabel]: rolloutLabelValue },
            { [restartedAtAnnotation]: "2020-01-01T00:00:00Z", "sidecar.istio.io/inject": "false" },
          ),
        ),
        ...["istio-sidecar-injector", "istio-sidecar-injector-x", "istio"].map((name) =>
          put(
            who,
            ConfigMap,
            object("v1", "ConfigMap", { namespace, name, labels: { "istio.io/rev": "default" } }, { data: { values: "{}", mesh: "{}" } }),
          ),
        ),
      ]),
  ],
];
const kindOfTarget: Kind = { group: domain, version: "v1", kind: "RotationTarget", plural: "rotationtargets", namespaced: true };

describe("with ClusterRole edit in one namespace", () => {
  test.each(attacks)("%s: nothing of others changes, and they are served", async (_name, attack) => {
    const before = await pictureOf(cluster());
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
    });
  });
});

describe("with our kinds alone", () => {
  let dave: Actor;
  beforeAll(async () => {
    const rules = rulesFor(["keyturn.io", "jwksconfigs"], ["rieset.io", "jwks"], [domain, "rotationtargets"]);
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
        kindOfTarget,
        rotationTarget("bank", `take-${name}`, { rotationSet: "vault", rotationOrder: 10 + names.indexOf(name), targetName: name }),
      );
    }
    for (const name of names) {
      await soon(async () => expect(await conditionsOf(JWKSConfig, name)).toMatch(/"Ready":"False/));
      await soon(async () => expect(await conditionsOf(kindOfTarget, `take-${name}`)).toMatch(/"Ready":/));
    }
    await tenancy.isIdle();
    expect(await read()).toEqual(before);
    const seen = JSON.stringify([
      await dave.client.list(JWKSConfig, { namespace: "bank" }),
      await dave.client.list(kindOfTarget, { namespace: "bank" }),
    ]);
    expect(seen).not.toContain("hunter2-of-the-bank");
    expect(seen).not.toContain(encoded("hunter2-of-the-bank"));
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
  test("500 idle connections keep no probe from being answered", async () => {
    const sockets: Socket[] = [];
    try {
      for (let index = 0; index < 500; index++) {
        const socket = connect({ host: "127.0.0.1", port: tenancy.healthPort, localAddress: "127.0.0.2" });
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
