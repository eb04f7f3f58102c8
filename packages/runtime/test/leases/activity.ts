// What replicas write down about themselves, and what it shows.
import { existsSync, readFileSync } from "node:fs";
import * as z from "zod";

/** A moment at which a replica acted, on the clock that all processes of the machine share. */
const actSchema = z.object({ replica: z.string(), key: z.string(), type: z.enum(["run", "write"]), atMs: z.number() });

export type Act = z.infer<typeof actSchema>;

/** The acts in a file, without a last line that is not complete. */
export function readActs(file: string): readonly Act[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => actSchema.parse(JSON.parse(line)));
}

/** The places where, in the order of time, a key passed from one replica to another. */
export function handovers(acts: readonly Act[]): readonly { readonly from: Act; readonly to: Act; readonly gapMs: number }[] {
  const last = new Map<string, Act>();
  return acts
    .toSorted((a, b) => a.atMs - b.atMs)
    .flatMap((to) => {
      const from = last.get(to.key);
      last.set(to.key, to);
      return from && from.replica !== to.replica ? [{ from, to, gapMs: to.atMs - from.atMs }] : [];
    });
}
