// Which requests a change of a Secret costs, in virtual time, with and without an API server that refuses some.
import { Namespace, Secret, type TransportRequest } from "@keyturn/runtime";
import { beforeEach, expect, test } from "vitest";
import { IngressCheckSum, SecretCheckSum } from "../../packages/keyturn/src/controllers/checksum/api.ts";
import { checksumFeature } from "../../packages/keyturn/src/controllers/checksum/feature.ts";
import { defaultVersionAnnotation } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import { namespace, type Refusal, SimulatedOperator } from "../support/simulated-operator.ts";

const flags: Readonly<Record<string, string>> = { "checksum.namespaces": namespace, "checksum.kinds": "secrets" };
const { certificate, privateKey } = makeCertificate();
const data = secretData(certificate, privateKey);

let world: SimulatedOperator;

function putSecret(name: string, version: number): void {
  world.put(Secret, name, { annotations: { [defaultVersionAnnotation]: String(version) }, type: "kubernetes.io/tls", data });
}

const isPublication = ({ path, method }: TransportRequest): Refusal | undefined =>
  method !== "GET" && path.includes("/secretchecksums") && !path.includes("/status") ? { status: 403, reason: "Forbidden" } : undefined;

beforeEach(async () => {
  world = new SimulatedOperator(
    checksumFeature.controllers((flag) => flag.parse(flags[flag.name])),
    [SecretCheckSum, IngressCheckSum, Namespace],
  );
  await world.during(20_000);
});

/** Names are made up of what is published. */
const withoutNames = (requests: readonly string[]): readonly string[] => requests.map((request) => request.replace(/secret-\w+/, "…"));
const publication = ["PATCH secretchecksums/…", "POST events", "PATCH secretchecksums/…/status"];
/** The one before is looked at first, and says afterwards that it does not count any more. */
const next = ["GET secretchecksums/…", "PATCH secretchecksums/…", "PATCH secretchecksums/…/status", "POST events", "PATCH secretchecksums/…/status"];

test("a first Secret, a change and fifty at once cost what they must, old checksums their deletion, and then nothing", async () => {
  putSecret("shop-1", 1);
  expect(withoutNames(await world.during(60_000))).toEqual(publication);
  putSecret("shop-1", 2);
  expect(withoutNames(await world.during(60_000))).toEqual(next);
  for (let index = 0; index < 50; index++) putSecret(`shop-${index}`, 3);
  expect(withoutNames(await world.during(60_000))).toEqual(next);
  // Whether the one that counts is there, and then the one that goes.
  const deletion = ["GET secretchecksums/…", "GET secretchecksums/…", "DELETE secretchecksums/…"];
  expect(withoutNames(await world.during(3_600_000))).toEqual([...deletion, ...deletion]);
  expect(await world.during(3_600_000)).toEqual([]);
});

test("a checksum that is refused is told of once, tried ever less often, at once when the Secrets change, and is there once it may be", async () => {
  putSecret("shop-1", 1);
  await world.during(60_000);
  world.refuse = isPublication;
  putSecret("shop-1", 2);
  const [look, refused] = ["GET secretchecksums/…", "PATCH secretchecksums/… 403"];
  expect(withoutNames(await world.during(25_000))).toEqual([look, refused, look, "PATCH secretchecksums/…/status", "POST events", look]);
  expect(world.events).toEqual([expect.stringMatching(/^Forbidden /)]);
  const again = withoutNames(await world.during(900_000));
  const tries = again.filter((request) => request === refused).length;
  expect(again).toEqual(Array.from({ length: tries }, () => [look, refused, look]).flat());
  expect(tries).toBeGreaterThan(2);
  expect(tries).toBeLessThan(8);
  expect(world.events).toEqual([]);
  putSecret("shop-1", 3);
  expect(withoutNames(await world.during(10_000))).toEqual([look, refused, look]);
  world.refuse = () => undefined;
  const requests = withoutNames(await world.during(600_000));
  expect(requests.slice(0, next.length)).toEqual(next);
  expect(world.events).toEqual([expect.stringMatching(/^ChecksumPublished /)]);
});

test("the first checksum, which no other can tell of, is refused in the same words", async () => {
  world.refuse = isPublication;
  putSecret("shop-1", 1);
  await world.during(25_000);
  expect(world.events).toEqual(["Forbidden default"]);
  const requests = withoutNames(await world.during(900_000));
  expect(new Set(requests)).toEqual(new Set(["PATCH secretchecksums/… 403"]));
  expect(requests.length).toBeLessThan(10);
  expect(world.events).toEqual([]);
});
