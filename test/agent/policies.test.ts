// Each situation on a real API server: what was served stays served, an alarm says why, and the policy's other value lets it pass.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import type { Alarm, Policies } from "../../packages/keyturn/src/agent/alarm-policies.ts";
import { AgentNamespace, type Certificate, certificateFor, keepAll, pairsOf, type RunningAgent, servedIn } from "./agent-namespace.ts";
import { defaultLimits } from "../../packages/keyturn/src/controllers/checksum/blast-radius.ts";

const cluster = useSharedCluster();

interface World {
  readonly world: AgentNamespace;
  readonly set: Readonly<Record<"web-1" | "web-2", Certificate>>;
  readonly checksum: string;
  readonly agent: RunningAgent;
}

/** Two certificates that an agent serves. */
async function serving(policies: Partial<Policies> = {}, staleAfterMs = 600_000): Promise<World> {
  const world = await AgentNamespace.make(cluster());
  const set = { "web-1": certificateFor("one.test"), "web-2": certificateFor("two.test") };
  for (const [name, certificate] of Object.entries(set)) await world.put(name, certificate);
  const checksum = await world.publish(set);
  const start = await world.start();
  await soon(async () => expect(await start.status()).toMatchObject({ state: "verified" }));
  await start.stop();
  const rules = { policies: { ...keepAll, ...policies }, staleAfterMs, alarmAfterMs: 0, limits: defaultLimits, signedOnly: false };
  const agent = await world.start({ folder: start.folder, rules });
  await soon(async () => expect(await agent.status()).toMatchObject({ state: "verified" }));
  return { world, set, checksum, agent };
}

async function alarmRaised(agent: RunningAgent, alarm: Alarm): Promise<void> {
  await soon(async () => expect((await agent.status()).alarms).toContainEqual(expect.objectContaining({ alarm })));
  expect(await agent.metrics()).toContain(`keyturn_agent_alarm{alarm="${alarm}"} 1`);
  expect(JSON.stringify(agent.logLines)).toContain(alarm);
}

const renewed = (set: World["set"]) => ({ ...set, "web-1": certificateFor("one.test", 2) });

/** What happens, and what is served afterwards if the policy lets it pass. */
const cases: readonly (readonly [keyof Policies, (world: World) => Promise<Readonly<Record<string, Certificate>>>])[] = [
  [
    "NoChecksum",
    async ({ world, set, checksum }) => {
      const next = renewed(set);
      await world.unpublish(checksum);
      await world.put("web-1", next["web-1"]);
      return next;
    },
  ],
  [
    "SecretsGone",
    async ({ world }) => {
      await world.remove("web-1");
      await world.remove("web-2");
      return {};
    },
  ],
  [
    "EmptySet",
    async ({ world }) => {
      await world.publish({});
      await world.remove("web-1");
      await world.remove("web-2");
      return {};
    },
  ],
  [
    "RollBack",
    async ({ world, set }) => {
      const next = renewed(set);
      await world.publish(next, { timestampMs: Date.now() - 3_600_000, name: "of-an-hour-ago" });
      await world.put("web-1", next["web-1"]);
      return next;
    },
  ],
  [
    "BadCertificate",
    async ({ world, set }) => {
      await world.put("web-1", { ...certificateFor("one.test", 2), privateKey: set["web-1"].privateKey });
      await world.publish();
      return { "web-2": set["web-2"] };
    },
  ],
];

test.each(cases)("%s: what was served stays served, with an alarm", async (situation, happen) => {
  const serves = await serving();
  await happen(serves);
  await alarmRaised(serves.agent, situation);
  expect(await servedIn(serves.agent.folder)).toEqual(pairsOf(serves.set));
  expect(await serves.agent.readyz()).toBe(200);
});

test.each(cases)("%s: the policy lets it pass", async (situation, happen) => {
  const serves = await serving({ [situation]: "promote" });
  const expected = await happen(serves);
  await soon(async () => expect(await servedIn(serves.agent.folder)).toEqual(pairsOf(expected)));
});

test("StaleChecksum: a control plane that has died is noticed", async () => {
  const { world, set, agent } = await serving({}, 500);
  await world.put("web-1", renewed(set)["web-1"]);
  await alarmRaised(agent, "StaleChecksum");
  expect(await servedIn(agent.folder)).toEqual(pairsOf(set));
});

test("Unreachable: a right that is taken away is an alarm, and nothing is lost", async () => {
  const { world, set, agent } = await serving();
  await world.cluster.kubectl("delete", "rolebindings", "--all", "-n", world.namespace);
  await agent.stop();
  const who = `system:serviceaccount:${world.namespace}:agent`;
  await soon(() =>
    expect(world.cluster.kubectl("auth", "can-i", "list", "secrets", "-n", world.namespace, "--as", who)).rejects.toThrow("Command failed"),
  );
  const restarted = await world.start({ folder: agent.folder });
  const message = expect.stringMatching(`the right to (list|watch) secrets in namespace ${world.namespace} is missing`);
  await soon(async () => expect((await restarted.status()).alarms).toContainEqual({ alarm: "Unreachable", message }));
  expect(await servedIn(agent.folder)).toEqual(pairsOf(set));
});

test("status.json says the same as /status to whoever has only the disk", async () => {
  const { world, agent } = await serving();
  await world.remove("web-1");
  await alarmRaised(agent, "Mismatch");
  await soon(async () => {
    const file = JSON.parse(await readFile(join(agent.folder, "status.json"), "utf8")) as { readonly alarms: unknown };
    expect(file.alarms).toEqual((await agent.status()).alarms);
  });
});
