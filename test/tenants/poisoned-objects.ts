// Objects made to cost whoever reads them as much as they can: of every kind that is watched, as long as the API server takes them. The first ones have names,
// because each has once stopped an operator, ours or another, or was made to; the others are mutations of valid ones, from a seed.
import { Buffer } from "node:buffer";
import { generateKeyPairSync } from "node:crypto";
import { deflateRawSync, gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";

/** As JSON, for the API server. */
export interface Poison {
  readonly name: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** `plural` or `plural.group`, as metrics have it. */
  readonly resource: string;
  readonly object: Readonly<Record<string, unknown>>;
}

const base64 = (content: string | Uint8Array): string => Buffer.from(content).toString("base64");
/** All annotations of an object may have 256 KiB together, and what a Secret or ConfigMap holds 1 MiB. */
const [annotationBytes, dataBytes] = [255 * 1024, 1_040_000];
const managed = { "app.kubernetes.io/managed-by": "keyturn" };
const domain = "rotator.k8s.telekom.com";

/** Of texts that take long: what expressions stumble on, numbers that cannot be counted, depth, and what unpacks to more. */
const texts: Readonly<Record<string, (length: number) => string>> = {
  lines: (length) => `BEGIN CERTIFICATE${"\n".repeat(length - 17)}`,
  "beginnings of PEM": (length) => "-----BEGIN CERTIFICATE-----\n".repeat(Math.floor(length / 28)),
  dashes: (length) => "-".repeat(length),
  spaces: (length) => `${" ".repeat(length - 1)}x`,
  commas: (length) => ",".repeat(length),
  digits: (length) => "9".repeat(length),
  brackets: (length) => "[".repeat(length),
  "nested objects": (length) => `${'{"a":'.repeat(Math.floor(length / 6))}1${"}".repeat(Math.floor(length / 6))}`,
  quotes: (length) => `"${"\\".repeat(length - 2)}"`,
  "escaped characters": (length) => `"${"\\u0000".repeat(Math.floor(length / 6) - 1)}"`,
  words: (length) => "a=b ".repeat(Math.floor(length / 4)),
  "aliases of YAML": (length) => {
    const levels = Array.from({ length: 20 }, (_, level) => `l${level}: &l${level} [${`*l${level - 1},`.repeat(level === 0 ? 0 : 9)}x]`).join("\n");
    return levels.padEnd(length, " ");
  },
  "versions, as of a set": (length) => Array.from({ length: Math.floor(length / 10) }, (_, index) => 100_000_000 + index).join(","),
};

/** Annotations that are read, by any controller. */
const annotations = [
  "keyturn.io/abandon",
  "keyturn.io/adopt-application",
  "keyturn.io/algorithm",
  "keyturn.io/application-asked-at",
  "keyturn.io/applied",
  "keyturn.io/give-up-versions",
  "keyturn.io/identity-provider",
  "keyturn.io/jwks-history",
  "keyturn.io/key-id",
  "keyturn.io/owner",
  "keyturn.io/paused",
  "keyturn.io/publish-before",
  "keyturn.io/recent-peaks",
  "keyturn.io/replace-applications-at",
  "keyturn.io/revoke",
  "keyturn.io/sidecar-restarted-for",
  "nginx.ingress.kubernetes.io/version",
  `${domain}/applied-at`,
  `${domain}/digest`,
  `${domain}/log`,
  `${domain}/proof`,
  `${domain}/rotate-path`,
  `${domain}/rotation-set`,
  `${domain}/seen-at`,
  `${domain}/version`,
  `${domain}/watch-digest`,
  `${domain}/watch-path`,
  "fortsa.scaffidi.net/restartedAt",
  "proxy.istio.io/config",
  "sidecar.istio.io/status",
];
/** So many share the room that there is, so that each is long. */
const together = 15;

interface Place {
  readonly apiVersion: string;
  readonly kind: string;
  readonly resource: string;
  /** What a valid one has besides its metadata. */
  readonly rest: object;
  readonly labels?: Readonly<Record<string, string>>;
  /** Annotations that make somebody read it. */
  readonly marks?: Readonly<Record<string, string>>;
}

const podSpec = { containers: [{ name: "app", image: "example.com/app:1" }] };
const template = { metadata: { labels: { app: "poison" } }, spec: podSpec };
const workload = { selector: { matchLabels: { app: "poison" } }, template };

/** A valid object of every kind that is watched, but for those that only the cluster's administrator may write. */
const places: readonly Place[] = [
  {
    apiVersion: "v1",
    kind: "Secret",
    resource: "secrets",
    rest: { data: { key: base64("x") } },
    marks: { [`${domain}/rotation-set`]: "poison", [`${domain}/source`]: "true" },
  },
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    resource: "configmaps",
    rest: { data: { "jwks.json": '{"keys":[]}' } },
    labels: { ...managed, "keyturn.io/jwks-source": "true", "istio.io/rev": "default" },
  },
  { apiVersion: "v1", kind: "Service", resource: "services", rest: { spec: { ports: [{ port: 80 }] } }, labels: managed },
  { apiVersion: "v1", kind: "Pod", resource: "pods", rest: { spec: podSpec } },
  { apiVersion: "apps/v1", kind: "Deployment", resource: "deployments.apps", rest: { spec: { ...workload, replicas: 0 } }, labels: managed },
  { apiVersion: "apps/v1", kind: "StatefulSet", resource: "statefulsets.apps", rest: { spec: { ...workload, replicas: 0, serviceName: "poison" } } },
  {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    resource: "daemonsets.apps",
    rest: { spec: { ...workload, template: { ...template, spec: { ...podSpec, nodeSelector: { none: "here" } } } } },
  },
  { apiVersion: "apps/v1", kind: "ReplicaSet", resource: "replicasets.apps", rest: { spec: { ...workload, replicas: 0 } } },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    resource: "ingresses.networking.k8s.io",
    rest: { spec: { defaultBackend: { service: { name: "x", port: { number: 80 } } } } },
  },
  {
    apiVersion: `${domain}/v1`,
    kind: "RotationTarget",
    resource: `rotationtargets.${domain}`,
    rest: { spec: { rotationSet: "poison", rotationOrder: 1 } },
  },
  {
    apiVersion: "keyturn.io/v1alpha1",
    kind: "JWKSConfig",
    resource: "jwksconfigs.keyturn.io",
    rest: { spec: { certificateSecret: "poison", configMapName: "poison-jwks" } },
  },
  {
    apiVersion: "rieset.io/v1alpha1",
    kind: "JWKS",
    resource: "jwks.rieset.io",
    rest: { spec: { certificateSecret: "poison", configMapName: "poison-jwks" } },
  },
  {
    apiVersion: "operator.kyma-project.io/v1beta2",
    kind: "Kyma",
    resource: "kymas.operator.kyma-project.io",
    rest: { spec: { channel: "regular" } },
  },
  { apiVersion: "operator.kyma-project.io/v1alpha1", kind: "EventingAuth", resource: "eventingauths.operator.kyma-project.io", rest: { spec: {} } },
  {
    apiVersion: "networking.istio.io/v1beta1",
    kind: "ProxyConfig",
    resource: "proxyconfigs.networking.istio.io",
    rest: { spec: { image: { imageType: "debug" }, environmentVariables: { A: "b" } } },
  },
  { apiVersion: "argoproj.io/v1alpha1", kind: "Rollout", resource: "rollouts.argoproj.io", rest: { spec: { ...workload, replicas: 0 } } },
  ...["SecretCheckSum", "IngressCheckSum"].map((kind) => ({
    apiVersion: "tengine.taobao.org/v1",
    kind,
    resource: `${kind.toLowerCase()}s.tengine.taobao.org`,
    rest: { spec: { checksum: "0".repeat(32), timestamp: "2026-01-01T00:00:00Z", ids: [] } },
    labels: managed,
    marks: { "keyturn.io/owner": "namespaces/poison" },
  })),
];

