// The stories of `keyturn dev`: what an example needs that no manifest can give, and what happens in it while somebody looks on.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Secret, sleep, systemClock } from "@keyturn/runtime";
import { type Cluster, createAuthority } from "@keyturn/runtime/testing";
import { UsageError } from "../feature/flag.ts";
import { startIasStandIn } from "./stand-ins/ias.ts";
import { startIstiod } from "./stand-ins/istiod.ts";
import { defaultProxySettings } from "./stand-ins/istiod-injection.ts";

/** What a story consists of. */
interface Story {
  /** Flags that the operator is given for it, by name. */
  readonly flags?: Readonly<Record<string, string>>;
  /** What goes on, told in a sentence each time; ends when the signal aborts. */
  readonly happen?: (signal: AbortSignal, tell: (sentence: string) => void) => Promise<void>;
}

/** Prepares the cluster for a story, before the examples are applied. What it starts is added to `stack`, and goes with it. */
type BeginStory = (cluster: Cluster, stack: AsyncDisposableStack) => Promise<Story>;

/** Long enough to see how it was before. */
const firstPauseMs = 5_000;

/** Does something again and again, for the first time soon: who has just started it looks on. */
async function again(everyMs: number, signal: AbortSignal, action: () => Promise<void>): Promise<void> {
  for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = everyMs) {
    // Rejects only when the signal aborts.
    await sleep(systemClock, pauseMs, signal).catch(() => {});
    if (!signal.aborted) await action();
  }
}

// Issue: a tenant of an identity provider, and a runtime's cluster to put credentials into, which here is the same cluster.

/** The Kyma of examples/issue. */
const runtime = "0b5e3c2a-7a2f-4d6e-9b1c-3f8d2e4a6c10";
const controlPlane = "kcp-system";
const target = "kyma-system";

export const issueStory: BeginStory = async (cluster, stack) => {
  const tenant = stack.use(await startIasStandIn());
  const secrets = { apiGroups: [""], resources: ["secrets"] };
  const kubeconfig = await cluster.kubeconfigFor({
    serviceAccount: { namespace: target, name: "eventing-auth" },
    namespacedRules: {
      [target]: [
        { ...secrets, verbs: ["create"] },
        { ...secrets, resourceNames: ["eventing-webhook-auth"], verbs: ["get", "list", "watch", "patch", "delete"] },
      ],
    },
  });
  const secret = (name: string, stringData: Readonly<Record<string, string>>) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: controlPlane, name },
    stringData,
  });
  await cluster.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: controlPlane } },
    secret("eventing-auth-ias-creds", { url: tenant.url, username: tenant.username, password: tenant.password }),
    secret(`kubeconfig-${runtime}`, { config: await readFile(kubeconfig, "utf8") }),
  ]);
  return { flags: { "eventing-auth.allow-http": "true" } };
};

// Roll out: a service mesh whose injector is upgraded now and then, so that running pods fall behind.

const mesh = "keyturn-examples-mesh";
const upgradeEveryMs = 60_000;

/** As many as a real node has images of; after the last comes the first again. */
const proxyTags = 60;
const proxyTag = (release: number): string => `1.27.${release}`;

/** The images of all releases of the sidecar, as the mesh names them. */
export const proxyImages = Array.from({ length: proxyTags }, (_, release) => `${defaultProxySettings.hub}/proxyv2:${proxyTag(release)}`);

const rollOutStory: BeginStory = async (cluster, stack) => {
  const istiod = stack.use(await startIstiod());
  await cluster.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: istiod.settings.namespace } });
  await cluster.apply([istiod.configMap(), istiod.revisionConfiguration()]);
  // istiod puts its certificate into every namespace, and sidecars mount it.
  const certificate = { "root-cert.pem": istiod.authority };
  await cluster.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: mesh } });
  const rootCertificate = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: mesh, name: "istio-ca-root-cert" }, data: certificate };
  await cluster.apply(rootCertificate);
  let release = 1;
  return {
    flags: { "sidecars.istiod-config-read-delay": "2s", "sidecars.annotation-cooldown": "20s" },
    happen: (signal, tell) =>
      again(upgradeEveryMs, signal, async () => {
        tell(`Istio was upgraded to ${proxyTag(release)}: sidecars that run are outdated`);
        istiod.configure({ tag: proxyTag(release) });
        release = (release + 1) % proxyTags;
        await cluster.apply(istiod.configMap());
      }),
  };
};

// Rotate: somebody who renews the signing key now and then, as cert-manager would.

/** The source of the rotation set in examples/rotate. */
const source = { namespace: "keyturn-examples", name: "signing-key" };
const renewEveryMs = 45_000;

const rotateStory: BeginStory = async ({ client }) => ({
  // The delays of the example are seconds instead of an hour, so keys must be published within seconds, too.
  flags: { "jwks.configmap-interval": "1s", "jwks.reconcile-interval": "1s" },
  happen: (signal, tell) =>
    again(renewEveryMs, signal, async () => {
      tell(`${source.name} was renewed: the new key is published before it signs`);
      const { certificate, privateKey } = createAuthority("signing-key.keyturn-examples");
      const data = { "tls.crt": Buffer.from(certificate).toString("base64"), "tls.key": Buffer.from(privateKey).toString("base64") };
      await client.mergePatch(Secret, source, { data }, { fieldManager: "dev" });
    }),
});

// Files of the checkout: it is a command for people who have one.

/** Where the examples are in a checkout. */
export const examplesFolder: string = fileURLToPath(new URL("../../../../examples", import.meta.url));

/** Every manifest below a folder, in the order of their names. */
export async function readManifests(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true }).catch((error: unknown) => {
    throw new UsageError(`there are no examples in ${folder}: run keyturn dev from a checkout, or name a folder with --examples`, { cause: error });
  });
  const manifests = names.filter((name) => name.endsWith(".yaml")).sort();
  return Promise.all(manifests.map((name) => readFile(join(folder, name), "utf8")));
}

// All of them, one for each stage that needs one.

export const stories: readonly BeginStory[] = [issueStory, rotateStory, rollOutStory];
