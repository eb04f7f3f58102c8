// What a controller of the product works on in a scenario: so many objects, and everything around them that it talks to. Here those that need no more than the API server.
import { generateKeyPairSync } from "node:crypto";
import { readFile } from "node:fs/promises";
import { collectionPath, ConfigMap, Deployment, type Kind, Namespace, Secret, Service } from "@keyturn/runtime";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { SecretCheckSum } from "../../packages/keyturn/src/controllers/checksum/api.ts";
import { defaultVersionAnnotation } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { Kyma } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { features } from "../../packages/keyturn/src/registry.ts";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import type { Bed } from "../scenario.ts";
import { clearNamespace, createCustom, forEachIndex, setName, sourceOf } from "./seeding.ts";

/** The surroundings of one controller at one size, in a namespace of their own. Disposing of it removes what would slow down later runs. */
export interface ControllerWorld extends AsyncDisposable {
  readonly namespace: string;
  /** The feature's flags that fit this world. */
  readonly flags: Readonly<Record<string, string>>;
  /** How many of what `programs/controller.ts` counts are there when all is done. */
  readonly wanted: number;
  /** How many requests have been made so far to others than the API server. */
  readonly asked?: () => number;
}

/** Makes a world of `size` objects; `name` is part of the name of its namespace, and used once. */
export type MakeWorld = (bed: Bed, options: { readonly name: string; readonly size: number }) => Promise<ControllerWorld>;

/**
 * Applies the definitions of the kinds that the product serves, and of the Kyma, which it reads; again does no harm. The API server begins to fill its cache of a kind when it is first
 * asked for it, and puts off watches for a second until then: the first controller would pay for that.
 */
export async function applyProductCrds({ cluster }: Bed): Promise<void> {
  await cluster.apply(renderCrds(features));
  await cluster.apply(await readFile(new URL("../../examples/issue/kyma-crd.yaml", import.meta.url), "utf8"));
  const kinds: readonly Kind[] = [...features.flatMap((feature) => feature.kinds), Kyma];
  await Promise.all(kinds.map((kind) => cluster.client.request({ method: "GET", path: `${collectionPath(kind)}?resourceVersion=0&limit=1` })));
}

/**
 * Worlds of rotation sets: sources, and targets that are to follow them. `targets` has the names of each set's targets after the set's own, in their order, with their delays;
 * the objects of targets are made by whoever rotates.
 */
export function rotationWorlds(targets: Readonly<Record<string, string>>): MakeWorld {
  return async ({ cluster: { client } }, { name: world, size }) => {
    const namespace = `bench-rotation-${world}`;
    await client.create(Namespace, { metadata: { name: namespace } });
    await forEachIndex(size, async (index) => {
      await client.create(Secret, sourceOf(namespace, index, "value 1"));
      for (const [order, [name, rotationDelay]] of Object.entries(targets).entries()) {
        const spec = { rotationSet: setName(index), rotationOrder: order + 1, rotationDelay };
        await createCustom(client, { kind: RotationTarget, namespace, name: `${setName(index)}-${name}`, spec });
      }
    });
    return {
      namespace,
      flags: {},
      wanted: size,
      [Symbol.asyncDispose]: () => clearNamespace(client, namespace, [RotationTarget, Secret]),
    };
  };
}

/** Certificates, and a JWKSConfig that publishes each. One certificate for all: what differs between objects is their names. */
export const createJwksWorld: MakeWorld = async ({ cluster: { client } }, { name: world, size }) => {
  const namespace = `bench-jwks-${world}`;
  const { certificate, privateKey } = makeCertificate({ privateKey: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey });
  const data = secretData(certificate, privateKey);
  await client.create(Namespace, { metadata: { name: namespace } });
  await forEachIndex(size, async (index) => {
    const name = `object-${String(index).padStart(4, "0")}`;
    await client.create(Secret, { metadata: { namespace, name }, type: "kubernetes.io/tls", data });
    const spec = { certificateSecret: name, configMapName: `${name}-jwks`, nginxConfigMapName: `${name}-nginx` };
    await createCustom(client, { kind: JWKSConfig, namespace, name, spec });
  });
  return {
    namespace,
    // What is waited for on purpose would only hide what is worked.
    flags: { "jwks.serving": "true", "jwks.reconcile-interval": "0s", "jwks.configmap-interval": "0s" },
    wanted: size,
    [Symbol.asyncDispose]: () => clearNamespace(client, namespace, [Service, Deployment, ConfigMap, Secret]),
  };
};

function checksumNamespace(size: number): string {
  return `bench-checksum-${size}`;
}

/** Creates so many Secrets (RSA 2048, a leaf and its issuer) in a namespace under one checksum. One certificate for all, as above. */
export async function seedCertificates({ cluster: { client }, say }: Bed, size: number): Promise<void> {
  say(`creating ${size} Secrets with certificates`);
  const namespace = checksumNamespace(size);
  const issuer = makeCertificate({ keyType: "rsa2048", commonName: "issuer" });
  const leaf = makeCertificate({ keyType: "rsa2048", issuer });
  const data = secretData(leaf.certificate + issuer.certificate, leaf.privateKey);
  await client.create(Namespace, { metadata: { name: namespace } });
  await forEachIndex(size, async (index) => {
    const metadata = { namespace, name: `shop-${index}`, annotations: { [defaultVersionAnnotation]: "1" } };
    await client.create(Secret, { metadata, type: "kubernetes.io/tls", data }, { fieldManager: "bench", answer: "metadata" });
  });
}

/** The seeded namespace of that size. Its Secrets stay; what was published of them goes. */
export function checksumWorld({ cluster: { client } }: Bed, size: number): ControllerWorld {
  const namespace = checksumNamespace(size);
  return {
    namespace,
    // Without settling, which would only be waited for.
    flags: { "checksum.kinds": "secrets", "checksum.namespaces": namespace, "checksum.keep": "1", "checksum.settle": "0s" },
    wanted: 1,
    [Symbol.asyncDispose]: () => clearNamespace(client, namespace, [SecretCheckSum]),
  };
}
