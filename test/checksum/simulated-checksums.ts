// What users do to Secrets and checksums in a simulation, and what must hold of what is published.
import { Namespace, objectPath, Secret } from "@keyturn/runtime";
import { drawInt, drawOne, type JsonObject, objectOr, type ObservedWrite, stringOr, type UserAction, type World } from "@keyturn/runtime/testing";
import { SecretCheckSum } from "../../packages/keyturn/src/controllers/checksum/api.ts";
import { checkSumObject, rfc3339 } from "../../packages/keyturn/src/controllers/checksum/check-sum-object.ts";
import { checksumOf, defaultVersionAnnotation, secretMember } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { MemberSet } from "../../packages/keyturn/src/controllers/checksum/members.ts";
import { fixedCertificates, secretData } from "../../packages/keyturn/test/certificates.ts";

/** Certificates that come and go. */
const pool = Array.from({ length: 4 }, (_, index) => {
  const [{ certificate, privateKey }] = fixedCertificates("p256", index);
  return secretData(certificate, privateKey);
});
const names = ["shop-1", "shop-2", "bank-3", "wild"] as const;
const namespace = "default";
const rules = { versionAnnotations: [defaultVersionAnnotation] };

const nameIn = (object: JsonObject): string => stringOr(objectOr(object["metadata"])["name"], "");

/** The set that the API server's Secrets make, as the control plane should see it. */
function setIn({ objects }: Pick<World, "objects">): MemberSet {
  const set = new MemberSet();
  for (const object of objects(Secret)) {
    // The store's objects are what the API server would send.
    const secret = object as unknown as Parameters<typeof secretMember>[0];
    if (object["type"] === "kubernetes.io/tls") set.set(nameIn(object), secretMember(secret, rules));
  }
  return set;
}

const draw = ({ random }: World): string => drawOne(random, names) ?? "wild";

function putSecret(world: World, name: string, version: number, data: Readonly<Record<string, string>> | undefined): void {
  const metadata = { namespace, name, annotations: { [defaultVersionAnnotation]: String(version) } };
  world.apply(Secret, { metadata, type: "kubernetes.io/tls", ...(data && { data }) });
}

/** Announces that one Secret is going to be deleted, and sometimes deletes it. */
function announceDeletion(world: World): void {
  const set = setIn(world);
  const name = draw(world);
  if (!set.delete(name)) return;
  const newestMs = Math.max(0, ...world.objects(SecretCheckSum).map((object) => Date.parse(stringOr(objectOr(object["spec"])["timestamp"], ""))));
  const timestampMs = Math.max(world.clock.now(), newestMs + 1000);
  const object = checkSumObject(set.state(), {
    namespace,
    prefix: "secret",
    timestampMs,
    announcement: { expires: rfc3339(world.clock.now() + 60_000) },
  });
  const ownership = { labels: { "app.kubernetes.io/managed-by": "keyturn" }, annotations: { "keyturn.io/owner": `namespaces/${namespace}` } };
  const metadata = { ...object.metadata, name: object.metadata.name ?? "", ...ownership };
  world.apply(SecretCheckSum, { ...object, metadata });
  if (drawInt(world.random, [0, 1]) === 0) world.delete(Secret, { namespace, name });
}

const aChecksum = (world: World): string => {
  const found = drawOne(world.random, world.objects(SecretCheckSum));
  return objectPath(SecretCheckSum, { namespace, name: found ? nameIn(found) : "none" });
};

export const checksumActions: readonly UserAction[] = [
  {
    name: "puts a Secret",
    weight: 10,
    run: (world) => putSecret(world, draw(world), drawInt(world.random, [0, 3]), drawOne(world.random, pool)),
  },
  { name: "spoils a Secret", run: (world) => putSecret(world, draw(world), 1, { "tls.crt": "AAAA", "tls.key": "" }) },
  {
    name: "deletes a Secret",
    weight: 2,
    run: (world) => world.delete(Secret, { namespace, name: draw(world) }),
  },
  { name: "announces a deletion", weight: 2, run: announceDeletion },
  { name: "deletes a checksum", run: (world) => world.request({ method: "DELETE", path: aChecksum(world) }) },
  {
    name: "spoils a checksum",
    run: (world) =>
      world.request({
        method: "PATCH",
        path: aChecksum(world),
        headers: { "content-type": "application/merge-patch+json" },
        body: '{"spec":{"checksum":"00"}}',
      }),
  },
];

