// What users do to JWKSConfigs, Secrets and published ConfigMaps in a simulation, and what must hold of them.
import { ConfigMap, type Kind, objectPath, Secret } from "@keyturn/runtime";
import { drawInt, drawOne, type JsonObject, objectOr, type ObservedWrite, stringOr, type UserAction, type World } from "@keyturn/runtime/testing";
import { JWKSConfig, revokeAnnotation } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { problemWithJwks } from "../../packages/keyturn/src/controllers/jwks/jwk.ts";
import { fixedCertificates, secretData } from "../../packages/keyturn/test/certificates.ts";
import { kidOf } from "./publishing-namespace.ts";

/** Keys that come and go. */
const pool = await Promise.all(
  Array.from({ length: 8 }, async (_, index) => {
    const [certificate] = fixedCertificates("p256", index);
    return { kid: await kidOf(certificate), data: secretData(certificate.certificate, certificate.privateKey) };
  }),
);
const kidBySecret = new Map(pool.map(({ kid, data }) => [data["tls.crt"], kid]));

const names = ["a", "b", "c"] as const;
/** The one whose document goes with it. */
const cleanedUp = "c";
const namespace = "default";
const historyAnnotation = "keyturn.io/jwks-history";
const headers = { "content-type": "application/merge-patch+json", "user-agent": "user" };
/** Long enough that some keys retire within a run, short enough that they also go. */
const oldKeysTTL = "90s";

/** How far the wall clocks of processes are off. */
const skewMs = 5000;
/** After this no key retires any more: 90 s for the last one, 150 s until a watch that has fallen silent is noticed, a minute for the ConfigMap's turn, and some. */
const calmMs = 400_000;

const aName = ({ random }: World): string => drawOne(random, names) ?? "a";

function putConfig(world: World, name: string, annotations: Readonly<Record<string, string>> = {}): void {
  // What the API server would fill in.
  const defaults = { endpoint: "/jwks.json", updateStrategy: "rolling", keepOldKeys: true, keyId: "Thumbprint" } as const;
  const spec = { ...defaults, certificateSecret: name, configMapName: `${name}-jwks`, oldKeysTTL, cleanupOnDelete: name === cleanedUp };
  world.apply(JWKSConfig, { metadata: { namespace, name, annotations }, spec });
}

function putSecret(world: World, name: string, data: Readonly<Record<string, string>>): void {
  world.apply(Secret, { metadata: { namespace, name }, data });
}

const documentPath = (world: World): string => objectPath(ConfigMap, { namespace, name: `${aName(world)}-jwks` });

export const publishingActions: readonly UserAction[] = [
  { name: "puts a JWKSConfig", weight: 3, run: (world) => putConfig(world, aName(world)) },
  { name: "puts a certificate", weight: 8, run: (world) => putSecret(world, aName(world), drawOne(world.random, pool)?.data ?? {}) },
  { name: "spoils a Secret", run: (world) => putSecret(world, aName(world), { "tls.crt": "AAAA" }) },
  {
    name: "deletes a Secret",
    run: (world) => world.delete(Secret, { namespace, name: aName(world) }),
  },
  {
    name: "revokes a key",
    run: (world) => putConfig(world, aName(world), { [revokeAnnotation]: pool[drawInt(world.random, [0, pool.length - 1])]?.kid ?? "" }),
  },
  { name: "deletes a document", run: (world) => world.request({ method: "DELETE", path: documentPath(world) }) },
  {
    name: "spoils a document",
    run: (world) => world.request({ method: "PATCH", path: documentPath(world), headers, body: '{"data":{"jwks.json":"{}"}}' }),
  },
  {
    name: "deletes a JWKSConfig",
    run: (world) => world.delete(JWKSConfig, { namespace, name: aName(world) }),
  },
];

interface KeyRecord {
  readonly kid: string;
  readonly state: "Active" | "Retiring";
  readonly removeAt?: string;
}

const textOf = (configMap: JsonObject | undefined): string => stringOr(objectOr(configMap?.["data"])["jwks.json"], "");
const kidsOf = (text: string): readonly string[] =>
  (JSON.parse(text) as { readonly keys: readonly { readonly kid: string }[] }).keys.map(({ kid }) => kid);

/** The ConfigMap's own word on when its keys go. */
function recordsOf(configMap: JsonObject): readonly KeyRecord[] {
  const annotation = objectOr(objectOr(configMap["metadata"])["annotations"])[historyAnnotation];
  return (JSON.parse(stringOr(annotation, '{"keys":[]}')) as { readonly keys: readonly KeyRecord[] }).keys;
}

