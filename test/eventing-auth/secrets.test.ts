// Runs a runtime through everything that can happen to it, and then looks for every secret involved where none of them belongs.
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { Event, Secret } from "@keyturn/runtime";
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { type IssuingPlace, issuingPlace } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

const flags = { "eventing-auth.rotate-after": "24h", "eventing-auth.rotation-overlap": "0" };
const kubeconfigSchema = z.object({ users: z.array(z.object({ user: z.object({ token: z.string() }) })).min(1) });

/** The token with which the runtime's cluster is reached. */
async function targetToken(place: IssuingPlace): Promise<string> {
  const kubeconfig = kubeconfigSchema.parse(parse(await readFile(place.parts.targetKubeconfig, "utf8")));
  return kubeconfig.users[0]?.user.token ?? "";
}

/** Every form in which a secret would give itself away. */
function formsOf(secret: string): readonly string[] {
  const base64 = Buffer.from(secret).toString("base64").replace(/=+$/, "");
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), base64, Buffer.from(secret).toString("base64url")];
}

test("no secret is in logs, Events, status, metrics, or what is noted on the Secret", async () => {
  await using place = await issuingPlace(controlPlane(), target());
  const { tenant } = place;
  const clientSecrets = new Set<string>();
  tenant.onStep(() => tenant.applications().forEach(({ secrets }) => secrets.forEach(({ secret }) => clientSecrets.add(secret))));
  const administrator = Buffer.from(`${tenant.username}:${tenant.password}`).toString("base64");
  const seen: unknown[] = [];
  const look = async (): Promise<void> => {
    const { annotations = {} } = (await place.targetSecret())?.metadata ?? {};
    seen.push(await place.auth(), annotations, (await place.client.list(Event, { namespace: place.namespace })).items);
  };

  // A tenant that repeats what it was sent, in its errors and as a page.
  const echo = `cannot serve ${tenant.username} with password ${tenant.password}, Authorization: Basic ${administrator}`;
  const refused = tenant.fail("create", { type: "status", status: 403, body: { code: 403, message: echo } });
  await place.putKubeconfig();
  await place.putKyma();
  const first = await place.startOperator({ flags });
  await place.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed");
  await look();
  // Asked for after every creation, so that it is met even by a run that is under way.
  const page = tenant.fail("read", { type: "body", text: `<html>${echo}</html>`, contentType: "text/html" });
  refused.stop();
  const [second] = await place.skipMinute();
  await place.putCredentials({ note: "tried again" });
  await soon(() => expect(page.hits).toBeGreaterThan(0));
  await look();
  page.stop();
  await place.putCredentials({ note: "and again" });
  await place.isReady();
  await place.isWhole();

  const before = await place.credentials();
  await place.parts.target.delete(Secret, place.targetName);
  await soon(async () => expect((await place.credentials())?.client_id).toBe(before?.client_id));
  await place.isWhole();
  await look();

  const repaired = await place.credentials();
  await place.parts.target.mergePatch(Secret, place.targetName, { metadata: { annotations: { "keyturn.io/issued-at": "2020-01-01T00:00:00Z" } } });
  await soon(async () => expect((await place.credentials())?.client_secret).not.toBe(repaired?.client_secret));
  await place.isWhole();
  await look();

  const stuck = tenant.fail("delete", { type: "status", status: 500, body: { code: 500, message: echo } });
  await place.deleteKyma();
  await soon(() => expect(stuck.hits).toBeGreaterThan(0));
  await look();
  stuck.stop();
  await place.isGone();
  await look();
  seen.push(first.logLines, second?.logLines, await second?.metrics(), (await second?.readyz())?.text);

  expect(clientSecrets.size).toBeGreaterThanOrEqual(3);
  const told = JSON.stringify(seen);
  const secrets = [tenant.password, administrator, await targetToken(place), ...clientSecrets];
  const found = secrets.flatMap(formsOf).filter((form) => told.includes(form) || told.includes(JSON.stringify(form).slice(1, -1)));
  expect(found).toEqual([]);
  // What was looked through is what people look at.
  expect(told).toContain("failed to create application: the identity provider answered 403");
});
