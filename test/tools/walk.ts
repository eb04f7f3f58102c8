// Prints which files of the packages a change runs through, from the user's write to our last, as V8 counts calls: whoever follows the change has to read these.
// HTTP is the simulation's here, so its files are not among them. Usage: node test/tools/walk.ts certificate|promotion
import { Session } from "node:inspector/promises";
import { registerHooks } from "node:module";

// What the simulated API server, its network and its clock call is not part of the walk: they get copies of all they import.
const copied = "?simulated";
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const parent = context.parentURL ?? "";
    const isSimulated =
      parent.endsWith(copied) ||
      /\/testing\/(virtual-clock|simulation\/(?!model-operator|index)[\w-]+)\.ts$/.test(parent) ||
      (parent.endsWith("/simulated-operator.ts") && specifier === "@keyturn/runtime");
    return isSimulated && found.url.startsWith("file:") && !found.url.endsWith(copied) ? { ...found, url: found.url + copied } : found;
  },
});

const { Deployment, Secret, Service } = await import("@keyturn/runtime");
const { JWKS, JWKSConfig } = await import("../../packages/keyturn/src/controllers/jwks/api.ts");
const { jwksFeature } = await import("../../packages/keyturn/src/controllers/jwks/feature.ts");
const { RotationTarget, rotationSetAnnotation, sourceAnnotation } = await import("../../packages/keyturn/src/controllers/rotation/api.ts");
const { rotationFeature } = await import("../../packages/keyturn/src/controllers/rotation/feature.ts");
const { makeCertificate, secretData } = await import("../../packages/keyturn/test/certificates.ts");
const { defaultSpec } = await import("../../packages/keyturn/test/jwks-world.ts");
const { SimulatedOperator } = await import("../support/simulated-operator.ts");
type Operator = InstanceType<typeof SimulatedOperator>;

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
  return filesOf(operator, putCertificate, "PATCH configmaps/keys");
}

/** A source changes, until its target is promoted. */
async function promotion(): Promise<readonly string[]> {
  const controllers = rotationFeature.controllers((flag) => flag.parse(undefined));
  const operator = new SimulatedOperator(controllers, [RotationTarget]);
  const putSource = (value: string): void =>
    operator.put(Secret, "source", { annotations: { [rotationSetAnnotation]: "keys", [sourceAnnotation]: "true" }, data: { value } });
  const defaults = { deletionMode: "keep", whenUnfilled: "Backfill", changePolicy: "Settled" };
  operator.put(RotationTarget, "live", { spec: { ...defaults, rotationSet: "keys", rotationOrder: 1, rotationDelay: "0s" } });
  putSource("djE=");
  await operator.during(60_000);
  return filesOf(operator, () => putSource("djI="), "PATCH secrets/live");
}

/** The files that run from a change until its effect and then its status are written. */
async function filesOf(operator: Operator, change: () => void, effect: string): Promise<readonly string[]> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  change();
  const expected = ["/status", effect];
  for (let ms = 0; expected.length > 0; ms++) {
    if (ms > 60_000) throw new Error(`nothing came of the change: ${effect}`);
    for (const request of await operator.during(1)) if (request.endsWith(expected.at(-1) ?? "")) expected.pop();
  }
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  const called = result.filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)));
  const paths = called.flatMap(({ url }) => /packages\/((?:runtime|keyturn)\/src\/(?!testing\/).+\.ts)$/.exec(url)?.[1] ?? []);
  return [...new Set(paths)].toSorted();
}
