// What users do that makes each controller of the registry write all that it can write: objects that come, change and go.
import { Buffer } from "node:buffer";
import { Deployment, Ingress, type Kind, type KubeObject, Namespace, Pod, ReplicaSet, Secret } from "@keyturn/runtime";
import { IngressCheckSum, SecretCheckSum } from "../../packages/keyturn/src/controllers/checksum/api.ts";
import { defaultVersionAnnotation } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { restartOnChangeAnnotation } from "../../packages/keyturn/src/controllers/consumers/annotations.ts";
import { EventingAuth, eventingAuthFinalizer, Kyma } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { RotationTarget, rotationSetAnnotation, sourceAnnotation } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import { defaultSpec } from "../../packages/keyturn/test/jwks-world.ts";
import { restartedAtAnnotation } from "../../packages/keyturn/src/workloads/annotations.ts";
import { Toy } from "./toy-feature.ts";

export const namespace = "default";
/** Where eventing-auth finds its identity provider. */
export const tenantUrl = "https://tenant.example.com";

/** Something that a user does to one object. */
export interface Change {
  readonly kind: Kind;
  readonly object: KubeObject & Readonly<Record<string, unknown>>;
  readonly isGone?: boolean;
}

/** A life of objects that one controller looks after. */
export interface Scenario {
  /** What happens at once stands together; what follows happens when the controller is done. */
  readonly life: readonly (readonly Change[])[];
  /** The object that can be paused, and of which Events and the condition tell. */
  readonly tells: string;
  /** Its kind if it has conditions, or the kind that has them for it. */
  readonly condition?: Kind;
  /** The writes that a pause keeps back, by a part of their lines. */
  readonly ofIt: string;
  /** Those that bring to an end what was begun before the pause. */
  readonly endsIt?: readonly string[];
  /** A change that the controller has to look at, another for each count. Default: an annotation of everything that is there first. */
  readonly churn?: (count: number) => readonly Change[];
  /** Names that the controller makes up. */
  readonly madeUp?: RegExp;
  readonly flags?: Readonly<Record<string, string>>;
}

type Content = Omit<KubeObject, "metadata"> & Readonly<Record<string, unknown>> & { readonly metadata?: KubeObject["metadata"] };

const put = (kind: Kind, name: string, { metadata, ...content }: Content = {}): Change => ({
  kind,
  object: { metadata: { ...metadata, ...(kind.namespaced && { namespace }), name }, ...content },
});
const remove = (kind: Kind, name: string): Change => ({ ...put(kind, name), isGone: true });

const certificates = [makeCertificate(), makeCertificate()].map(({ certificate, privateKey }) => secretData(certificate, privateKey));

function jwks(kind: Kind): Scenario {
  const { nginxConfigMapName: _, ...spec } = { ...defaultSpec, cleanupOnDelete: true };
  const tls = (index: number): Change => put(Secret, "tls", { data: certificates[index] });
  return {
    life: [
      [tls(0), put(kind, "site", { spec })],
      [tls(1)],
      [put(kind, "site", { spec: { ...spec, nginxConfigMapName: "nginx" } })],
      [put(kind, "site", { spec })],
      [remove(kind, "site")],
    ],
    condition: kind,
    tells: "site",
    ofIt: " ",
  };
}

function target(name: string, rotationOrder: number): Change {
  const spec = {
    deletionMode: "cascade",
    whenUnfilled: "Backfill",
    changePolicy: "Settled",
    rotationSet: "keys",
    rotationOrder,
    rotationDelay: "1s",
  };
  return put(RotationTarget, name, { spec });
}

function source(value: string): Change {
  const annotations = { [rotationSetAnnotation]: "keys", [sourceAnnotation]: "true" };
  return put(Secret, "source", { metadata: { annotations }, data: { value: Buffer.from(value).toString("base64") } });
}

const chosen = put(Namespace, namespace, { metadata: { labels: { "keyturn.io/checksum": "enabled" } } });
const checksumFlags = { "checksum.keep": "1", "checksum.keep-for": "0" };
const member = (kind: Kind, version: string, content: Content): Change =>
  put(kind, "shop-1", { metadata: { annotations: { [defaultVersionAnnotation]: version } }, ...content });

function checksum(checksums: Kind, kinds: string, changed: (version: string) => Change): Scenario {
  return {
    life: [[chosen, changed("1")], [changed("2")], [changed("3")]],
    // Version 0 counts for nothing.
    churn: (count) => [changed(String(count + 1))],
    condition: checksums,
    tells: namespace,
    ofIt: "checksums",
    madeUp: /(?<=checksums\/)(?:secret|ingress-checksum)-[a-z0-9]+/,
    flags: { ...checksumFlags, "checksum.kinds": kinds },
  };
}

