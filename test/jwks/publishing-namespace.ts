// A namespace of the shared cluster in which the JWKS controllers run with exactly the rights that they declare, and what tests do and look at there.
import { Buffer } from "node:buffer";
import {
  collectionPath,
  type Condition,
  ConfigMap,
  createHttpTransport,
  Deployment,
  type Kind,
  type KubeObject,
  loadConfig,
  Secret,
  Service,
  type Stored,
} from "@keyturn/runtime";
import { type ClusterAccess, openWatch, type OpenWatch, type RunningOperator } from "@keyturn/runtime/testing";
import { calculateJwkThumbprint, exportJWK } from "jose";
import { createPublicKey } from "node:crypto";
import { expect } from "vitest";
import { soon } from "@keyturn/runtime/testing/vitest";
import type { FlagReader } from "../../packages/keyturn/src/feature/feature.ts";
import { jwksAccess } from "../../packages/keyturn/src/controllers/jwks/controller.ts";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { jwksFeature } from "../../packages/keyturn/src/controllers/jwks/feature.ts";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { secretData, type TestCertificate } from "../../packages/keyturn/test/certificates.ts";
import { conditionSays, OperatedNamespace, operatorKubeconfig, operatorRules } from "../support/operated-namespace.ts";

/** A key in a document, as verifiers see it. */
type PublishedJwk = Readonly<Record<string, unknown>> & { readonly kid: string; readonly alg: string; readonly x5c: readonly string[] };

function keysOf({ data, binaryData }: Pick<ConfigMap, "data" | "binaryData">): readonly PublishedJwk[] {
  const text = data?.["jwks.json"] ?? Buffer.from(binaryData?.["jwks.json"] ?? "", "base64").toString();
  return (JSON.parse(text) as { readonly keys: readonly PublishedJwk[] }).keys;
}

/** What happened in a namespace since somebody looks. */
interface Witness extends Disposable {
  /** The documents of a ConfigMap that differed from the one before, by their kids. */
  readonly documents: (configMapName: string) => readonly (readonly string[])[];
  /** Every status of a JWKSConfig. */
  readonly statuses: (name: string) => readonly NonNullable<JWKSConfig["status"]>[];
}

/** How an operator under test is started. */
interface StartOptions {
  /** Flags by name. Default: all limits off. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Another kubeconfig than the ServiceAccount's own, such as one through a fault proxy. */
  readonly kubeconfig?: string;
  /** Where its Leases are. Default: this namespace. */
  readonly leases?: string;
}

const access = jwksAccess(true);
const limitsOff = { "jwks.reconcile-interval": "0", "jwks.reconciles-per-minute": "0", "jwks.configmap-interval": "0" };

/** The `kid` of a certificate's key by RFC 7638, as another implementation computes it. */
export async function kidOf({ privateKey }: TestCertificate): Promise<string> {
  return calculateJwkThumbprint(await exportJWK(createPublicKey(privateKey)));
}

/** Makes a namespace with the CRDs served and the operator's ServiceAccount in place. The operator does not run yet. */
export async function publishingNamespace(cluster: ClusterAccess, prefix: string): Promise<PublishingNamespace> {
  await cluster.apply(renderCrds([jwksFeature]));
  const namespace = await cluster.namespace(prefix);
  return new PublishingNamespace(cluster, namespace, await operatorKubeconfig(cluster, namespace, access));
}

/** The namespace. */
export class PublishingNamespace extends OperatedNamespace {
  readonly kubeconfig: string;

  constructor(cluster: ClusterAccess, namespace: string, kubeconfig: string) {
    super(cluster, namespace);
    this.kubeconfig = kubeconfig;
  }

  /** Starts an operator that works in this namespace alone. It is stopped with the test, or by itself before. */
  startOperator({ flags = limitsOff, kubeconfig = this.kubeconfig, leases = this.namespace }: StartOptions = {}): Promise<RunningOperator> {
    const given: Readonly<Record<string, string>> = { "jwks.serving": "true", ...flags };
    const flag: FlagReader = (each) => each.parse(given[each.name]);
    return this.start({ kubeconfig, controllers: jwksFeature.controllers(flag), leaderElection: { namespace: leases } });
  }

  /** Starts one that is installed in a namespace of its own, and works in this one. */
  async startInstallation(flags: Readonly<Record<string, string>>): Promise<{ readonly operator: RunningOperator; readonly leases: string }> {
    const leases = await this.cluster.namespace("installation");
    const kubeconfig = await this.cluster.kubeconfigFor({
      serviceAccount: { namespace: leases, name: "operator" },
      namespacedRules: { [this.namespace]: operatorRules(this.namespace, access), [leases]: operatorRules(leases, access) },
    });
    return { operator: await this.startOperator({ flags, kubeconfig, leases }), leases };
  }

  /** Puts a certificate into a Secret, as cert-manager does when it renews one. */
  putSecret(name: string, { certificate, privateKey }: TestCertificate): Promise<void> {
    return this.putSecretData(name, secretData(certificate, privateKey));
  }

