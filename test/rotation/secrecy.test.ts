// Contents are in Secrets and nowhere else: not in statuses, Events, logs, metrics or the history's annotations.
import { Buffer } from "node:buffer";
import { Event, Secret } from "@keyturn/runtime";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { rotatingNamespace } from "./rotating-namespace.ts";

const cluster = useSharedCluster();

test("no content leaves the Secrets, whatever happens to it", async () => {
  await using place = await rotatingNamespace(cluster(), "secrecy");
  const operator = await place.startOperator();
  const { client } = cluster();
  const { namespace } = place;
  const values = ["planted-one", "planted-two", "planted-three"];
  await client.create(Secret, { metadata: { namespace, name: "t3" }, data: { someKey: Buffer.from("planted-theirs").toString("base64") } });
  await place.putTargets(["0s", "0s", "0s"]);
  for (const value of values) {
    await place.putSource(value);
    await place.holds({ t1: value });
  }
  await place.conditionSays("t3", "Ready", "False NameConflict");
  await client.mergePatch(Secret, { namespace, name: "t2" }, { data: { someKey: Buffer.from("planted-edit").toString("base64") } });
  await place.eventSays("t2", "DriftRepaired");
  await place.putSource("planted-four", { "rotator.k8s.telekom.com/watch-path": ".data.planted" });
  await place.conditionSays("t1", "PathNotFound", "True PathNotFound");
  await place.deleteSource();
  await place.conditionSays("t1", "Ready", "True NoSource");

  const secrets = await client.list(Secret, { namespace });
  const said = JSON.stringify([
    await client.list(RotationTarget, { namespace }),
    await client.list(Event, { namespace }),
    // The user's own, who applied the source, are no business of the operator's.
    secrets.items.filter(({ metadata }) => metadata.name !== "key-latest").map(({ metadata }) => metadata),
    operator.logLines,
    await operator.metrics(),
  ]);
  for (const value of [...values, "planted-theirs", "planted-edit", "planted-four"]) {
    expect(said).not.toContain(value);
    expect(said).not.toContain(Buffer.from(value).toString("base64"));
  }
});