const kubeconfig = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  "current-context": "runtime",
  contexts: [{ name: "runtime", context: { cluster: "runtime", user: "runtime" } }],
  clusters: [{ name: "runtime", cluster: { server: "https://runtime.example.com" } }],
  users: [{ name: "runtime", user: { token: "of-the-runtime" } }],
});
const data = (texts: Readonly<Record<string, string>>): Content => ({
  data: Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")])),
});

const labels = { app: "web" };
const template = { metadata: { labels }, spec: { containers: [{ name: "app", image: "app:1" }] } };
const workload = (observedGeneration: number): Change =>
  put(Deployment, "web", {
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
    status: { observedGeneration, replicas: 1, updatedReplicas: 1, availableReplicas: 1 },
  });
const owner = (kind: Kind, name: string) => ({ ownerReferences: [{ apiVersion: "apps/v1", kind: kind.kind, name, uid: "", controller: true }] });
/** A pod with a sidecar that no webhook would inject today, or one without. */
const pod = (name: string, containers: readonly object[], annotations = {}): Change =>
  put(Pod, name, { metadata: { labels: { ...labels, "pod-template-hash": "1" }, annotations, ...owner(ReplicaSet, "web-1") }, spec: { containers } });
const app = { name: "app", image: "app:1" };

/** The same with a key of a Secret, for whose changes it wants to be restarted. */
const using = (observedGeneration: number): Change => {
  const env = [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } }];
  return put(Deployment, "web", {
    metadata: { annotations: { [restartOnChangeAnnotation]: "auto" } },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ ...app, env }] } } },
    status: { observedGeneration, replicas: 1, updatedReplicas: 1, availableReplicas: 1 },
  });
};

/** By the controller's name. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  toys: {
    life: [[put(Toy, "bear", { spec: { colour: "red" } })], [put(Toy, "bear", { spec: { colour: "blue" } })]],
    condition: Toy,
    tells: "bear",
    ofIt: " ",
  },
  jwks: jwks(JWKSConfig),
  "jwks-rieset": jwks(JWKS),
  rotation: {
    life: [[target("a", 1), target("b", 2), source("1")], [source("2")], [source("3")], [remove(Secret, "source")]],
    condition: RotationTarget,
    tells: "a",
    ofIt: "secrets/a",
    madeUp: /(?<=secrets\/)[\w-]*\d[\w-]*/,
  },
  checksum: checksum(SecretCheckSum, "secrets", (version) => member(Secret, version, { type: "kubernetes.io/tls", data: certificates[0] })),
  "checksum-ingress": checksum(IngressCheckSum, "ingresses", (version) =>
    member(Ingress, version, { spec: { rules: [{ host: `v${version}.example.com` }] } }),
  ),
  "eventing-auth": {
    life: [
      [
        put(Secret, "eventing-auth-ias-creds", data({ url: tenantUrl, username: "admin", password: "admin" })),
        put(Secret, "kubeconfig-runtime", data({ config: kubeconfig })),
        put(EventingAuth, "runtime", { spec: {} }),
      ],
      [remove(EventingAuth, "runtime")],
    ],
    condition: EventingAuth,
    tells: "runtime",
    ofIt: " ",
    flags: {
      "eventing-auth.credentials-namespace": namespace,
      "eventing-auth.kubeconfig-namespace": namespace,
      "eventing-auth.target-namespace": namespace,
    },
  },
  "eventing-auth-kyma": {
    life: [
      [put(Kyma, "runtime", { spec: {} })],
      [remove(Kyma, "runtime")],
      // One that somebody else has made.
      [put(EventingAuth, "other", { metadata: { finalizers: [eventingAuthFinalizer] }, spec: {} }), put(Kyma, "other", { spec: {} })],
    ],
    tells: "runtime",
    ofIt: "eventingauths/runtime",
  },
  sidecars: {
    life: [
      [
        workload(1),
        put(ReplicaSet, "web-1", { metadata: { labels, ...owner(Deployment, "web") } }),
        pod("web-1-x", [app, { name: "istio-proxy", image: "istio/proxyv2:1.26.0" }]),
      ],
      [remove(Pod, "web-1-x"), pod("web-1-y", [app], { [restartedAtAnnotation]: "" }), workload(2)],
    ],
    tells: "web",
    ofIt: " ",
    endsIt: ["PUT leases/keyturn-restarts", "PATCH deployments/web"],
    flags: { "sidecars.istiod-config-read-delay": "0", "sidecars.annotation-cooldown": "0" },
  },
  consumers: {
    life: [[put(Secret, "db", data({ password: "one" })), using(1)], [put(Secret, "db", data({ password: "two" }))], [using(2)]],
    tells: "web",
    ofIt: " ",
    endsIt: ["PUT leases/keyturn-restarts", "PATCH deployments/web"],
  },
};
