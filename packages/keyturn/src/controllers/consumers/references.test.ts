import { expect, test } from "vitest";
import { referencesOf } from "./references.ts";

type Spec = NonNullable<Parameters<typeof referencesOf>[0]["spec"]>;

/** `secret db/password env`, `secret db file?` for an optional one. */
function seen(spec: object): readonly string[] {
  // As the API server gives it: fields that the types do not name.
  return referencesOf({ spec: spec as Spec }).map(
    ({ kind, name, key, via, optional }) => `${kind.toLowerCase()} ${name}${key === undefined ? "" : `/${key}`} ${via}${optional ? "?" : ""}`,
  );
}

const mounted = (volume: object, ...mounts: readonly object[]): object => ({
  containers: [
    { name: "app", volumeMounts: (mounts.length > 0 ? mounts : [{}]).map((mount) => Object.assign({ name: "v", mountPath: "/v" }, mount)) },
  ],
  volumes: [{ name: "v", ...volume }],
});

const key = { secretKeyRef: { name: "db", key: "password" } };

test.each([
  ["a key in the environment", { containers: [{ name: "a", env: [{ name: "P", valueFrom: key }] }] }, ["secret db/password env"]],
  [
    "an optional key of a ConfigMap",
    { containers: [{ name: "a", env: [{ name: "P", valueFrom: { configMapKeyRef: { name: "c", key: "k", optional: true } } }] }] },
    ["configmap c/k env?"],
  ],
  [
    "all keys in the environment",
    { containers: [{ name: "a", envFrom: [{ secretRef: { name: "db" } }, { configMapRef: { name: "c", optional: true } }] }] },
    ["secret db env", "configmap c env?"],
  ],
  [
    "what is no reference",
    {
      containers: [
        {
          name: "a",
          env: [
            { name: "P", value: "x" },
            { name: "Q", valueFrom: { fieldRef: { fieldPath: "x" } } },
          ],
        },
      ],
    },
    [],
  ],
  [
    "init and ephemeral containers",
    {
      containers: [{ name: "a" }],
      initContainers: [{ name: "i", env: [{ name: "P", valueFrom: key }] }],
      ephemeralContainers: [{ name: "e", envFrom: [{ secretRef: { name: "debug" } }] }],
    },
    ["secret db/password env", "secret debug env"],
  ],
  ["a volume", mounted({ secret: { secretName: "db" } }), ["secret db file"]],
  ["some of its keys", mounted({ secret: { secretName: "db", items: [{ key: "password", path: "p" }] } }), ["secret db/password file"]],
  ["one of its files", mounted({ configMap: { name: "c" } }, { subPath: "app.conf" }), ["configmap c/app.conf env"]],
  [
    "one of its files by another name",
    mounted(
      {
        secret: {
          secretName: "db",
          items: [
            { key: "password", path: "a/p" },
            { key: "user", path: "u" },
          ],
        },
      },
      { subPath: "a/p" },
    ),
    ["secret db/password env"],
  ],
  ["a file whose name is not known yet", mounted({ secret: { secretName: "db" } }, { subPathExpr: "$(NAME)" }), ["secret db env"]],
  ["a volume that is mounted twice", mounted({ secret: { secretName: "db" } }, {}, { subPath: "user" }), ["secret db file", "secret db/user env"]],
  ["a volume that nothing mounts", { containers: [{ name: "a" }], volumes: [{ name: "v", secret: { secretName: "db" } }] }, []],
  [
    "a projected volume",
    mounted({
      projected: {
        sources: [
          { secret: { name: "db", items: [{ key: "password", path: "p" }] } },
          { configMap: { name: "c", optional: true } },
          { serviceAccountToken: { path: "t" } },
        ],
      },
    }),
    ["secret db/password file", "configmap c file?"],
  ],
  [
    "a volume of a secret store",
    mounted({
      csi: { driver: "secrets-store.csi.k8s.io", volumeAttributes: { secretProviderClass: "vault" }, nodePublishSecretRef: { name: "login" } },
    }),
    ["secretproviderclass vault mount", "secret login env"],
  ],
  ["another driver's", mounted({ csi: { driver: "other", volumeAttributes: { secretProviderClass: "vault" } } }), []],
  ["what images are pulled with", { containers: [{ name: "a" }], imagePullSecrets: [{ name: "registry" }] }, ["secret registry pull?"]],
  ["a template without anything", {}, []],
] as const)("%s", (_what, spec, expected) => {
  expect(seen(spec)).toEqual(expected);
});