  async putSecretData(name: string, data: Readonly<Record<string, string>>): Promise<void> {
    const { client } = this.cluster;
    const metadata = { namespace: this.namespace, name };
    if (await client.get(Secret, metadata)) await client.replace(Secret, { metadata, type: "Opaque", data });
    else await client.create(Secret, { metadata, type: "Opaque", data });
  }

  /** Creates a JWKSConfig, or changes it to this spec: certificates from Secret `signer`, published in `<name>-jwks`, unless it says otherwise. */
  async putConfig(name: string, spec: Readonly<Record<string, unknown>> = {}, annotations: Readonly<Record<string, string>> = {}): Promise<void> {
    const object = {
      apiVersion: "keyturn.io/v1alpha1",
      kind: "JWKSConfig",
      metadata: { namespace: this.namespace, name, annotations },
      spec: { certificateSecret: "signer", configMapName: `${name}-jwks`, ...spec },
    };
    await this.cluster.apply(object);
  }

  /** Creates a JWKS of rieset.io, as its users write it. */
  async putJwks(name: string, spec: Readonly<Record<string, unknown>> = {}, annotations: Readonly<Record<string, string>> = {}): Promise<void> {
    const object = {
      apiVersion: "rieset.io/v1alpha1",
      kind: "JWKS",
      metadata: { namespace: this.namespace, name, annotations },
      spec: { certificateSecret: "signer", configMapName: `${name}-jwks`, ...spec },
    };
    await this.cluster.apply(object);
  }

  /** Everything that the operator may keep in this namespace, for looking at all of it at once. */
  async allObjects(): Promise<readonly Stored<KubeObject>[]> {
    const kinds: readonly Kind[] = [JWKSConfig, JWKS, ConfigMap, Deployment, Service];
    const lists = await Promise.all(kinds.map((kind) => this.cluster.client.list(kind, { namespace: this.namespace })));
    return lists.flatMap(({ items }) => items);
  }

  /** The keys of a published document, in their order; undefined while there is no ConfigMap. Fails if it is no JWKS. */
  async keysIn(configMapName: string): Promise<readonly PublishedJwk[] | undefined> {
    const configMap = await this.get(ConfigMap, configMapName);
    return configMap && keysOf(configMap);
  }

  /** Somebody who misses nothing that happens from now on. */
  async witness(): Promise<Witness> {
    const transport = createHttpTransport(await loadConfig({ kubeconfig: this.cluster.adminKubeconfig, env: {} }));
    const watch = async (kind: typeof ConfigMap | typeof JWKSConfig): Promise<OpenWatch> => {
      const { resourceVersion } = await this.cluster.client.list<KubeObject>(kind, { namespace: this.namespace });
      return await openWatch(transport, `${collectionPath(kind, this.namespace)}?watch=true&resourceVersion=${resourceVersion}`);
    };
    const [configMaps, configs] = [await watch(ConfigMap), await watch(JWKSConfig)];
    const seenOf = ({ lines }: OpenWatch, name: string): readonly unknown[] =>
      lines.map(({ object }) => object).filter((object) => (object as KubeObject).metadata.name === name);
    return {
      documents: (name) => {
        const texts = seenOf(configMaps, name).map((object) => keysOf(object as ConfigMap).map(({ kid }) => kid));
        return texts.filter((kids, index) => index === 0 || kids.join() !== texts[index - 1]?.join());
      },
      statuses: (name) => seenOf(configs, name).map((object) => (object as JWKSConfig).status ?? {}),
      [Symbol.dispose]: () => transport.close(),
    };
  }

  /** The kids of a published document. */
  async kidsIn(configMapName: string): Promise<readonly string[] | undefined> {
    return (await this.keysIn(configMapName))?.map(({ kid }) => kid);
  }

  /** Waits until exactly these certificates' keys are published, in this order. */
  async published(configMapName: string, certificates: readonly TestCertificate[]): Promise<void> {
    const kids = await Promise.all(certificates.map(kidOf));
    await soon(async () => expect(await this.kidsIn(configMapName)).toEqual(kids));
  }

  async status(name: string, kind: typeof JWKSConfig | typeof JWKS = JWKSConfig): Promise<NonNullable<JWKSConfig["status"]>> {
    return (await this.get<JWKSConfig | JWKS>(kind, name))?.status ?? {};
  }

  async condition(name: string, type: string, kind: typeof JWKSConfig | typeof JWKS = JWKSConfig): Promise<Condition | undefined> {
    const { conditions = [] } = await this.status(name, kind);
    return conditions.find((condition) => condition.type === type);
  }

  /** Waits until a condition says this, such as `False Conflict`, and resolves to its message. */
  conditionSays(name: string, type: string, wanted: string, kind: typeof JWKSConfig | typeof JWKS = JWKSConfig): Promise<string> {
    return conditionSays(() => this.condition(name, type, kind), wanted);
  }
}
