// Prints which files of the packages a change runs through, from the user's write to ours, as V8 counts calls: whoever follows the change has to read these.
// HTTP is the simulation's here, so its files are not among them. Usage: node test/tools/walk.ts certificate|promotion
import { Session } from "node:inspector/promises";
import { Deployment, Secret, Service } from "@keyturn/runtime";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { jwksFeature } from "../../packages/keyturn/src/controllers/jwks/feature.ts";
import { RotationTarget, rotationSetAnnotation, sourceAnnotation } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { rotationFeature } from "../../packages/keyturn/src/controllers/rotation/feature.ts";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import { defaultSpec } from "../../packages/keyturn/test/jwks-world.ts";
import { SimulatedOperator } from "../support/simulated-operator.ts";

const walks = { certificate, promotion };
const asked = process.argv[2];
if (asked !== "certificate" && asked !== "promotion") throw new Error(`which walk? ${Object.keys(walks).join(" or ")}`);
process.stdout.write(`${(await walks[asked]()).join("\n")}\n`);
process.exit(0);

/** A certificate is renewed, until its key is in the JWKS. */
async function certificate(): Promise<readonly string[]> {
  const controllers = jwksFeature.controllers((flag) => flag.parse(/interval|per-minute/.test(flag.name) ? "0" : undefined)).slice(0, 1);
  const operator = new SimulatedOperator(controllers, [JWKSConfig, JWKS, Deployment, Service]);
  const putCertificate = (): void => {
    const { certificate, privateKey } = makeCertificate();
    operator.put(Secret, "tls", { data: secretData(certificate, privateKey) });
  };
  const { nginxConfigMapName: _, ...spec } = defaultSpec;
  putCertificate();
  operator.put(JWKSConfig, "site", { spec });
  await operator.during(30_000);
  return filesOf(operator, putCertificate);
}

/** A source changes, until its target is promoted. */
async function promotion(): Promise<readonly string[]> {
  const controllers = rotationFeature.controllers((flag) => flag.parse(undefined));
  const operator = new SimulatedOperator(controllers, [RotationTarget]);
  const putSource = (value: string): void =>
    operator.put(Secret, "source", { annotations: { [rotationSetAnnotation]: "keys", [sourceAnnotation]: "true" }, data: { value } });
  const defaults = { deletionMode: "keep", whenUnfilled: "Backfill", changePolicy: "Settled" };
  operator.put(RotationTarget, "live", { spec: { ...defaults, rotationSet: "keys", rotationOrder: 1, rotationDelay: "10s" } });
  putSource("djE=");
  await operator.during(60_000);
  return filesOf(operator, () => putSource("djI="));
}

/** The files that run from a change until its status is written, within a minute. */
async function filesOf(operator: SimulatedOperator, change: () => void): Promise<readonly string[]> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  change();
  const requests = await operator.during(60_000);
  if (!requests.some((request) => request.endsWith("/status"))) throw new Error(`nothing came of the change: ${requests.join(", ")}`);
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  const called = result.filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)));
  const paths = called.flatMap(({ url }) => /packages\/((?:runtime|keyturn)\/src\/(?!testing\/).+\.ts)$/.exec(url)?.[1] ?? []);
  return [...new Set(paths)].toSorted();
}
