// What tenants try against others: objects that carry others' marks, names and proofs, and lead out of their own namespace. Each is written with the actor's own rights.
import { randomBytes } from "node:crypto";
import { ConfigMap, Deployment, type Kind, type KubeObject, keyOf, Secret, Service } from "@keyturn/runtime";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { objectProof, sealOf } from "../../packages/keyturn/src/controllers/rotation/seal.ts";
import { restartedAtAnnotation, rolloutLabel, rolloutLabelValue } from "../../packages/keyturn/src/workloads/annotations.ts";
import { deployment, encoded, jwksConfig, object, rotationTarget, runtime, source } from "./bank.ts";
import type { Actor } from "./tenancy.ts";

/** Creates an object as somebody. */
export const put = (who: Actor, kind: Kind, what: KubeObject): Promise<unknown> => who.client.create(kind, what);

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

/** By what they are. */
export const attacks: readonly (readonly [string, (who: Actor, namespace: string) => Promise<unknown>])[] = [
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
          put(who, RotationTarget, rotationTarget(namespace, name, { rotationSet: "vault", rotationOrder: index + 1, deletionMode: "cascade" })),
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
  [
    "references to others' objects, and what holds a deletion",
    async (who, namespace) => {
      const owner = {
        apiVersion: "keyturn.io/v1alpha1",
        kind: "JWKSConfig",
        name: "tokens",
        uid: "00000000-0000-4000-8000-000000000000",
        controller: true,
      };
      const marks = { ownerReferences: [owner], finalizers: ["keyturn.io/cleanup", "foregroundDeletion"] };
      const metadata = { namespace, name: "tokens-jwks-of-bank", labels: ours, ...marks };
      await put(who, ConfigMap, object("v1", "ConfigMap", metadata, { data: { "jwks.json": '{"keys":[]}' } }));
      await put(who, Secret, source(namespace, "publishing", "one"));
      for (const [index, published] of ["bank/tokens", "../bank/tokens", "tokens?namespace=bank"].entries()) {
        const target = rotationTarget(namespace, `publishing-${index}`, { rotationSet: "publishing", rotationOrder: index + 1 });
        await put(who, RotationTarget, {
          ...target,
          metadata: {
            ...target.metadata,
            annotations: { "keyturn.io/publish-before": published, "keyturn.io/give-up-versions": "1", "keyturn.io/owner": "bank/live" },
          },
        });
      }
    },
  ],
];