/** Of which kinds there are some. */
export const poisonedResources: readonly string[] = places.map(({ resource }) => resource);

let count = 0;

function poison(what: string, place: Place, change: { readonly metadata?: object; readonly rest?: object; readonly type?: string } = {}): Poison {
  const { apiVersion, kind, resource, labels = {}, marks = {}, rest } = place;
  // A number at the end, because checksums count such names.
  const metadata = { name: `poison-${++count}`, labels, annotations: { "nginx.ingress.kubernetes.io/version": "1", ...marks }, ...change.metadata };
  const object = { apiVersion, kind, metadata, ...rest, ...change.rest, ...(change.type !== undefined && { type: change.type }) };
  return { name: `${kind}: ${what}`, apiVersion, kind, resource, object };
}

function placeOf(kind: string): Place {
  const place = places.find((each) => each.kind === kind);
  if (!place) throw new Error(`no valid ${kind} is known`);
  return place;
}

/** A set of keys that are all different, as long as a ConfigMap can be. */
function manyKeys(): string {
  const { n: _n, ...key } = { kty: "OKP", crv: "Ed25519", n: "" };
  return JSON.stringify({
    keys: Array.from({ length: 9000 }, (_, index) => ({ ...key, kid: `k${index}`, x: Buffer.alloc(32, index).toString("base64url") })),
  });
}

