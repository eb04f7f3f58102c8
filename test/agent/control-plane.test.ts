// Both halves together: the checksum controller publishes, the agent verifies.
import { Lease } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { verifiedNamespace } from "../checksum/verified-namespace.ts";
import { AgentNamespace, type Certificate, certificateFor, pairsOf, servedIn } from "./agent-namespace.ts";

const cluster = useSharedCluster();

test("every change that users make is adopted, as the control plane publishes it", async () => {
  await using controlPlane = await verifiedNamespace(cluster(), "both-halves");
  await controlPlane.startOperator();
  const world = await AgentNamespace.in(cluster(), controlPlane.namespace);
  const agent = await world.start();
  const adopted = async (set: Readonly<Record<string, Certificate>>): Promise<void> => {
    await soon(async () => expect(await servedIn(agent.folder)).toEqual(pairsOf(set)));
    await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified", alarms: [] }));
  };

  const [one, two] = [certificateFor("one.test"), certificateFor("two.test")];
  await world.put("web-1", one);
  await world.put("web-2", two);
  await adopted({ "web-1": one, "web-2": two });

  const renewed = certificateFor("one.test", 2);
  await world.put("web-1", renewed);
  await adopted({ "web-1": renewed, "web-2": two });

  await world.remove("web-2");
  await adopted({ "web-1": renewed });

  // Back to what was before: a new checksum of an old state, so no roll-back.
  await world.put("web-1", one);
  await world.put("web-2", two);
  await adopted({ "web-1": one, "web-2": two });
});

test("a Lease of the agent's name that is somebody else's is left alone", async () => {
  const world = await AgentNamespace.make(cluster());
  const name = { namespace: world.namespace, name: "keyturn-agent-test" };
  await world.cluster.client.create(Lease, { metadata: name, spec: { holderIdentity: "somebody" } });
  const agent = await world.start();
  await soon(() => expect(JSON.stringify(agent.logLines)).toContain("it is left alone"));
  await agent.stop();
  expect(await world.cluster.client.get(Lease, name)).toMatchObject({ spec: { holderIdentity: "somebody" } });
});
