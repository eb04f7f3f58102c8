// A real API server with control planes behind its webhooks, and what both it and we say about a pod.
import { Deployment, MutatingWebhookConfiguration, type MutatingWebhook, Namespace, Pod, type PodTemplateSpec } from "@keyturn/runtime";
import type { ClusterAccess } from "@keyturn/runtime/testing";
import { readFileSync } from "node:fs";
import { soon } from "@keyturn/runtime/testing/vitest";
import { type Expectation, expectSidecar } from "../../packages/keyturn/src/controllers/sidecars/injection/expectation.ts";
import { type Injectors, readInjectors } from "../../packages/keyturn/src/controllers/sidecars/injector-configuration.ts";
import { draftPod, type PodSource } from "../../packages/keyturn/src/workloads/pod-draft.ts";
import { type Sidecar, sidecarOf } from "../../packages/keyturn/src/controllers/sidecars/injection/sidecar.ts";
import { createWebhookCaller, type WebhookCaller } from "../../packages/keyturn/src/controllers/sidecars/injection/webhook.ts";
import { type Istiod, startIstiod } from "../../packages/keyturn/src/dev/stand-ins/istiod.ts";
import type { ProxySettings } from "../../packages/keyturn/src/dev/stand-ins/istiod-injection.ts";

/** The label by which a question is found again. */
const caseLabel = "keyturn.io/case";
const markerLabel = "keyturn.io/marker";

/** What came out for a pod: who was called, in order, and the sidecar that it got; or that it was refused. */
interface Decision {
  readonly called: readonly string[];
  readonly sidecar: Sidecar | undefined | "refused";
}

const isReal = process.env["ISTIOD_URL"] !== undefined;

/** A stand-in, or with ISTIOD_URL (and ISTIOD_CA_FILE) a real istiod behind it. */
export function startControlPlane(settings: Partial<ProxySettings> = {}): Promise<Istiod> {
  const { ISTIOD_URL: url, ISTIOD_CA_FILE: file } = process.env;
  return startIstiod(settings, url === undefined ? undefined : { url, ...(file !== undefined && { authority: readFileSync(file, "utf8") }) });
}

/** The API server's webhooks are those of one world at a time. */
export class InjectionWorld implements AsyncDisposable {
  readonly #cluster: ClusterAccess;
  readonly #istiods: readonly Istiod[];
  readonly #caller: WebhookCaller = createWebhookCaller();
  #injectors: Injectors = readInjectors([]);
  #cases = 0;

  constructor(cluster: ClusterAccess, istiods: readonly Istiod[]) {
    this.#cluster = cluster;
    this.#istiods = istiods;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#caller.close();
    return Promise.resolve();
  }

