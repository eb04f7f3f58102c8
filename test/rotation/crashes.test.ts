// A rotation that is cut before or after any of its writes is finished by a fresh process, and nobody can see it from the outcome.
import { CutConnection, type Fault, type FaultProxy, startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { rotatingNamespace } from "./rotating-namespace.ts";
import { Witness } from "./witness.ts";

const cluster = useSharedCluster();

/** From the n-th write to Secrets and RotationTargets on, nothing more comes through: the process is dead, and that write was made or was not. */
class Death implements Fault {
  readonly on = {};
  isDead = false;
  readonly #n: number;
  readonly #moment: "before" | "after";
  #writes = 0;

  constructor(n: number, moment: "before" | "after") {
    this.#n = n;
    this.#moment = moment;
  }

  async intervene(...[request, next]: Parameters<Fault["intervene"]>): ReturnType<Fault["intervene"]> {
    if (this.isDead) throw new CutConnection();
    if (!request.isWrite || !/\/(secrets|rotationtargets)/.test(request.path)) return next(request);
    this.#writes += 1;
    if (this.#writes < this.#n) return next(request);
    this.isDead = true;
    if (this.#moment === "after") await next(request);
    throw new CutConnection();
  }
}

test.concurrent.each(["before", "after"] as const)("a crash %s every single write of a rotation", async (moment) => {
  await using place = await rotatingNamespace(cluster(), `crash-${moment}`);
  await place.putTargets(["200ms", "200ms", "200ms"]);
  await place.putSource("v0");
  let steady = await place.startOperator({ elects: false });
  await place.holds({ t1: "v0", t2: "v0", t3: "v0" });
  for (const value of ["v1", "v2"]) {
    await place.putSource(value);
    await place.holds({ t1: value });
  }
  await place.holds({ t1: "v2", t2: "v1", t3: "v0" });
  await soon(async () => expect(await place.records()).toHaveLength(3));
  using witness = await Witness.of(place);

  let crashes = 0;
  for (let n = 1; ; n += 1) {
    await steady.stop();
    await using proxy: FaultProxy = await startFaultProxy(cluster());
    const death = new Death(n, moment);
    proxy.inject(death);
    const doomed = await place.startOperator({ kubeconfig: proxy.through(place.kubeconfig), elects: false });
    const value = `v${n + 2}`;
    await place.putSource(value);
    await soon(async () => expect(death.isDead || (await place.held("t1")) === value).toBe(true));
    await doomed.stop();
    steady = await place.startOperator({ elects: false });
    await place.holds({ t1: value, t2: `v${n + 1}`, t3: `v${n}` });
    await soon(async () => expect(await place.records()).toHaveLength(3));
    await place.conditionSays("t3", "Ready", "True UpToDate");
    if (!death.isDead) break;
    crashes += 1;
  }

  // A record made, three targets written, the log noted, a version dropped, and what their statuses say.
  expect(crashes).toBeGreaterThanOrEqual(7);
  await witness.caughtUp();
  witness.expectOrder(["t1", "t2", "t3"]);
  const values = Array.from({ length: crashes + 1 }, (_, index) => `v${index + 3}`);
  expect(witness.valuesOf("t1")).toEqual(values);
  expect(witness.valuesOf("t2")).toEqual(["v2", ...values.slice(0, -1)]);
  expect(witness.valuesOf("t3")).toEqual(["v1", "v2", ...values.slice(0, -2)]);
  // No version was recorded twice.
  const recorded = new Set(witness.sightings.flatMap(({ name, value }) => (/^my-key-\d+$/.test(name) && value !== undefined ? [name] : [])));
  expect(recorded.size).toBeLessThanOrEqual(crashes + 1 + 3);
});
