// What is written on Rollouts, which can be restarted in two ways.
import { createClient, seededRandom, type Stored } from "@keyturn/runtime";
import { SimulatedApiServer, SimulatedNetwork, ProcessClock, VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { restartedAtAnnotation, rolloutStrategyAnnotation } from "./annotations.ts";
import { finishRollout, restartWorkload } from "./restart.ts";
import { keepRollout, Rollout } from "./workload.ts";

const place = { namespace: "default", name: "canary" };
const nowMs = Date.parse("2026-03-04T12:00:00Z");

/** A Rollout, and who restarts it. */
async function world() {
  const clock = new VirtualClock();
  const server = new SimulatedApiServer({ clock, random: seededRandom(1) });
  server.serve(Rollout);
  const wire = new SimulatedNetwork({ server, clock, random: seededRandom(2) }).connect({ name: "operator", clock: new ProcessClock(clock) });
  const client = createClient(wire, { clock, random: seededRandom(3) });
  const settled = async <T>(answer: Promise<T>): Promise<T> => {
    const state = { isThere: false };
    void answer.finally(() => (state.isThere = true)).catch(() => {});
    while (!state.isThere) await clock.advance(10);
    return answer;
  };
  const template = { metadata: { labels: { app: "canary" } }, spec: { containers: [{ name: "app", image: "app:1" }] } };
  await settled(client.create(Rollout, { metadata: place, spec: { replicas: 1, selector: { matchLabels: { app: "canary" } }, template } }));
  const read = async (): Promise<Stored<Rollout>> => {
    const rollout = await settled(client.get(Rollout, place));
    if (!rollout) throw new Error("there is no Rollout");
    return rollout;
  };
  const target = async () => {
    const rollout = await read();
    return { workload: keepRollout(rollout), resourceVersion: rollout.metadata.resourceVersion };
  };
  return {
    strategy: async (strategy: string) =>
      settled(client.mergePatch(Rollout, place, { metadata: { annotations: { [rolloutStrategyAnnotation]: strategy } } })),
    restart: async (atMs: number) => settled(restartWorkload(client, await target(), { nowMs: atMs, digest: "d" })),
    finish: async () => settled(finishRollout(client, await target(), { helped: true })),
    times: async () => {
      const { spec } = await read();
      return { template: spec?.template?.metadata?.annotations?.[restartedAtAnnotation], restartAt: spec?.restartAt };
    },
  };
}

test("a Rollout is restarted by spec.restartAt, and by its template if it asks for that; neither takes the other's time away", async () => {
  const { strategy, restart, finish, times } = await world();
  await restart(nowMs);
  await finish();
  expect(await times()).toEqual({ template: undefined, restartAt: "2026-03-04T12:00:00Z" });
  await strategy("rollout");
  await restart(nowMs + 60_000);
  await finish();
  expect(await times()).toEqual({ template: "2026-03-04T12:01:00Z", restartAt: "2026-03-04T12:00:00Z" });
  await strategy("restart");
  await restart(nowMs + 120_000);
  await finish();
  expect(await times()).toEqual({ template: "2026-03-04T12:01:00Z", restartAt: "2026-03-04T12:02:00Z" });
});
