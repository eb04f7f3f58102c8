// What users do to a source and its targets in a simulation, and what must hold of every write to the targets.
import { objectPath, Secret } from "@keyturn/runtime";
import { drawOne, type JsonObject, objectOr, type ObservedWrite, stringOr, type UserAction, type World } from "@keyturn/runtime/testing";
import {
  RotationTarget,
  rotationSetAnnotation,
  sourceAnnotation,
  versionAnnotation,
  versionRecordType,
} from "../../packages/keyturn/src/controllers/rotation/api.ts";

const namespace = "default";
const set = "keys";
/** Delays that do not grow, so that no version may ever be missing between two targets. */
const targets = [
  { name: "live", delayMs: 40_000 },
  { name: "previous", delayMs: 25_000 },
  { name: "oldest", delayMs: 10_000 },
] as const;
/** How far the wall clocks of two processes are apart at most. */
const skewMs = 10_000;
/** After this nothing moves any more: a delay for each target, 150 s until a watch that has fallen silent is noticed, and some. */
const calmMs = 500_000;

const headers = { "content-type": "application/merge-patch+json", "user-agent": "user" };

/** Serves the kind and makes the targets. */
export function rotationSetup(world: World): void {
  world.server.serve(RotationTarget);
  for (const target of targets) putTarget(world, target);
}

function putTarget(world: World, { name, delayMs }: (typeof targets)[number]): void {
  // What the API server would fill in.
  const defaults = { deletionMode: "keep", whenUnfilled: "Backfill", changePolicy: "Settled" } as const;
  const rotationOrder = targets.findIndex((target) => target.name === name) + 1;
  const spec = { ...defaults, rotationSet: set, rotationOrder, rotationDelay: `${delayMs / 1000}s` };
  world.apply(RotationTarget, { metadata: { namespace, name }, spec });
}

const sourcePath = objectPath(Secret, { namespace, name: "source" });
const aTarget = ({ random }: World): string => objectPath(Secret, { namespace, name: drawOne(random, targets)?.name ?? "live" });

/** What users do. Values never return, so that every stretch in which the source holds one is known. */
export function rotationActions(): readonly UserAction[] {
  let count = 0;
  const putSource = (world: World): void => {
    count += 1;
    const annotations = { [rotationSetAnnotation]: set, [sourceAnnotation]: "true" };
    world.apply(Secret, { metadata: { namespace, name: "source", annotations }, data: { value: `v${count}` } });
  };
  return [
    { name: "changes the source", weight: 8, run: putSource },
    { name: "deletes the source", run: (world) => world.request({ method: "DELETE", path: sourcePath }) },
    {
      name: "touches the source",
      run: (world) => world.request({ method: "PATCH", path: sourcePath, headers, body: `{"metadata":{"labels":{"touched":"${count}"}}}` }),
    },
    {
      name: "replaces a target",
      run(world) {
        const target = drawOne(world.random, targets) ?? targets[0];
        world.delete(RotationTarget, { namespace, name: target.name });
        putTarget(world, target);
      },
    },
    { name: "deletes a target's object", run: (world) => world.request({ method: "DELETE", path: aTarget(world) }) },
    {
      name: "spoils a target's object",
      run: (world) => world.request({ method: "PATCH", path: aTarget(world), headers, body: '{"data":{"value":"spoilt"}}' }),
    },
  ];
}

interface Stretch {
  readonly value: string;
  readonly fromMs: number;
  toMs: number;
}

const valueOf = (object: JsonObject | undefined): string => stringOr(objectOr(object?.["data"])["value"], "");
const annotationOf = (object: JsonObject | undefined, name: string): string =>
  stringOr(objectOr(objectOr(object?.["metadata"])["annotations"])[name], "");

/** What must hold of every write: nothing unsettled is live, contents move in order, none is dropped early, and none is missing on its way. */
export class RotatedRight {
  readonly #stretches: Stretch[] = [];
  /** What each target was last given: the version, its content, and when. */
  readonly #given = new Map<string, { readonly seq: number; readonly value: string; readonly atMs: number }>();
  /** Every content that a target was given, in order: it was live, or part of a first fill. */
  readonly commits: string[] = [];

