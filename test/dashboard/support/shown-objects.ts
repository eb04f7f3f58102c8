// Objects for the dashboard to show.
import type { KubeObject } from "@keyturn/runtime";
import type { ClusterAccess } from "@keyturn/runtime/testing";
import { makeCertificate, secretData } from "../../../packages/keyturn/test/certificates.ts";

interface Written extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: unknown;
  readonly type?: string;
}

/** Makes a namespace, if need be, and applies objects to it. */
export async function applyIn(cluster: ClusterAccess, namespace: string, objects: readonly Written[]): Promise<void> {
  await cluster.apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }]);
  await cluster.apply(objects.map((object) => ({ ...object, metadata: { ...object.metadata, namespace } })));
}

/** A JWKSConfig `<name>` with its certificate in Secret `<name>-tls`. */
export async function publishKeys(cluster: ClusterAccess, namespace: string, name: string): Promise<void> {
  const { certificate, privateKey } = makeCertificate();
  await applyIn(cluster, namespace, [
    { apiVersion: "v1", kind: "Secret", type: "kubernetes.io/tls", metadata: { name: `${name}-tls` }, data: secretData(certificate, privateKey) },
    {
      apiVersion: "keyturn.io/v1alpha1",
      kind: "JWKSConfig",
      metadata: { name },
      spec: { certificateSecret: `${name}-tls`, configMapName: `${name}-jwks` },
    },
  ]);
}

/** A rotation set with its source `<set>-source` and targets `<set>-live` and `<set>-previous`, the second of which follows after a minute. */
export async function rotateKeys(cluster: ClusterAccess, namespace: string, set: string, content = "first"): Promise<void> {
  const target = (name: string, rotationOrder: number, rotationDelay: string): Written => ({
    apiVersion: "rotator.k8s.telekom.com/v1",
    kind: "RotationTarget",
    metadata: { name: `${set}-${name}` },
    spec: { rotationSet: set, rotationOrder, rotationDelay },
  });
  const annotations = { "rotator.k8s.telekom.com/rotation-set": set, "rotator.k8s.telekom.com/source": "true" };
  await applyIn(cluster, namespace, [
    target("live", 1, "0s"),
    target("previous", 2, "1m"),
    { apiVersion: "v1", kind: "Secret", metadata: { name: `${set}-source`, annotations }, data: { key: Buffer.from(content).toString("base64") } },
  ]);
}