/** What choosing the namespace by label adds to that. */
const namespaceSelector = "keyturn.io/checksum=enabled";

/** Puts the label on the namespace, or takes it away. */
export function choose(world: World, chosen: boolean): void {
  const [label = "", value = ""] = namespaceSelector.split("=");
  const metadata = { name: namespace, labels: chosen ? { [label]: value } : {} };
  world.apply(Namespace, { metadata });
}

export const choiceActions: readonly UserAction[] = [
  { name: "chooses the namespace", weight: 3, run: (world) => choose(world, true) },
  { name: "unchooses the namespace", weight: 2, run: (world) => choose(world, false) },
];

/** From the read that proves a state to the write that publishes it: network and all. A cache that is behind can be so for minutes. */
const runMs = 10_000;

/**
 * What must hold of every write of an operator: a state that is published was there while the run lasted, however far behind the caches are;
 * a published checksum is not changed, and the last one never goes.
 */
export function publishedRight(): (write: ObservedWrite, world: World) => string | undefined {
  let current = setIn({ objects: () => [] }).state().checksum;
  const lastThereMs = new Map<string, number>();
  let deletedMs = -Infinity;
  return ({ change: { resource, before, after }, client, sentAtMs }, world) => {
    if (resource === "secrets") {
      lastThereMs.set(current, world.clock.monotonic());
      current = setIn(world).state().checksum;
    }
    if (resource === "secretchecksums.tengine.taobao.org" && client === "user" && !after) deletedMs = world.clock.monotonic();
    if (resource !== "secretchecksums.tengine.taobao.org" || client === "user" || client === "server") return undefined;
    const [specBefore, specAfter] = [before?.["spec"], after?.["spec"]];
    if (before && after && JSON.stringify(specBefore) !== JSON.stringify(specAfter)) return "a published checksum was changed";
    if (!before && after) {
      const { checksum, ids } = objectOr(specAfter);
      if (checksum !== checksumOf(ids as unknown as readonly string[])) return "a checksum is not that of its ids";
      const goneMs = checksum === current ? Infinity : (lastThereMs.get(stringOr(checksum, "")) ?? -Infinity);
      if (goneMs < sentAtMs - runMs) return `${stringOr(checksum, "")} was published when it was long gone`;
    }
    // What somebody deletes between the look and the removal is not seen.
    const wasAlone = world.clock.monotonic() - deletedMs > runMs;
    if (before && !after && wasAlone && world.objects(SecretCheckSum).length === 0) return "the last checksum was removed";
    return undefined;
  };
}

/** Whether the namespace has the label. */
export function isChosen(world: World): boolean {
  const [label = ""] = namespaceSelector.split("=");
  return world.objects(Namespace).some((object) => nameIn(object) === namespace && label in objectOr(objectOr(object["metadata"])["labels"]));
}

/** What is still missing once nothing goes wrong any more. */
export function checksumUnsettled(world: World): string | undefined {
  const { checksum, sha256, ids } = setIn(world).state();
  if (ids.length === 0) return undefined;
  const byTime = (object: JsonObject): number => Date.parse(stringOr(objectOr(object["spec"])["timestamp"], ""));
  const [newest, ...others] = [...world.objects(SecretCheckSum)].sort((left, right) => byTime(right) - byTime(left));
  const spec = objectOr(newest?.["spec"]);
  if (spec["checksum"] !== checksum || spec["sha256"] !== sha256) return `the newest checksum is not of what is there (${checksum})`;
  if (!JSON.stringify(newest?.["status"] ?? {}).includes('"status":"True"')) return "the newest checksum does not say that it counts";
  return others.length > 0 ? "old checksums are still there" : undefined;
}