/** What must hold of every document that an operator writes. */
export function publishedRight(): (write: ObservedWrite, world: World) => string | undefined {
  const everHeld = new Set<string>();
  const everRevoked = new Set<string>();
  const touched = new Set<string>();
  return ({ change: { resource, key, before, after }, client }, { clock }) => {
    if (resource === "secrets") everHeld.add(kidBySecret.get(stringOr(objectOr(after?.["data"])["tls.crt"], "")) ?? "");
    if (resource === "jwksconfigs.keyturn.io") {
      for (const kid of stringOr(objectOr(objectOr(after?.["metadata"])["annotations"])[revokeAnnotation], "").split(",")) everRevoked.add(kid);
    }
    if (resource !== "configmaps") return undefined;
    if (client === "user") return void touched.add(key);
    const wasTouched = touched.delete(key);
    if (!after) return key === `${namespace}/${cleanedUp}-jwks` ? undefined : `${client} deleted ${key}`;
    const problem = problemWithJwks(textOf(after));
    if (problem !== undefined) return `${client} published in ${key}: ${problem}`;
    const kids = kidsOf(textOf(after));
    const unknown = kids.find((kid) => !everHeld.has(kid));
    if (unknown !== undefined) return `${client} published ${unknown}, which was never in a Secret`;
    if (!before || wasTouched) return undefined;
    const early = recordsOf(before).find(
      ({ kid, state, removeAt = "" }) =>
        !kids.includes(kid) && !everRevoked.has(kid) && (state === "Active" || Date.parse(removeAt) > clock.now() + skewMs),
    );
    return early && `${client} removed ${early.kid} (${early.state}, due ${early.removeAt}) from ${key} at ${new Date(clock.now()).toISOString()}`;
  };
}

/** What is not yet as it should be. Looked at when nothing changes by itself any more. */
export function publishingUnsettled(): (world: World) => string | undefined {
  let calmSinceMs: number | undefined;
  return (world) => {
    // It is asked for the first time when users and faults have stopped.
    calmSinceMs ??= world.clock.monotonic();
    return world.clock.monotonic() < calmSinceMs + calmMs ? "keys may still be retiring" : firstProblem(world);
  };
}

function firstProblem({ objects, clock }: World): string | undefined {
  const find = (kind: Kind, name: string): JsonObject | undefined => objects(kind).find(({ metadata }) => objectOr(metadata)["name"] === name);
  if (!find(JWKSConfig, cleanedUp) && find(ConfigMap, `${cleanedUp}-jwks`)) return "a document outlives its object";
  for (const config of objects(JWKSConfig)) {
    const { name, deletionTimestamp, annotations } = objectOr(config["metadata"]);
    const text = textOf(find(ConfigMap, `${stringOr(name, "")}-jwks`));
    if (deletionTimestamp !== undefined) return `${stringOr(name, "")} is still being deleted`;
    const revoked = stringOr(objectOr(annotations)[revokeAnnotation], "");
    const current = kidBySecret.get(stringOr(objectOr(find(Secret, stringOr(name, ""))?.["data"])["tls.crt"], ""));
    const status = objectOr(config["status"]);
    const conditions = JSON.stringify(status["conditions"] ?? []);
    if (current !== undefined && current !== revoked && !conditions.includes('"reason":"Ready"'))
      return `${stringOr(name, "")} is not ready: ${conditions}`;
    if (current === undefined && !/"reason":"(SecretNotFound|CertificateInvalid)"/.test(conditions))
      return `${stringOr(name, "")} says ${conditions}`;
    if (text === "") {
      if (current !== undefined && current !== revoked) return `nothing is published for ${stringOr(name, "")}`;
      continue;
    }
    // Spoilt while it had no object, and its Secret gone too: nobody knows any more what was in it.
    const isForgotten = current === undefined && status["keyCount"] === 0;
    if (isForgotten) continue;
    if (problemWithJwks(text) !== undefined) return `the document of ${stringOr(name, "")} is spoilt`;
    const kids = kidsOf(text);
    if (current !== undefined && current !== revoked && kids[0] !== current) return `${current} is not the first key of ${stringOr(name, "")}`;
    if (kids.includes(revoked)) return `${revoked} is revoked and published`;
    if (status["keyCount"] !== kids.length)
      return `the status of ${stringOr(name, "")} counts ${JSON.stringify(status["keyCount"])} of ${kids.length} keys`;
    const late = (status["keys"] as unknown as readonly KeyRecord[]).find(
      ({ removeAt }) => removeAt !== undefined && Date.parse(removeAt) < clock.now() - skewMs,
    );
    if (late) return `${late.kid} stays late`;
  }
  return undefined;
}
