// Nobody who may view a namespace can find out what its Secrets hold, not even where that is six digits: nothing that can be seen follows from contents alone.
// Two installations and four namespaces tell. Three hold the same PIN, one of them looked after by another installation, and the fourth holds another one: what
// the first has in common with its like and not with the fourth follows from the PIN, whatever was computed with it. Within an installation nobody finds
// a PIN either by writing guesses into a namespace of their own.
import { Buffer } from "node:buffer";
import type { Kind } from "@keyturn/runtime";
import { type RunningOperator, startOperator } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { afterAll, beforeAll, expect, test } from "vitest";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { SecretCheckSum } from "../../packages/keyturn/src/controllers/checksum/api.ts";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { chooseFeatures, controllersOf } from "../../packages/keyturn/src/registry.ts";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import { encoded, isReady, jwksConfig, object, rotationTarget } from "./bank.ts";

const cluster = useSharedCluster();
const operators: RunningOperator[] = [];
const certificate = makeCertificate();
const pins = { same: ["482913", "482914"], other: ["731650", "731651"] } as const;
/** Of the two installations; of the first one again, as of somebody who guesses right; and of the first one with another PIN. */
const places = { first: "", second: "", guess: "", other: "" };

async function install(own: string, namespaces: readonly string[]): Promise<void> {
  const flags = {
    "checksum.namespaces": namespaces.join(","),
    "checksum.settle": "0s",
    "jwks.configmap-interval": "0s",
    "jwks.reconcile-interval": "0s",
  };
  const controllers = controllersOf(chooseFeatures("rotation,jwks,checksum"), flags, {});
  const kubeconfig = cluster().adminKubeconfig;
  operators.push(await startOperator({ operator: keyturn, controllers, kubeconfig, namespaces, leaderElection: { namespace: own } }));
}

/** A PIN in every Secret that is read. */
async function putPin(namespace: string, pin: string): Promise<void> {
  const tls = secretData(certificate.certificate, certificate.privateKey);
  const annotations = { "rotator.k8s.telekom.com/rotation-set": "pins", "rotator.k8s.telekom.com/source": "true" };
  const version = { "nginx.ingress.kubernetes.io/version": "1" };
  await cluster().apply([
    object("v1", "Secret", { namespace, name: "pin", annotations }, { data: { pin: encoded(pin) } }),
    object("v1", "Secret", { namespace, name: "signer" }, { data: { ...tls, pin: encoded(pin) } }),
    object("v1", "Secret", { namespace, name: "site-1", annotations: version }, { type: "kubernetes.io/tls", data: { ...tls, pin: encoded(pin) } }),
    // What is no certificate and no key.
    object(
      "v1",
      "Secret",
      { namespace, name: "site-2", annotations: version },
      { type: "kubernetes.io/tls", data: { "ca.crt": tls["tls.crt"], "tls.crt": encoded(pin), "tls.key": encoded(pin), "ca.crl": encoded(pin) } },
    ),
  ]);
}

beforeAll(async () => {
  await cluster().apply(renderCrds(chooseFeatures("rotation,jwks,checksum")));
  for (const place of ["first", "second", "guess", "other"] as const) places[place] = await cluster().namespace("pins");
  await install(places.first, [places.first, places.guess, places.other]);
  await install(places.second, [places.second]);
  for (const namespace of Object.values(places)) {
    const values = namespace === places.other ? pins.other : pins.same;
    // Before anything needs them, or it would depend on who is quicker whether their absence is told of.
    await putPin(namespace, values[0]);
    await cluster().apply([
      ...["live", "before"].map((name, index) => rotationTarget(namespace, name, { rotationSet: "pins", rotationOrder: index + 1 })),
      jwksConfig(namespace, "tokens", { certificateSecret: "signer", configMapName: "tokens-jwks" }),
      object("rieset.io/v1alpha1", "JWKS", { namespace, name: "old" }, { spec: { certificateSecret: "signer", configMapName: "old-jwks" } }),
    ]);
    const documents = [
      [JWKSConfig, "tokens"],
      [JWKS, "old"],
    ] as const;
    const isServed = (seq: number, ready: readonly (readonly [Kind, string])[]): Promise<void> =>
      soon(async () => {
        const target = await cluster().client.get<RotationTarget>(RotationTarget, { namespace, name: "live" });
        expect(target?.status?.currentVersion?.seq).toBe(seq);
        for (const [kind, name] of ready) expect(await isReady(cluster(), kind, { namespace, name })).toBe(true);
        const checksums = (await cluster().client.list(SecretCheckSum, { namespace })).items;
        expect(checksums.map(({ status }) => status?.problemCount)).toContain(1);
      });
    await isServed(1, documents);
    await putPin(namespace, values[1]);
    await isServed(2, [...documents, [RotationTarget, "before"]]);
  }
});
afterAll(async () => {
  for (const operator of operators) await operator.stop();
});

const ours = "rotationtargets,jwksconfigs.keyturn.io,jwks.rieset.io,secretchecksums,ingresschecksums";
/** What the cluster's role `view` can read, with our kinds. */
const viewed = `${ours},configmaps,events.events.k8s.io,services,pods,deployments,replicasets,serviceaccounts`;

/** The words of a namespace's objects, without those that tell only when something was, and in what order. */
async function wordsOf(namespace: string, resources: string): Promise<ReadonlySet<string>> {
  const text = await cluster().kubectl("get", resources, "--namespace", namespace, "--output", "yaml");
  const timeless = text
    .replaceAll(namespace, "")
    .replaceAll(/^ *(?:resourceVersion|uid): .*$/gm, "")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "")
    // Named by the second in which they were made, among others.
    .replaceAll(/\bsecret-[0-9a-z]{10}\b/g, "");
  return new Set(timeless.split(/[^\w+/=-]+/).filter((word) => word.length >= 6));
}

/** What follows from the PIN. */
async function telling(resources: string, like: string): Promise<readonly string[]> {
  const [first, second, other] = await Promise.all([wordsOf(places.first, resources), wordsOf(like, resources), wordsOf(places.other, resources)]);
  return [...first].filter((word) => second.has(word) && !other.has(word));
}

test("nothing that the role view shows follows from what a Secret holds", async () => {
  expect(await wordsOf(places.first, viewed)).toContain("RotationTarget");
  expect(await telling(viewed, places.second)).toEqual([]);
  const said = await cluster().kubectl("get", viewed, "--namespace", places.first, "--output", "yaml");
  for (const pin of [...pins.same, ...pins.same.map((each) => Buffer.from(each).toString("base64"))]) expect(said).not.toContain(pin);
});

test("nor by writing guesses into another namespace of the same installation", async () => {
  expect(await telling(viewed, places.guess)).toEqual([]);
});

test("what whoever may read Secrets sees does follow from it: this test finds such words", async () => {
  const found = await telling("secrets", places.second);
  for (const pin of pins.same) expect(found).toContain(encoded(pin));
  // The digests that tell versions apart are beside the contents that they are of.
  expect(found.filter((word) => /^[0-9a-f]{32,}$/.test(word))).not.toEqual([]);
});
