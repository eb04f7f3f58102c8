// `keyturn plan secret/db`: what a change would restart, with the rights of whoever asks.
import { Deployment, objectPath, Secret } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { consumersFeature } from "../../packages/keyturn/src/controllers/consumers/feature.ts";
import type { Flag } from "../../packages/keyturn/src/feature/flag.ts";
import { auto, ConsumersWorld, password } from "./consumers-world.ts";

const files = { volumeMounts: [{ name: "v", mountPath: "/v" }] };
const volumes = [{ name: "v", secret: { secretName: "db" } }];

function fleetWorld(annotations: Readonly<Record<string, string>> = {}): ConsumersWorld {
  const world = new ConsumersWorld();
  world.secret("db", { password: "one" }, annotations);
  world.deployment("a", { annotations: auto, container: password });
  world.deployment("b", { annotations: { ...auto, "keyturn.io/restart-priority": "10" }, container: password });
  world.deployment("c", { annotations: { "keyturn.io/restart-on-change": "secret/db" } });
  world.deployment("found", { annotations: { "reloader.stakater.com/search": "true" }, container: password });
  world.deployment("files", { annotations: { "keyturn.io/restart-on-change": "env-only" }, container: files, volumes });
  world.deployment("held", { annotations: { ...auto, "keyturn.io/paused": "true" }, container: password });
  world.deployment("other", { annotations: auto });
  world.unhealthy.add("sick");
  world.deployment("sick", { annotations: { ...auto, "keyturn.io/restart-priority": "99" }, container: password });
  world.cronJob("nightly", password);
  return world;
}

async function plan(world: ConsumersWorld, name: string, mayRead = true) {
  const query = { client: world.viewer(mayRead), namespace: "default", nowMs: world.clock.now(), signal: new AbortController().signal };
  const asked = { name, allNamespaces: false, flag: <T>(flag: Flag<T>) => flag.parse(undefined) };
  const report = await consumersFeature.queries?.plan?.answer(query, asked);
  const lines = (report?.text ?? "").split("\n\n")[0]?.split("\n") ?? [];
  const rows = lines.map((line) => line.split(/ {2,}/).slice(1).join(" | "));
  return { rows: rows.slice(1), text: report?.text ?? "", data: report?.data };
}

test("what a change restarts, in which order and why; what not; and CronJobs", async () => {
  const { rows, data } = await plan(fleetWorld({ "reloader.stakater.com/match": "true" }), "secret/db");
  const why = "password of secret db, read when a container starts";
  expect(rows).toEqual([
    `1 | deployment/b | restart | ${why}`,
    `2 | deployment/a | wait: FirstHealthy | ${why}`,
    "3 | deployment/c | restart | secret db, by name",
    `4 | deployment/found | wait: FirstHealthy | ${why}`,
    `5 | deployment/sick | wait: FirstHealthy | ${why}`,
    `deployment/held | leave: it is paused, by its spec or by the annotation keyturn.io/paused; resume it, and it will be restarted | ${why}`,
    "deployment/files | leave: its annotations ask for no restart | secret db, mounted, and updated by kubelet",
    `cronjob/nightly | nothing to restart: its next Job has it | ${why}`,
  ]);
  expect(data).toMatchObject({
    source: { kinds: ["Secret"], name: "db" },
    workloads: [{ name: "b", order: 1, decision: "restart" }, { name: "a" }, { name: "c" }, { name: "found" }, { name: "sick" }, { name: "held" }],
    left: [{ name: "files" }],
    cronJobs: [{ kind: "CronJob", name: "nightly" }],
  });
});

test("what a Secret says of itself counts", async () => {
  const unmarked = await plan(fleetWorld(), "db");
  expect(unmarked.rows).toContain(
    "deployment/found | leave: reloader.stakater.com/match is not on it | password of secret db, read when a container starts",
  );
  const ignored = await plan(fleetWorld({ "reloader.stakater.com/ignore": "true" }), "db");
  expect(ignored.rows.filter((row) => /restart$|wait:/.test(row))).toEqual([]);
  expect(ignored.rows[0]).toMatch(/^deployment\/a \| leave: reloader.stakater.com\/ignore is on it/);
});

test("without the right to Secrets and CronJobs, and of what nobody uses", async () => {
  const { rows, text } = await plan(fleetWorld(), "secret/db", false);
  expect(rows[0]).toContain("deployment/b | restart");
  expect(text).toContain(
    "you may not list secrets, so what secret db says by reloader.stakater.com/ignore and reloader.stakater.com/match is not counted in",
  );
  expect(text).toContain("you may not list cronjobs.batch");
  expect((await plan(fleetWorld(), "configmap/db")).text).toBe("no workload uses configmap db");
  await expect(plan(fleetWorld(), "deployment/db")).rejects.toThrow("ask for secret/NAME or configmap/NAME");
});

test("no content of the Secret is asked for", async () => {
  const world = fleetWorld();
  await plan(world, "secret/db");
  const asked = world.requests.filter(({ path }) => path.startsWith(objectPath(Secret, { namespace: "default", name: "" }).slice(0, -1)));
  expect(asked).not.toHaveLength(0);
  expect(asked.filter(({ headers }) => !headers?.["accept"]?.includes("PartialObjectMetadata"))).toEqual([]);
  expect(world.requests.some(({ path }) => path.includes(Deployment.plural))).toBe(true);
});