/** Those that have a name. */
function named(): readonly Poison[] {
  const [secret, configMap] = [placeOf("Secret"), placeOf("ConfigMap")];
  const { certificate, privateKey } = makeCertificate();
  const large = generateKeyPairSync("rsa", { modulusLength: 8192 });
  const rsa = makeCertificate({ privateKey: large.privateKey });
  const chain = certificate.repeat(150);
  const long = "x".repeat(dataBytes);
  const zeros = Buffer.alloc(400 * 1024 * 1024);
  const record = (content: Uint8Array, what: string): Poison =>
    poison(what, secret, {
      metadata: {
        labels: managed,
        annotations: {
          [`${domain}/rotation-set`]: "poison",
          [`${domain}/version`]: "999999999",
          [`${domain}/digest`]: "00",
          [`${domain}/watch-digest`]: "00",
          [`${domain}/kind`]: "secrets",
          [`${domain}/seen-at`]: "2026-01-01T00:00:00Z",
          [`${domain}/log`]: JSON.stringify({ commits: Array.from({ length: 5000 }, (_, seq) => ({ seq, digest: "0".repeat(8), at: {} })) }),
        },
      },
      rest: { data: { content: base64(content) } },
      type: `${domain}/version`,
    });
  return [
    // Nobody has said how long the texts in these may be.
    ...["ProxyConfig", "Rollout"].flatMap((kind) =>
      ["spaces", "digits", "nested objects"].map((what) =>
        poison(`a megabyte of ${what}`, placeOf(kind), {
          rest: { spec: { ...workload, replicas: 0, environmentVariables: { A: texts[what]?.(1_000_000) } } },
        }),
      ),
    ),
    poison("20,000 variables", placeOf("ProxyConfig"), {
      rest: { spec: { environmentVariables: Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`V${index}`, "x"])) } },
    }),
    ...Object.entries(texts).flatMap(([what, text]) => [
      poison(`a tls.crt of ${what}`, secret, { rest: { data: { "tls.crt": base64(text(dataBytes)), "tls.key": base64("x") } } }),
      poison(`a tls.crt that is just short enough, of ${what}`, secret, {
        rest: { data: { "tls.crt": base64(text(127 * 1024)), "tls.key": base64(text(31 * 1024)) } },
      }),
      poison(`a document of ${what}`, configMap, { rest: { data: { "jwks.json": text(dataBytes), values: "" } } }),
      poison(`values of ${what}`, configMap, { rest: { data: { values: text(dataBytes), mesh: "" } } }),
    ]),
    poison("a chain of 150 certificates", secret, { rest: { data: secretData(chain, privateKey) } }),
    poison("an RSA key of 8,192 bits", secret, { rest: { data: secretData(rsa.certificate, rsa.privateKey) } }),
    poison("20,000 keys", secret, { rest: { data: Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, base64("x")])) } }),
    poison("a megabyte", secret, { rest: { data: { key: base64(long) } } }),
    poison("9,000 public keys", configMap, { rest: { data: { "jwks.json": manyKeys() } } }),
    record(gzipSync(zeros), "a record that unpacks to 400 MB"),
    record(deflateRawSync(zeros), "a record that unpacks to 400 MB, without a head"),
    record(Buffer.alloc(1_000_000, 7), "a record of noise"),
    poison("100 sources and a wide CORS list", placeOf("JWKSConfig"), {
      rest: {
        spec: {
          certificateSecret: "poison",
          configMapName: "poison-jwks",
          certificateSecrets: Array.from({ length: 64 }, (_, index) => `poison-${index}`),
          mergedConfigMaps: Array.from({ length: 16 }, (_, index) => `poison-${index + 100}`),
          nginx: { corsOrigins: Array.from({ length: 64 }, (_, index) => `https://${"a".repeat(280)}${index}`) },
        },
      },
    }),
    ...["certificateSecret", "configMapName", "oldKeysTTL", "reconcileInterval"].flatMap((field) =>
      ["spaces", "digits", "brackets"].map((what) =>
        poison(`a ${field} of ${what}`, placeOf("JWKS"), {
          rest: { spec: { certificateSecret: "poison", configMapName: "poison-jwks", [field]: texts[what]?.(1_000_000) } },
        }),
      ),
    ),
    poison("40,000 ids", placeOf("SecretCheckSum"), {
      rest: {
        spec: {
          checksum: "0".repeat(32),
          timestamp: "2026-01-01T00:00:00Z",
          ids: Array.from({ length: 40_000 }, (_, index) => `${index}-1-${"0".repeat(12)}`),
        },
      },
    }),
    poison("a pod of 1,000 containers", placeOf("Pod"), {
      rest: {
        spec: {
          containers: Array.from({ length: 1000 }, (_, index) => ({
            name: `c${index}`,
            image: "example.com/app:1",
            env: [{ name: "a", value: "x".repeat(500) }],
          })),
        },
      },
    }),
    ...["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"].map((kind) => {
      const place = placeOf(kind) as Place & { readonly rest: { readonly spec: object } };
      const containers = [
        {
          name: "app",
          image: `example.com/${"a/".repeat(100)}app:1`,
          args: Array.from({ length: 20_000 }, (_, index) => `--argument-${index}=${"x".repeat(30)}`),
        },
      ];
      return poison("20,000 arguments", place, {
        rest: { spec: { ...place.rest.spec, template: { ...template, spec: { ...podSpec, nodeSelector: { none: "here" }, containers } } } },
      });
    }),
    poison("20,000 paths", placeOf("Ingress"), {
      rest: {
        spec: {
          rules: [
            {
              http: {
                paths: Array.from({ length: 8000 }, (_, index) => ({
                  path: `/${index}`,
                  pathType: "Prefix",
                  backend: { service: { name: "x", port: { number: 80 } } },
                })),
              },
            },
          ],
        },
      },
    }),
  ];
}

