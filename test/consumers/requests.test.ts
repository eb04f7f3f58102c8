// Which requests a change of a Secret costs those who use it, in virtual time, with and without an API server that refuses some.
import { DaemonSet, Deployment, Pod, ReplicaSet, Secret, StatefulSet, type TransportRequest } from "@keyturn/runtime";
import { beforeEach, expect, test } from "vitest";
import { restartOnChangeAnnotation } from "../../packages/keyturn/src/controllers/consumers/annotations.ts";
import { consumersFeature } from "../../packages/keyturn/src/controllers/consumers/feature.ts";
import { controllersOf } from "../../packages/keyturn/src/registry.ts";
import { SimulatedOperator } from "../support/simulated-operator.ts";

let world: SimulatedOperator;

function putSecret(password: string): void {
  world.put(Secret, "db", { data: { password: Buffer.from(password).toString("base64") } });
}

/** One whose rollout is finished. */
function putDeployment(name: string, observedGeneration: number): void {
  const labels = { app: name };
  const env = [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } }];
  const spec = {
    replicas: 1,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "app", image: "app:1", env }] } },
  };
  world.put(Deployment, name, { annotations: { [restartOnChangeAnnotation]: "auto" }, spec });
  world.putStatus(Deployment, name, { observedGeneration, replicas: 1, updatedReplicas: 1, availableReplicas: 1 });
}

beforeEach(async () => {
  world = new SimulatedOperator(controllersOf([consumersFeature], {}, {}), [Deployment, StatefulSet, DaemonSet, ReplicaSet, Pod]);
  await world.during(20_000);
});

const rolledOut = (): void => ["web", "shop"].forEach((name) => putDeployment(name, 9));
const times = (requests: readonly string[], part: string): number => requests.filter((request) => request.startsWith(part)).length;
const sorted = (texts: readonly string[]): readonly string[] => texts.toSorted();

beforeEach(async () => {
  putSecret("one");
  rolledOut();
  await world.during(600_000);
});

/** Both are restarted, one after the other. */
async function restartBoth(): Promise<readonly string[]> {
  const requests: string[] = [];
  for (let round = 0; round < 3; round++) {
    requests.push(...(await world.during(60_000)));
    rolledOut();
  }
  return [...requests, ...(await world.during(60_000))];
}

test("what nobody changes costs nothing; a change costs each workload a question, a restart and an end", async () => {
  expect(await world.during(3_600_000)).toEqual([]);
  putSecret("two");
  const requests = await restartBoth();
  for (const name of ["web", "shop"]) expect(times(requests, `PATCH deployments/${name}`)).toBeLessThanOrEqual(3);
  expect(requests.length).toBeLessThanOrEqual(18);
  expect(await world.during(3_600_000)).toEqual([]);
});

test("a restart that is refused is tried ever less often, told once, and made once it may be", async () => {
  putSecret("two");
  await restartBoth();
  world.refuse = ({ path, method }: TransportRequest) =>
    method !== "GET" && path.includes("/deployments/") ? { status: 403, reason: "Forbidden" } : undefined;
  putSecret("three");
  expect((await world.during(60_000)).length).toBeLessThanOrEqual(60);
  expect(sorted(world.events)).toEqual(["RestartFailed shop", "RestartFailed web"]);
  expect((await world.during(900_000)).length).toBeLessThanOrEqual(100);
  expect(world.events).toEqual([]);
  world.refuse = () => undefined;
  expect(times(await world.during(600_000), "PATCH deployments/")).toBeGreaterThan(0);
});
