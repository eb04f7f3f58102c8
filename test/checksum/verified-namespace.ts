// A namespace of the shared cluster in which the checksum controllers run with exactly the rights that they declare, and what tests do and look at there.
import { Ingress, type Kind, managerAccess, policyRules, Secret, type Stored } from "@keyturn/runtime";
import type { ClusterAccess, RunningOperator } from "@keyturn/runtime/testing";
import { expect } from "vitest";
import { soon } from "@keyturn/runtime/testing/vitest";
import type { FlagReader } from "../../packages/keyturn/src/feature/feature.ts";
import { IngressCheckSum, SecretCheckSum } from "../../packages/keyturn/src/controllers/checksum/api.ts";
import type { CheckSumObject } from "../../packages/keyturn/src/controllers/checksum/check-sum-object.ts";
import { checksumFeature } from "../../packages/keyturn/src/controllers/checksum/feature.ts";
import { defaultVersionAnnotation } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { makeCertificate, secretData, type TestCertificate } from "../../packages/keyturn/test/certificates.ts";
import { OperatedNamespace, operatorKubeconfig } from "../support/operated-namespace.ts";

/** How an operator under test is started. */
interface StartOptions {
  /** Flags by name, beside those that every test has. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Another kubeconfig than the ServiceAccount's own, such as one through a fault proxy. */
  readonly kubeconfig?: string;
}

/** Certificates that come and go; made once, because making them is slow. */
const certificates: readonly TestCertificate[] = Array.from({ length: 6 }, (_, index) => makeCertificate({ commonName: `site-${index}` }));

/** A certificate of the pool. */
export function certificate(index: number): TestCertificate {
  return certificates[index % certificates.length] ?? expect.fail("no certificate");
}

/** Makes a namespace with the CRDs served and the operator's ServiceAccount in place. The operator does not run yet. */
export async function verifiedNamespace(cluster: ClusterAccess, prefix: string): Promise<VerifiedNamespace> {
  await cluster.apply(renderCrds([checksumFeature]));
  const namespace = await cluster.namespace(prefix);
  const access = controllersWith({ "checksum.namespaces": namespace }).flatMap((controller) => controller.access);
  return new VerifiedNamespace(cluster, namespace, await operatorKubeconfig(cluster, namespace, access));
}

function controllersWith(flags: Readonly<Record<string, string>>): ReturnType<typeof checksumFeature.controllers> {
  const flag: FlagReader = (each) => each.parse(flags[each.name]);
  return checksumFeature.controllers(flag);
}

/** The namespace. */
export class VerifiedNamespace extends OperatedNamespace {
  readonly kubeconfig: string;

  constructor(cluster: ClusterAccess, namespace: string, kubeconfig: string) {
    super(cluster, namespace);
    this.kubeconfig = kubeconfig;
  }

  /** Starts an operator that works in this namespace alone, and settles quickly. It is stopped with the test, or by itself before. */
  startOperator({ flags = {}, kubeconfig = this.kubeconfig }: StartOptions = {}): Promise<RunningOperator> {
    return this.start({ kubeconfig, controllers: controllersWith({ "checksum.namespaces": this.namespace, "checksum.settle": "100ms", ...flags }) });
  }

  /** Starts an operator that chooses namespaces by label, in the whole cluster, with exactly the rights that takes. */
  async startClusterOperator(flags: Readonly<Record<string, string>> = {}): Promise<RunningOperator> {
    const { namespace } = this;
    const controllers = controllersWith({ "checksum.settle": "100ms", ...flags });
    const access = controllers.flatMap((controller) => controller.access);
    const manager = managerAccess({ operatorNamespace: namespace, controllerAccess: access });
    const kubeconfig = await this.cluster.kubeconfigFor({
      serviceAccount: { namespace, name: "cluster-operator" },
      rules: policyRules([...access, ...manager.access]),
      namespacedRules: { [namespace]: policyRules(manager.accessIn[namespace] ?? []) },
    });
    return this.start({ kubeconfig, controllers, namespaces: [] });
  }

  /** A Secret as whoever deals out certificates writes it; `version` undefined for one without. */
  secret(
    name: string,
    version: number | string | undefined,
    { certificate: text, privateKey }: TestCertificate,
  ): Secret & { readonly apiVersion: string } {
    const annotations = version === undefined ? {} : { [defaultVersionAnnotation]: String(version) };
    const metadata = { namespace: this.namespace, name, annotations };
    return { apiVersion: "v1", kind: "Secret", metadata, type: "kubernetes.io/tls", data: secretData(text, privateKey) };
  }

  /** Creates a Secret, or changes it. */
  async putSecret(name: string, version: number | string | undefined, from: TestCertificate = certificate(0)): Promise<void> {
    await this.put(this.secret(name, version, from));
  }

  async put(secret: Secret): Promise<void> {
    const { client } = this.cluster;
    const name = { namespace: this.namespace, name: secret.metadata.name ?? "" };
    if (await client.get(Secret, name)) await client.replace(Secret, secret);
    else await client.create(Secret, secret);
  }

  async removeSecret(name: string): Promise<void> {
    await this.cluster.client.delete(Secret, { namespace: this.namespace, name });
  }

  async putIngress(name: string, version: number): Promise<void> {
    const metadata = { namespace: this.namespace, name, annotations: { [defaultVersionAnnotation]: String(version) } };
    const object: Ingress = { metadata, spec: { defaultBackend: { service: { name: "shop", port: { number: 80 } } } } };
    await this.cluster.client.apply(Ingress, object, { fieldManager: "test", force: true });
  }

  /** The checksums there are, newest first. */
  async checksums(kind: Kind<CheckSumObject> = SecretCheckSum): Promise<readonly Stored<CheckSumObject>[]> {
    const { items } = await this.cluster.client.list(kind, { namespace: this.namespace });
    return items.toSorted((left, right) => Date.parse(right.spec.timestamp) - Date.parse(left.spec.timestamp));
  }

  /** Waits until the newest checksum is of these objects, each given as the beginning of its id, and says that it counts. */
  published(wanted: readonly string[], kind: Kind<CheckSumObject> = SecretCheckSum): Promise<Stored<CheckSumObject>> {
    return soon(async () => {
      const [newest] = await this.checksums(kind);
      expect(newest?.spec.ids?.map((id) => /^\d+--?\d+/.exec(id)?.[0])).toEqual(wanted);
      expect(newest?.status?.conditions?.find(({ type }) => type === "Current")?.status).toBe("True");
      return newest ?? expect.fail("nothing is published");
    });
  }

  /** What the condition of a checksum says, such as `False Superseded`. */
  async condition(name: string, type: string, kind: Kind<CheckSumObject> = SecretCheckSum): Promise<string | undefined> {
    const object = await this.cluster.client.get(kind, { namespace: this.namespace, name });
    const condition = object?.status?.conditions?.find((each) => each.type === type);
    return condition && `${condition.status} ${condition.reason}`;
  }
}

export { IngressCheckSum, SecretCheckSum };