  readonly check = ({ change, client }: ObservedWrite, { clock }: World): string | undefined => {
    const { resource, key, after } = change;
    if (resource !== "secrets") return undefined;
    const now = clock.monotonic();
    if (key === `${namespace}/source`) return this.#noteSource(after, now);
    const index = targets.findIndex(({ name }) => key === `${namespace}/${name}`);
    const target = targets[index];
    if (!target || client === "user") return undefined;
    if (!after) return `${client} deleted ${target.name}`;
    return this.#checkTarget(target, { index, value: valueOf(after), seq: Number(annotationOf(after, versionAnnotation)), now });
  };

  #noteSource(after: JsonObject | undefined, now: number): undefined {
    const last = this.#stretches.at(-1);
    if (after && last?.value === valueOf(after) && last.toMs === Number.POSITIVE_INFINITY) return;
    if (last?.toMs === Number.POSITIVE_INFINITY) last.toMs = now;
    if (after) this.#stretches.push({ value: valueOf(after), fromMs: now, toMs: Number.POSITIVE_INFINITY });
  }

  #checkTarget(
    { name, delayMs }: (typeof targets)[number],
    { index, value, seq, now }: { readonly index: number; readonly value: string; readonly seq: number; readonly now: number },
  ): string | undefined {
    const stretch = this.#stretches.find((each) => each.value === value);
    if (!stretch) return `${name} was given ${value}, which the source never was`;
    const before = this.#given.get(name);
    if (before?.seq === seq) return before.value === value ? undefined : `version ${seq} is ${before.value} and ${value}`;
    if (before && before.seq > seq) return `${name} went back from ${before.value} to ${value}`;
    this.#given.set(name, { seq, value, atMs: now });
    if (!this.commits.includes(value)) this.commits.push(value);
    if (!before) return undefined;
    const lower = targets[index - 1];
    if (!lower) {
      const heldMs = Math.min(stretch.toMs, now) - stretch.fromMs;
      if (heldMs + skewMs < delayMs) return `${value} is live after ${heldMs} ms`;
    }
    const ahead = lower && this.#given.get(lower.name);
    if (lower && (!ahead || ahead.seq < seq)) return `${name} has ${value} before ${lower.name}`;
    const next = targets[index + 1];
    const follower = next && this.#given.get(next.name);
    if (next && (!follower || follower.seq < before.seq)) return `${before.value} leaves ${name} before it is in ${next.name}`;
    return undefined;
  }
}

/** What is not yet as it should be. Looked at when nothing changes by itself any more. */
export function rotationUnsettled({ commits }: RotatedRight): (world: World) => string | undefined {
  let calmSinceMs: number | undefined;
  return (world) => {
    calmSinceMs ??= world.clock.monotonic();
    return world.clock.monotonic() < calmSinceMs + calmMs ? "contents may still be moving" : firstProblem(world, commits);
  };
}

function firstProblem({ objects }: World, commits: readonly string[]): string | undefined {
  const secrets = objects(Secret);
  const find = (name: string): JsonObject | undefined => secrets.find(({ metadata }) => objectOr(metadata)["name"] === name);
  const source = find("source");
  if (source && commits.at(-1) !== valueOf(source)) return `${valueOf(source)} is not live`;
  for (const [index, { name }] of targets.entries()) {
    if (commits.length === 0) return undefined;
    const held = find(name);
    // While there are fewer versions than targets, the oldest; what has left the source may be one further on its way.
    const wanted = [commits.at(-1 - index) ?? commits[0], ...(index > 0 ? [commits.at(-index)] : [])];
    if (!wanted.includes(valueOf(held))) return `${name} holds ${valueOf(held)} instead of ${wanted.join(" or ")}`;
  }
  const records = secrets.filter(({ type }) => type === versionRecordType);
  return records.length > targets.length + 1 ? `${records.length} versions are kept` : undefined;
}
