// Whether the world is as the simulator's log says.
import { heldVersion, type Log, type LogEntry, retainedVersions, sincePurge, versionOf } from "./rotation-log.ts";
import type { RotationWorld } from "./rotation-world.ts";

/** What is in the world and not in the log, or the other way round. */
export function differenceBetween(whole: Log, world: RotationWorld): string | undefined {
  const log = sincePurge(whole);
  for (const name of world.targets.keys()) {
    const held = heldVersion(log, name);
    const object = world.objects.get(name);
    const expected = typeof held === "number" ? versionOf(log, held).content : held === "absent" ? (object?.ours === false ? "x" : "-") : "?";
    if (world.held(name) !== expected) return `${name} holds ${world.held(name)} instead of ${expected}`;
    const commit = log.findLast((entry) => entry.type === "Committed" && entry.target === name);
    if (typeof held === "number" && object?.applied?.seq !== held) return `${name} has version ${object?.applied?.seq} instead of ${held}`;
    if (typeof held === "number" && commit?.type === "Committed" && object?.applied?.atMs !== commit.at) {
      return `${name} is dated ${timeOf(object?.applied?.atMs)} instead of ${timeOf(commit.at)}`;
    }
  }
  const kept = [...world.records.values()].sort((a, b) => a.seq - b.seq).map(({ seq, digest }) => `${seq}:${digest}`);
  const wanted = retainedVersions(log).map(({ seq, content }) => `${seq}:${content}`);
  return kept.join() === wanted.join() ? undefined : `the history is [${kept.join()}] instead of [${wanted.join()}]`;
}

/** How much of what was to be done has been done, from its beginning; undefined if the world is as after no part of it. */
export function partDone(log: Log, expected: readonly LogEntry[], world: RotationWorld): readonly LogEntry[] | undefined {
  // What was seen of the source is written down first, so with any write it is.
  const least = ["Observed", "Back", "Gone"].includes(expected[0]?.type ?? "") ? 1 : 0;
  const drops = expected.filter(({ type }) => type === "Dropped" || type === "Purged");
  const isPurging = drops.some(({ type }) => type === "Purged");
  const steps = expected.slice(0, expected.length - drops.length);
  for (let count = steps.length; count >= least; count -= 1) {
    const made = steps.slice(0, count);
    // Versions may be dropped in any order.
    const going = isPurging ? retainedVersions(sincePurge([...log, ...made])) : drops.filter((drop) => drop.type === "Dropped");
    const dropped = going.filter(({ seq }) => !world.records.has(seq)).map(({ seq }): LogEntry => ({ type: "Dropped", seq }));
    const isPurged = isPurging && world.records.size === 0;
    const done: readonly LogEntry[] = [...made, ...(isPurged ? [{ type: "Purged" } as const] : dropped)];
    if (differenceBetween([...log, ...done], world) === undefined) return done;
  }
  return undefined;
}

function timeOf(timeMs = 0): string {
  return new Date(timeMs).toISOString();
}
