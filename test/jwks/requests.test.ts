// Which requests a change of a JWKSConfig costs, in virtual time, with and without an API server that refuses some.
import { ConfigMap, Deployment, Secret, Service, type TransportRequest } from "@keyturn/runtime";
import { beforeEach, expect, test } from "vitest";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { jwksFeature } from "../../packages/keyturn/src/controllers/jwks/feature.ts";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import { defaultSpec } from "../../packages/keyturn/test/jwks-world.ts";
import { SimulatedOperator } from "../support/simulated-operator.ts";

const certificates = Array.from({ length: 3 }, () => makeCertificate());
const limitsOff: Readonly<Record<string, string>> = {
  "jwks.serving": "true",
  "jwks.reconcile-interval": "0",
  "jwks.reconciles-per-minute": "0",
  "jwks.configmap-interval": "0",
};

let world: SimulatedOperator;

function putCertificate(index: number): void {
  const { certificate, privateKey } = certificates[index] ?? makeCertificate();
  world.put(Secret, "tls", { data: secretData(certificate, privateKey) });
}

function putConfig(spec: Partial<JWKSConfig["spec"]> = {}, annotations: Readonly<Record<string, string>> = {}): void {
  const { nginxConfigMapName: _, ...plain } = defaultSpec;
  world.put(JWKSConfig, "site", { annotations, spec: { ...plain, ...spec } });
}

const ready = (): string => world.ready(JWKSConfig, "site");
const isDocument = ({ path, method }: TransportRequest): boolean => path.includes("/configmaps/keys") && method !== "GET";
const isDeployment = ({ path, method }: TransportRequest): boolean => path.includes("/deployments/site") && method !== "GET";
const writesTo = (requests: readonly string[], part: string): number => requests.filter((request) => request.includes(part)).length;

beforeEach(async () => {
  world = new SimulatedOperator(jwksFeature.controllers((flag) => flag.parse(limitsOff[flag.name])).slice(0, 1), [
    JWKSConfig,
    JWKS,
    Deployment,
    Service,
  ]);
  await world.during(20_000);
  putCertificate(0);
  await world.during(1000);
  putConfig();
});

test("a publication, a rotation and a deletion cost what they must, and then nothing", async () => {
  const status = "PATCH jwksconfigs/site/status";
  const published = await world.during(60_000);
  expect(published.slice(0, 2)).toEqual(["PATCH jwksconfigs/site", "PATCH configmaps/keys"]);
  expect(published.slice(2).toSorted()).toEqual([status, "POST events"]);
  putCertificate(1);
  const rotated = await world.during(60_000);
  // The new key is written down before it is published.
  expect(rotated.slice(0, 2)).toEqual([status, "PATCH configmaps/keys"]);
  expect(rotated.slice(2).toSorted()).toEqual([status, "POST events", "POST events"]);
  expect(world.events.toSorted()).toEqual(["KeyAdded site", "KeyRetired site"]);
  expect(await world.during(600_000)).toEqual([]);
  world.delete(JWKSConfig, "site");
  expect(await world.during(60_000)).toEqual(["PATCH jwksconfigs/site"]);
});

test("a conflict costs one more write, at once, and no Event is lost", async () => {
  await world.during(60_000);
  let left = 1;
  world.refuse = (request) => (isDocument(request) && left-- > 0 ? { status: 409, reason: "Conflict" } : undefined);
  putCertificate(1);
  expect(await world.during(500)).toHaveLength(6);
  expect([ready(), world.events.toSorted()]).toEqual(["True Ready", ["KeyAdded site", "KeyRetired site"]]);
  expect(await world.during(60_000)).toEqual([]);
});

test.each([
  [403, "Forbidden", "Forbidden"],
  [503, "ServiceUnavailable", "ServerError"],
])("a document that is refused with %i for a minute is tried ever less often, and the object says so", async (status, reason, shown) => {
  await world.during(60_000);
  world.refuse = (request) => (isDocument(request) ? { status, reason } : undefined);
  putCertificate(1);
  const requests = await world.during(60_000);
  expect(requests.length).toBeLessThanOrEqual(8);
  expect([ready(), world.events]).toEqual([`False ${shown}`, [`${shown} site`]]);
  world.refuse = () => undefined;
  await world.during(120_000);
  expect([ready(), world.events.toSorted()]).toEqual(["True Ready", ["KeyAdded site", "KeyRetired site"]]);
});

test("an nginx that is refused beside a rotation keeps nothing up, is told once, and heals by itself", async () => {
  await world.during(60_000);
  world.refuse = (request) => (isDeployment(request) ? { status: 422, reason: "Invalid" } : undefined);
  putCertificate(1);
  putConfig({ nginxConfigMapName: "nginx" });
  const requests = await world.during(60_000);
  expect(requests.length).toBeLessThanOrEqual(16);
  expect(writesTo(requests, "configmaps/keys")).toBe(1);
  expect([ready(), world.events.toSorted()]).toEqual(["False NginxRefused", ["KeyAdded site", "KeyRetired site", "NginxRefused site"]]);
  world.refuse = () => undefined;
  expect(writesTo(await world.during(600_000), "configmaps/keys")).toBe(0);
  expect(ready()).toBe("False PodsNotAvailable");
});

test("delays are 5, 10, 20 s and so on, whatever happens to the object meanwhile", async () => {
  await world.during(60_000);
  let atMs = 0;
  const attempts: number[] = [];
  world.refuse = (request) => {
    if (!isDocument(request)) return undefined;
    attempts.push(atMs / 1000);
    return { status: 503, reason: "ServiceUnavailable" };
  };
  putCertificate(1);
  for (; atMs < 80_000; atMs += 1000) {
    if (atMs % 2000 === 0) putConfig({}, { "example.com/beat": `${atMs}` });
    await world.during(1000);
  }
  expect(attempts).toEqual([0, 5, 15, 35, 75]);
});

test("a name that is somebody else's is left alone, told, and taken when it is free: by the write's refusal and a look again", async () => {
  world.put(ConfigMap, "keys", { data: { of: "others" } });
  await world.during(20_000);
  expect([ready(), world.events]).toEqual(["False Conflict", ["Conflict site"]]);
  expect(world.stored(ConfigMap, "keys")["data"]).toEqual({ of: "others" });
  world.delete(ConfigMap, "keys");
  await world.during(30_000);
  expect(ready()).toBe("True Ready");
  expect(JSON.stringify(world.stored(ConfigMap, "keys"))).toContain("jwks.json");
});
