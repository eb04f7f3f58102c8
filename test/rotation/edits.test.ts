// A minute in which people edit a set on a real API server, again and again, while it rotates and the operator is started anew: what it writes is judged from outside.
import { setTimeout as wait } from "node:timers/promises";
import { type Random, Secret, seededRandom } from "@keyturn/runtime";
import { drawOne } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { type RotatingNamespace, rotatingNamespace } from "./rotating-namespace.ts";
import { Witness } from "./witness.ts";

const cluster = useSharedCluster();
/** `SEED=42` makes other edits. */
const seed = Number(process.env["SEED"] ?? 1);
const edits = 45;
const delaysMs = [6000, 3000, 1000] as const;
const names = ["t1", "t2", "t3"] as const;
/** The server's times are of whole seconds, and its clock is an estimate. */
const blurMs = 2000;

/** A value that the source had for a while. */
interface Stretch {
  readonly value: string;
  readonly fromMs: number;
  toMs: number;
}

class Edits {
  readonly stretches: Stretch[] = [];
  readonly #place: RotatingNamespace;
  readonly #random: Random;
  #count = 0;
  /** Orders are multiples of it. */
  #step = 1;

  constructor(place: RotatingNamespace, random: Random) {
    this.#place = place;
    this.#random = random;
  }

  async putSource(value: string): Promise<void> {
    const fromMs = Date.now();
    await this.#place.putSource(value);
    const last = this.stretches.at(-1);
    if (last?.value === value) return;
    if (last) last.toMs = Date.now();
    this.stretches.push({ value, fromMs, toMs: Number.POSITIVE_INFINITY });
  }

  async next(): Promise<void> {
    const edit = drawOne(this.#random, [
      () => this.putSource(`v${++this.#count}`),
      () => this.putSource(`v${++this.#count}`),
      () => this.putSource(this.stretches.at(-2)?.value ?? "v0"),
      () => this.#replace(drawOne(this.#random, names) ?? "t1"),
      () => this.#renumber(),
      () => this.#spoil(drawOne(this.#random, names) ?? "t1"),
      () => this.#loseRecord(),
      () => this.#restart(),
    ]);
    await edit?.();
  }

  async putTarget(name: string): Promise<void> {
    const index = names.findIndex((each) => each === name);
    await this.#place.putTarget(name, { rotationOrder: (index + 1) * this.#step, rotationDelay: `${delaysMs[index] ?? 0}ms` });
  }

  async #replace(name: string): Promise<void> {
    await cluster().client.delete(RotationTarget, { namespace: this.#place.namespace, name });
    await this.putTarget(name);
  }

  /** One after the other, so that two share a place for a moment, or change theirs. */
  async #renumber(): Promise<void> {
    this.#step = this.#step === 1 ? 2 : 1;
    for (const name of names) await this.putTarget(name);
  }

  async #spoil(name: string): Promise<void> {
    const object = { namespace: this.#place.namespace, name };
    await cluster().client.mergePatch(Secret, object, { data: { someKey: "c3BvaWx0" } });
  }

  async #loseRecord(): Promise<void> {
    const name = drawOne(this.#random, await this.#place.records())?.metadata.name;
    if (name !== undefined) await cluster().client.delete(Secret, { namespace: this.#place.namespace, name });
  }

  async #restart(): Promise<void> {
    await this.#place.operators.at(-1)?.stop();
    await this.#place.startOperator({ elects: false });
  }
}

test("whatever is edited: nothing is live early, nothing goes back, and what was live stays for the further delays", async () => {
  await using place = await rotatingNamespace(cluster(), "edits");
  const random = seededRandom(seed);
  const people = new Edits(place, random);
  for (const name of names) await people.putTarget(name);
  await people.putSource("v0");
  await place.startOperator({ elects: false });
  await place.holds({ t1: "v0", t2: "v0", t3: "v0" });
  using witness = await Witness.of(place);
  for (let edit = 0; edit < edits; edit++) {
    await people.next();
    await wait(random() * 2500);
  }
  const last = people.stretches.at(-1)?.value ?? "";
  await soon(async () => expect(await place.held("t1")).toBe(last));
  await place.conditionSays("t1", "Ready", "True UpToDate");
  await witness.caughtUp();

  const given = new Map<string, { readonly seq: number; readonly value: string }>(names.map((name) => [name, { seq: 1, value: "v0" }]));
  let left: { readonly value: string; readonly atMs: number } | undefined;
  let moves = 0;
  for (const { name, value, seq, appliedAtMs } of witness.sightings) {
    const before = given.get(name);
    // What people have spoilt says still what it was written with.
    if (!before || value === undefined || value === "spoilt" || seq === before.seq) continue;
    expect(seq, `${name} went back from version ${before.seq} to ${seq}`).toBeGreaterThan(before.seq);
    given.set(name, { seq, value });
    const isHeld = (wanted: string): boolean => [...given.values()].some((other) => other.value === wanted);
    if (left && appliedAtMs < left.atMs + delaysMs[1] + delaysMs[2] - blurMs) expect(isHeld(left.value), `${left.value} is nowhere`).toBe(true);
    if (name !== "t1" || value === before.value) continue;
    moves += 1;
    left = { value: before.value, atMs: appliedAtMs };
    expect(isHeld(before.value), `${before.value} was live, and is nowhere`).toBe(true);
    const held = people.stretches.filter((each) => each.value === value && each.fromMs < appliedAtMs && each.toMs > appliedAtMs - blurMs);
    const heldMs = Math.max(...held.map(({ fromMs }) => appliedAtMs - fromMs));
    expect(heldMs, `${value} is live after ${heldMs} ms`).toBeGreaterThanOrEqual(delaysMs[0] - blurMs);
  }
  expect(moves).toBeGreaterThan(0);
});
