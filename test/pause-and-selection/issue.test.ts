// Pausing and selecting: what issues credentials leaves paused objects and those of others as they are, here, at the identity provider and in runtimes.
import { Secret } from "@keyturn/runtime";
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { issuingPlace } from "../eventing-auth/issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();
const paused = "keyturn.io/paused";

test("a paused EventingAuth stays ready, and its Secret is repaired only when it is resumed; its deletion waits", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  const annotate = (text: string): Promise<string> => controlPlane().kubectl("annotate", "eventingauth", place.runtime, text, "-n", place.namespace);
  await place.ready();
  await place.isWhole();
  await annotate(`${paused}=true`);
  expect(await place.conditionSays("Ready", "True Paused")).toContain(paused);
  expect((await place.auth())?.status?.state).toBe("Ready");
  await place.eventSays("Paused");
  await place.parts.target.delete(Secret, place.targetName);
  await place.deleteKyma();
  await place.deleteAuth();
  const auth = await place.auth();
  expect(auth?.metadata.deletionTimestamp).toBeDefined();
  expect(place.tenant.applications(place.runtime)).toHaveLength(1);
  expect(await place.targetSecret()).toBeUndefined();
  await annotate(`${paused}-`);
  await place.isGone();
  expect(place.tenant.applications(place.runtime)).toHaveLength(0);
});

test("a paused Kyma gets nothing until it is resumed", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  const annotate = (text: string): Promise<string> => controlPlane().kubectl("annotate", "kyma", place.runtime, text, "-n", place.namespace);
  await place.putKubeconfig();
  await place.putKyma();
  await annotate(`${paused}=true`);
  const operator = await place.startOperator();
  await soon(async () =>
    expect(await operator.metrics()).toMatch(/^controller_runtime_reconcile_total\{controller="eventing-auth-kyma",result="success"\} [1-9]/m),
  );
  expect(await place.auth()).toBeUndefined();
  await annotate(`${paused}-`);
  await place.isReady();
});

test("with a selector, only labelled Kymas are served, and their EventingAuths have their labels", { concurrent: true }, async () => {
  await using place = await issuingPlace(controlPlane(), target());
  const label = (kind: string, text: string): Promise<string> => controlPlane().kubectl("label", kind, place.runtime, text, "-n", place.namespace);
  await place.putKubeconfig();
  await place.putKyma();
  const operator = await place.startOperator({ flags: { selector: "team=a" } });
  await soon(async () =>
    expect(await operator.metrics()).toMatch(/^controller_runtime_reconcile_total\{controller="eventing-auth-kyma",result="success"\} [1-9]/m),
  );
  expect(await place.auth()).toBeUndefined();
  await label("kyma", "team=a");
  await place.isReady();
  await place.isWhole();
  expect((await place.auth())?.metadata.labels).toEqual({ team: "a" });

  // Out of the selection, even a Kyma that goes takes nothing with it.
  await label("eventingauth", "team-");
  await label("kyma", "team-");
  await place.deleteKyma();
  await soon(async () => expect(await operator.metrics()).not.toMatch(/^keyturn_eventing_auth_ready\{/m));
  expect(place.tenant.applications(place.runtime)).toHaveLength(1);
  expect(await place.targetSecret()).toBeDefined();
});
