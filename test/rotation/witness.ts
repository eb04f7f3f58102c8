// Somebody who watches a namespace's Secrets from outside and writes down everything that sources and targets ever held.
import { createHttpTransport, loadConfig, Secret } from "@keyturn/runtime";
import { soon } from "@keyturn/runtime/testing/vitest";
import { expect } from "vitest";
import * as z from "zod";
import { openWatch, type OpenWatch } from "@keyturn/runtime/testing";
import { appliedAtAnnotation, versionAnnotation } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { type RotatingNamespace, valueIn } from "./rotating-namespace.ts";

const secret = z.object({
  metadata: z.object({ name: z.string(), resourceVersion: z.string(), annotations: z.record(z.string(), z.string()).default({}) }),
  data: z.record(z.string(), z.string()).default({}),
});

/** A Secret became this. */
interface Sighting {
  readonly name: string;
  /** Undefined when it was deleted. */
  readonly value: string | undefined;
  readonly seq: number;
  /** When the operator says it wrote it. */
  readonly appliedAtMs: number;
}

/** A witness of everything from now on. */
export class Witness implements Disposable {
  readonly #place: RotatingNamespace;
  readonly #since: string;
  readonly #watch: OpenWatch;
  readonly #close: () => void;

  private constructor(place: RotatingNamespace, from: { readonly since: string; readonly watch: OpenWatch; readonly close: () => void }) {
    this.#place = place;
    this.#since = from.since;
    this.#watch = from.watch;
    this.#close = from.close;
  }

  static async of(place: RotatingNamespace): Promise<Witness> {
    const { cluster, namespace } = place;
    const transport = createHttpTransport(await loadConfig({ kubeconfig: cluster.adminKubeconfig, env: {} }));
    const { resourceVersion } = await cluster.client.list(Secret, { namespace });
    const watch = await openWatch(transport, `/api/v1/namespaces/${namespace}/secrets?watch=true&resourceVersion=${resourceVersion}`);
    return new Witness(place, { since: resourceVersion, watch, close: () => transport.close() });
  }

  /** Waits until everything that can be read by now has been seen: a watch may be a moment behind a read. */
  async caughtUp(): Promise<void> {
    const { cluster, namespace } = this.#place;
    const { items } = await cluster.client.list(Secret, { namespace });
    const newest = Math.max(Number(this.#since), ...items.map(({ metadata }) => Number(metadata.resourceVersion)));
    await soon(() => {
      const seen = this.#watch.lines.map(({ object }) => Number(secret.parse(object).metadata.resourceVersion));
      expect(Math.max(Number(this.#since), ...seen)).toBeGreaterThanOrEqual(newest);
    });
  }

  /** Everything so far, in the order in which it happened. */
  get sightings(): readonly Sighting[] {
    return this.#watch.lines.map(({ type, object }) => {
      const { metadata, data } = secret.parse(object);
      const seq = Number(metadata.annotations[versionAnnotation]);
      const appliedAtMs = Date.parse(metadata.annotations[appliedAtAnnotation] ?? "");
      return { name: metadata.name, value: type === "DELETED" ? undefined : valueIn({ data }), seq, appliedAtMs };
    });
  }

  /** The different values that a Secret had, one after the other. */
  valuesOf(name: string): readonly (string | undefined)[] {
    const values = this.sightings.filter((each) => each.name === name).map(({ value }) => value);
    return values.filter((value, index) => index === 0 || value !== values[index - 1]);
  }

  /** When a Secret was first seen to hold a value. */
  firstOf(name: string, value: string | undefined): Sighting {
    const found = this.sightings.find((each) => each.name === name && each.value === value);
    expect(found, `${name} never held ${value}`).toBeDefined();
    return found ?? expect.fail();
  }

  /** No target ever went back to an earlier version, and none was ever ahead of one of a lower order. `targets` in their order. */
  expectOrder(targets: readonly string[]): void {
    const held = new Map<string, number>();
    for (const { name, seq } of this.sightings) {
      if (!targets.includes(name) || Number.isNaN(seq)) continue;
      expect(seq, `${name} went back`).toBeGreaterThanOrEqual(held.get(name) ?? 0);
      held.set(name, seq);
      const seqs = targets.flatMap((target) => held.get(target) ?? []);
      expect(seqs).toEqual(seqs.toSorted((a, b) => b - a));
    }
  }

  [Symbol.dispose](): void {
    this.#close();
  }
}