  /** Makes a namespace with these labels; resolves to its labels as the API server has them. */
  async namespace(name: string, labels: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>> {
    const { metadata } = await this.#cluster.client.create(Namespace, { metadata: { name, labels } });
    return metadata.labels ?? {};
  }

  /** A pod template as the API server stores it in a Deployment, with its defaults. */
  async stored(template: PodTemplateSpec): Promise<PodTemplateSpec> {
    const selector = { matchLabels: { app: "web" } };
    const labels = { ...template.metadata?.labels, ...selector.matchLabels };
    const deployment = {
      metadata: { namespace: "default", name: "web" },
      spec: { selector, template: { ...template, metadata: { ...template.metadata, labels } } },
    };
    const { spec } = await this.#cluster.client.create(Deployment, deployment, { dryRun: true });
    return spec?.template ?? template;
  }

  /** Replaces all webhooks by these, and resolves when the API server goes by them. */
  async install(configurations: readonly MutatingWebhookConfiguration[]): Promise<void> {
    const { client } = this.#cluster;
    const { items } = await client.list(MutatingWebhookConfiguration);
    for (const { metadata } of items) await client.delete(MutatingWebhookConfiguration, { name: metadata.name });
    const told = configurations.map(withOwnPaths);
    for (const configuration of told) await client.create(MutatingWebhookConfiguration, configuration);
    // Read back: with the defaults that the API server fills in, as the controller gets them.
    this.#injectors = readInjectors((await client.list(MutatingWebhookConfiguration)).items);
    await this.#inForce(configurations[0]?.webhooks?.[0]);
  }

  /** The API server learns of configurations by a watch, in their order: when it goes by the one made last, it goes by all. */
  async #inForce(like: MutatingWebhook | undefined): Promise<void> {
    if (!like) return;
    const { client } = this.#cluster;
    const marker = `marker-${++this.#cases}`;
    const rules = [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }];
    const webhook = { ...like, rules, namespaceSelector: {}, objectSelector: { matchLabels: { [markerLabel]: marker } }, matchConditions: [] };
    await client.create(
      MutatingWebhookConfiguration,
      withOwnPaths({ metadata: { name: `zz-${marker}` }, webhooks: [{ ...webhook, reinvocationPolicy: "Never" }] }),
    );
    const template = { metadata: { labels: { [markerLabel]: marker } }, spec: { containers: [{ name: "app", image: "app" }] } };
    const pod = draftPod({ kind: "Pod", namespace: "default", name: marker, uid: "", template });
    await soon(async () => {
      await client.create(Pod, pod, { dryRun: true });
      if (!this.#istiods.some(({ calls }) => calls.some((call) => call.pod.metadata.labels?.[markerLabel] === marker))) throw new Error("not yet");
    });
  }

  /** What the API server does with the pod of a workload. It stores nothing. */
  async ofApiServer(source: PodSource): Promise<Decision> {
    const [id, marked] = this.#marked(source);
    try {
      const pod = await this.#cluster.client.create(Pod, draftPod(marked), { dryRun: true });
      return { called: this.#calledFor(id), sidecar: sidecarOf(pod, { whole: true }) };
    } catch (error) {
      if (!/webhook|forbidden|InternalError/.test(String(error))) throw error;
      return { called: this.#calledFor(id), sidecar: "refused" };
    }
  }

  /** What we expect, and whom we asked. */
  async ofOurs(
    source: PodSource,
    namespaceLabels: Readonly<Record<string, string>>,
  ): Promise<Decision | Exclude<Expectation, { type: "known" | "refused" }>> {
    const [id, marked] = this.#marked(source);
    const options = { namespaceLabels, injectors: this.#injectors, caller: this.#caller, whole: true };
    const expectation = await expectSidecar(marked, options);
    if (expectation.type === "refused") return { called: this.#calledFor(id), sidecar: "refused" };
    return expectation.type === "known" ? { called: this.#calledFor(id), sidecar: expectation.sidecar } : expectation;
  }

  #marked(source: PodSource): readonly [string, PodSource] {
    const id = `case-${++this.#cases}`;
    const { metadata } = source.template;
    return [id, { ...source, template: { ...source.template, metadata: { ...metadata, labels: { ...metadata?.labels, [caseLabel]: id } } } }];
  }

  /** The paths that were called, in the order of the calls. */
  #calledFor(id: string): readonly string[] {
    const calls = this.#istiods.flatMap(({ calls }) => calls.filter(({ pod }) => pod.metadata.labels?.[caseLabel] === id));
    const paths = calls.sort((left, right) => left.number - right.number).map(({ path }) => path);
    // A second look at its own injection changes nothing for us and may for the API server, which has filled in defaults by then; the sidecar is the same.
    return isReal ? [...new Set(paths)] : paths;
  }
}

/** Gives every webhook a path of its own, by which calls to it are known. */
function withOwnPaths(configuration: MutatingWebhookConfiguration): MutatingWebhookConfiguration {
  const { name = "" } = configuration.metadata;
  const webhooks = configuration.webhooks?.map((webhook) => {
    const { origin } = new URL(webhook.clientConfig.url ?? "");
    return { ...webhook, clientConfig: { ...webhook.clientConfig, url: `${origin}/inject/hook/${name}--slash--${webhook.name}` } };
  });
  return { ...configuration, ...(webhooks && { webhooks }) };
}
