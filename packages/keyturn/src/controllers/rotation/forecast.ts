// What happens to a set if nothing changes but the time: the plan, carried out on paper, again and again.
import type { ObjectObservation, RecordObservation, SetObservation, TargetObservation } from "./observe.ts";
import { planRotation, type RotationPlan, type RotationWrite } from "./plan.ts";
import { isProven } from "./seal.ts";

/** One thing that happens. */
export interface ForecastStep {
  readonly atMs: number;
  readonly target: string;
  /** The version that the target gets; absent if its object is deleted. */
  readonly seq?: number;
}

/** What is to come. */
interface Forecast {
  /** As of now, before anything is done. */
  readonly plan: RotationPlan;
  readonly steps: readonly ForecastStep[];
}

/** More rounds than any set needs: each one moves something. */
const maxRounds = 1000;

/** Looks ahead until only a change of the source, or of the set, can make anything happen. */
export function forecast(observation: SetObservation, nowMs: number): Forecast {
  const plan = planRotation(observation, nowMs);
  const steps: ForecastStep[] = [];
  let world = observation;
  let timeMs = nowMs;
  let next = plan;
  for (let round = 0; round < maxRounds; round++) {
    steps.push(...next.writes.flatMap((write) => stepOf(write, timeMs)));
    world = next.writes.reduce(afterWrite, world);
    if (next.nextAtMs === undefined) break;
    timeMs = Math.max(timeMs, next.nextAtMs);
    next = planRotation(world, timeMs);
  }
  return { plan, steps };
}

/** What must happen first where nothing is to come, in words for people. */
export function outlookOf({ setBlocker, source, targets }: RotationPlan): string {
  const nothing = "nothing will happen until";
  if (setBlocker?.reason === "NoSource") return `${nothing} there is a source`;
  const paused = [...targets].flatMap(([name, { blocker }]) => (blocker?.reason === "Paused" ? [`rotationtarget/${name}`] : []));
  if (setBlocker?.reason === "Paused") {
    const held = source?.pause ? [`${source.resource}/${source.name}`] : paused;
    return `${nothing} the pause ends${held.length > 0 ? `: keyturn resume ${held.join(" and ")}` : ""}`;
  }
  if (setBlocker) return `${nothing} that is resolved`;
  return `${nothing} the source changes${paused.length > 0 ? `, or you resume ${paused.join(" or ")}` : ""}`;
}

function stepOf(write: RotationWrite, atMs: number): readonly ForecastStep[] {
  if (write.verb === "writeTarget") return [{ atMs, target: write.target, seq: write.seq }];
  return write.verb === "deleteTarget" ? [{ atMs, target: write.target }] : [];
}

/** What would be observed after a write. */
function afterWrite(world: SetObservation, write: RotationWrite): SetObservation {
  const { records } = world;
  if (write.verb === "createRecord" || write.verb === "rebuildRecord") {
    const { verb: _, ...record } = write;
    // The operator seals what it writes.
    const proof = isProven(world) ? { proof: "valid" as const } : {};
    return { ...world, records: [...records, { ...record, ...proof, uid: `record-${write.seq}`, resourceVersion: "0" }] };
  }
  if (write.verb === "noteRecord") return { ...world, records: records.map((record) => (record.seq === write.seq ? noted(record, write) : record)) };
  if (write.verb === "deleteRecord") return { ...world, records: records.filter(({ seq }) => seq !== write.seq) };
  const now = write.verb === "writeTarget" ? [written(write)] : [];
  return withObjects(world, write.target, (objects) => [...objects.filter((object) => !isSame(object, write)), ...now]);
}

function noted(record: RecordObservation, { log = record.log, owners }: RotationWrite & { readonly verb: "noteRecord" }): RecordObservation {
  return { ...record, log, owners };
}

function isSame({ resource, name }: ObjectObservation, write: { readonly resource: string; readonly objectName: string }): boolean {
  return resource === write.resource && name === write.objectName;
}

function written({ resource, objectName, seq, digest, atMs, ownedByTarget }: RotationWrite & { readonly verb: "writeTarget" }): ObjectObservation {
  return {
    resource,
    name: objectName,
    uid: `object-${objectName}`,
    resourceVersion: "0",
    ours: true,
    applied: { seq, digest, atMs },
    digest,
    ownedByTarget,
  };
}

function withObjects(
  world: SetObservation,
  target: string,
  change: (objects: readonly ObjectObservation[]) => readonly ObjectObservation[],
): SetObservation {
  const changed = (observed: TargetObservation): TargetObservation =>
    observed.name === target ? { ...observed, objects: change(observed.objects) } : observed;
  return { ...world, targets: world.targets.map(changed) };
}
