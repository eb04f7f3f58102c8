// Tests of the simulation itself, with a process small enough to be obviously right or, where wanted, wrong.
import { describe, expect, test } from "vitest";
import { sleep } from "../../clock.ts";
import { ConnectionError } from "../../client/transport.ts";
import type { Transport, TransportRequest } from "../../client/transport.ts";
import { ConfigMap, Secret } from "../../client/builtin-kinds.ts";
import { collectionPath } from "../../client/kind.ts";
import { drawOne } from "../../random.ts";
import { forEachSeed, seedsFor, simulate, SimulationError, type SimulationOptions, type UserAction, type World } from "./simulation.ts";
import { isObject, type JsonObject, listOr, objectOr, parseObject, stringOr } from "../../json.ts";
import type { SimulatedProcess } from "./process.ts";

const secrets = collectionPath(Secret, "default");
const configMaps = collectionPath(ConfigMap, "default");

async function call(transport: Transport, request: TransportRequest): Promise<JsonObject | undefined> {
  const { status, body } = await transport.send(request);
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return status < 300 ? parseObject(Buffer.concat(chunks).toString()) : undefined;
}

function nameOf(object: JsonObject): string {
  return stringOr(objectOr(object["metadata"])["name"], "");
}

/** Every few seconds lists all Secrets and applies a ConfigMap with the value of each. */
function poller(name: string, valueOf: (secret: JsonObject) => string): SimulatedProcess {
  const round = async (transport: Transport): Promise<void> => {
    const list = await call(transport, { method: "GET", path: secrets });
    for (const secret of listOr(list?.["items"]).filter((item) => isObject(item))) {
      const body = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: nameOf(secret) }, data: { value: valueOf(secret) } });
      const path = `${configMaps}/${nameOf(secret)}?fieldManager=poller&force=true`;
      await call(transport, { method: "PATCH", path, headers: { "content-type": "application/apply-patch+yaml" }, body });
    }
  };
  return {
    name,
    async start({ transport, clock, random, signal }) {
      while (!signal.aborted) {
        await round(transport).catch(onlyConnectionErrors);
        await sleep(clock, 3_000 + random() * 2_000, signal).catch(() => undefined);
      }
    },
  };
}

function onlyConnectionErrors(error: unknown): void {
  if (!(error instanceof ConnectionError)) throw error;
}

const valueOf = (secret: JsonObject): string => stringOr(objectOr(secret["data"])["value"], "");

const change: UserAction = {
  name: "change a secret",
  run({ request, random }) {
    const name = drawOne(random, ["a", "b", "c"]) ?? "a";
    const body = JSON.stringify({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name },
      data: { value: Buffer.from(String(random())).toString("base64") },
    });
    request({ method: "PATCH", path: `${secrets}/${name}?fieldManager=user`, headers: { "content-type": "application/apply-patch+yaml" }, body });
  },
};

function unsettled({ objects }: World): string | undefined {
  const made = new Map(objects(ConfigMap).map((object) => [nameOf(object), objectOr(object["data"])["value"]]));
  const missing = objects(Secret).find((secret) => made.get(nameOf(secret)) !== valueOf(secret));
  return missing && `the ConfigMap of ${nameOf(missing)} is missing or wrong`;
}

const right = (seed: number): SimulationOptions => ({
  seed,
  processes: [poller("one", valueOf), poller("two", valueOf)],
  actions: [change],
  unsettled,
});

describe("simulate", () => {
  test("finds nothing wrong with a process that is right, under all faults", async () => {
    await forEachSeed(20, async (seed) => {
      const { writes, requests, settledAfterMs } = await simulate(right(seed));
      expect(writes).toBeGreaterThan(0);
      expect(requests).toBeGreaterThan(writes);
      expect(settledAfterMs).toBeLessThan(60_000);
    });
  });

  test("gives the same trace, to the byte, for the same seed, and another for another", async () => {
    const [first, again, other] = [await simulate(right(7)), await simulate(right(7)), await simulate(right(8))];
    expect(again.trace.join("\n")).toBe(first.trace.join("\n"));
    expect(other.trace.join("\n")).not.toBe(first.trace.join("\n"));
    expect(first.trace.length).toBeGreaterThan(500);
  });

  test("names the seed, how to replay it and what happened last when a process never gets there", async () => {
    const wrong = { ...right(3), processes: [poller("wrong", () => "always this")] };
    const error = await simulate(wrong).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SimulationError);
    expect(error).toMatchObject({ seed: 3, message: expect.stringMatching(/^seed 3: not settled .* ms after the last fault: the ConfigMap of/) });
    expect(error).toMatchObject({
      message: expect.stringContaining("SEED=3 npx vitest run packages/runtime/src/testing/simulation/simulation.test.ts"),
    });
  });

  test("stops at the write that violates an invariant, and repeats it exactly", async () => {
    const invariants: SimulationOptions["invariants"] = {
      "two writes nothing": ({ change: { resource, revision }, client }) =>
        resource === "configmaps" && client === "two" ? `two wrote at ${revision}` : undefined,
    };
    const fail = async (): Promise<unknown> => simulate({ ...right(5), invariants }).catch((reason: unknown) => reason);
    const [first, again] = [await fail(), await fail()];
    expect(first).toMatchObject({ message: expect.stringContaining("seed 5: two writes nothing is violated: two wrote at") });
    expect(again).toMatchObject({ message: first instanceof Error ? first.message : "" });
  });

  test("notices a process that ends unasked, one that fails, one that does not stop, and one that keeps busy", async () => {
    const simulated = (start: SimulatedProcess["start"]): Promise<unknown> =>
      simulate({ ...right(1), steps: 0, unsettled: () => undefined, processes: [{ name: "odd", start }] }).catch((reason: unknown) => reason);
    expect(await simulated(async () => undefined)).toMatchObject({ message: expect.stringContaining("odd ended without being asked to") });
    expect(await simulated(() => Promise.reject(new Error("boom")))).toMatchObject({ cause: { message: "odd failed", cause: { message: "boom" } } });
    expect(await simulated(({ clock }) => sleep(clock, 1e9))).toMatchObject({ message: expect.stringContaining("odd did not stop within 30000 ms") });
    const busy = async ({ clock, transport, signal }: Parameters<SimulatedProcess["start"]>[0]): Promise<void> => {
      while (!signal.aborted) {
        await call(transport, { method: "GET", path: secrets });
        await sleep(clock, 10);
      }
    };
    expect(await simulated(busy)).toMatchObject({ message: expect.stringMatching(/odd makes \d+ requests a minute/) });
  });
});

describe("seedsFor", () => {
  test("counts from one, unless the environment names one seed or another number of them", () => {
    expect(seedsFor(3, {})).toEqual([1, 2, 3]);
    expect(seedsFor(3, { SEED: "42" })).toEqual([42]);
    expect(seedsFor(3, { SEEDS: "2" })).toEqual([1, 2]);
    expect(() => seedsFor(3, { SEED: "x" })).toThrow('SEED must be a whole number that is not negative, but is "x"');
  });
});
