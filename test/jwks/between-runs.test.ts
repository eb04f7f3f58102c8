// Keys that come and go while nothing can be done for their object, or not all: as soon as it can, each is published as one that was replaced.
import { ConfigMap, Deployment, Secret, Service } from "@keyturn/runtime";
import { stringOr, objectOr } from "@keyturn/runtime/testing";
import { beforeEach, expect, test } from "vitest";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { jwksFeature } from "../../packages/keyturn/src/controllers/jwks/feature.ts";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import { defaultSpec } from "../../packages/keyturn/test/jwks-world.ts";
import { SimulatedOperator } from "../support/simulated-operator.ts";
import { kidOf } from "./publishing-namespace.ts";

const certificates = Array.from({ length: 40 }, () => makeCertificate());
const kids = await Promise.all(certificates.map(kidOf));

let world: SimulatedOperator;

async function hold(...indexes: readonly number[]): Promise<void> {
  for (const index of indexes) {
    const { certificate, privateKey } = certificates[index] ?? makeCertificate();
    world.put(Secret, "tls", { data: secretData(certificate, privateKey) });
    await world.during(2000);
  }
}

function putConfig(spec: Partial<JWKSConfig["spec"]> = {}, annotations: Readonly<Record<string, string>> = {}): void {
  const { nginxConfigMapName: _, ...plain } = defaultSpec;
  world.put(JWKSConfig, "site", { annotations, spec: { ...plain, ...spec } });
}

function published(): readonly string[] {
  const { data } = world.stored(ConfigMap, "keys");
  const { keys = [] } = JSON.parse(stringOr(objectOr(data)["jwks.json"], "{}")) as { keys?: readonly { readonly kid: string }[] };
  return keys.map(({ kid }) => kid);
}

beforeEach(async () => {
  const controllers = jwksFeature.controllers((flag) => flag.parse(undefined)).slice(0, 1);
  world = new SimulatedOperator(controllers, [JWKSConfig, JWKS, Deployment, Service]);
  await world.during(20_000);
  await hold(0);
  putConfig();
  await world.during(60_000);
});

test.each<readonly [string, () => void, () => void]>([
  ["it is paused", () => putConfig({}, { "keyturn.io/paused": "true" }), () => putConfig()],
  ["its spec cannot be read", () => putConfig({ oldKeysTTL: "soon" }), () => putConfig()],
  [
    "the name of its ConfigMap is somebody else's",
    () => {
      world.put(ConfigMap, "taken", { data: { of: "others" } });
      putConfig({ configMapName: "taken" });
    },
    () => putConfig(),
  ],
  [
    "its status is refused",
    () =>
      void (world.refuse = ({ path, method }) => (path.includes("/status") && method !== "GET" ? { status: 403, reason: "Forbidden" } : undefined)),
    () => void (world.refuse = () => undefined),
  ],
])("%s", async (_what, begin, end) => {
  begin();
  await world.during(5000);
  await hold(...certificates.keys().drop(1));
  expect(published()).not.toContain(kids[1]);
  end();
  await world.during(600_000);
  expect(new Set(published())).toEqual(new Set(kids));
  expect(published()[0]).toBe(kids.at(-1));
});