/** What any object can have in its metadata. */
function inMetadata(): readonly Poison[] {
  const each = Math.floor(annotationBytes / together) - 100;
  const kinds = Object.values(texts);
  return places.flatMap((place) => [
    // Each annotation meets other texts in each of them.
    ...[0, 3, 6, 9].flatMap((turn) =>
      [0, together].map((first) => {
        const values = annotations.slice(first, first + together).map((key, index) => [key, kinds[(index + turn) % kinds.length]?.(each)]);
        const what = `long annotations from ${annotations[first]} on, turned by ${turn}`;
        return poison(what, place, { metadata: { annotations: { ...place.marks, ...Object.fromEntries(values) } } });
      }),
    ),
    poison("10,000 annotations", place, {
      metadata: { annotations: Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`keyturn.io/a${index}`, "x"])) },
    }),
    poison("500 owners", place, {
      metadata: {
        ownerReferences: Array.from({ length: 500 }, (_, index) => ({ apiVersion: "v1", kind: "ConfigMap", name: `o${index}`, uid: `u${index}` })),
      },
    }),
  ]);
}

/** Valid objects with some of their texts, numbers and members replaced by others. */
function mutated(seed: number, runs: number): readonly Poison[] {
  const strange = fc.oneof(
    fc.constantFrom(...Object.values(texts)).map((text) => text(20_000)),
    fc.constantFrom("", "\u0000", "\u202e", "__proto__", "constructor", "../..", "9007199254740993", "-1", "1e999", "NaN", "null"),
    fc.constantFrom(0, -1, 1e21, 2 ** 53, null, true, [], {}),
    fc.string({ unit: "binary", maxLength: 200 }),
  );
  const change = (value: unknown, draw: () => unknown, chance: () => boolean): unknown => {
    if (chance()) return draw();
    if (Array.isArray(value)) return value.map((each) => change(each, draw, chance));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, change(each, draw, chance)]));
  };
  const one = fc.tuple(
    fc.constantFrom(...places),
    fc.array(strange, { minLength: 1, maxLength: 5 }),
    fc.array(fc.nat(9), { minLength: 20, maxLength: 20 }),
  );
  return fc.sample(one, { seed, numRuns: runs }).map(([place, values, dice], index) => {
    let [drawn, rolled] = [0, 0];
    const rest = change(
      place.rest,
      () => values[drawn++ % values.length],
      () => dice[rolled++ % dice.length] === 0,
    ) as object;
    return poison(`mutation ${index} of seed ${seed}`, place, { rest });
  });
}

/** All of them: the corpus. Whoever finds another that takes long adds it to those with a name. */
export function poisonedObjects({ seed, mutations }: { readonly seed: number; readonly mutations: number }): readonly Poison[] {
  count = 0;
  return [...named(), ...inMetadata(), ...mutated(seed, mutations)];
}
