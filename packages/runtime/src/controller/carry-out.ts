// The older way to carry a plan out, for one controller that is not on `reconcileWith` yet.
import { keyOfObject, type Kind, type KubeObject, nameOf, type ObjectName, type Stored } from "../client/kind.ts";
import type { EventRecorder } from "../observe/events.ts";
import type { Outcome, Run } from "./controller.ts";
import { fieldManagerOf, isUpToDate, type Live, type Operator, ownedWriter, type Owner } from "./owned-objects.ts";
import type { PlannedEvent } from "./plan.ts";
import { type WithStatus, writeStatus } from "./status.ts";

/** One change to make to an object kept on the planned object's behalf. */
export type OwnedWrite =
  | { readonly verb: "apply"; readonly kind: Kind; readonly object: KubeObject }
  | { readonly verb: "remove"; readonly kind: Kind; readonly name: ObjectName };

/** The writes to make, in order, and what to say afterwards. */
export interface StatusPlan<Status> {
  readonly writes: readonly OwnedWrite[];
  /** The whole status as it should stand when the writes are done. */
  readonly status: Status;
  readonly notices: readonly PlannedEvent[];
  /** Wall-clock time in milliseconds at which time alone changes the plan; undefined if only a change of what was observed can. */
  readonly nextAtMs: number | undefined;
}

/** An `apply` write of a typed object. */
export function apply<T extends KubeObject>(kind: Kind<T>, object: T): OwnedWrite {
  return { verb: "apply", kind, object };
}

/** A `remove` write. */
export function remove(kind: Kind, name: ObjectName): OwnedWrite {
  return { verb: "remove", kind, name };
}

/** On whose behalf a plan is carried out, and with what. */
export interface PlanContext<Status, T extends WithStatus<Status>> {
  readonly run: Run;
  readonly operator: Operator;
  readonly controller: string;
  readonly kind: Kind<T>;
  /** The object that was planned for, as it was observed. */
  readonly object: Stored<T>;
  readonly events: EventRecorder;
  /** What is known of an object that is to be applied. Default: nothing, and it is looked up. */
  live?(kind: Kind, object: KubeObject): Live;
}

/** The writes of a plan that would change something, as far as is known without asking. */
export function pendingWrites<Status, T extends WithStatus<Status>>(
  { writes }: Pick<StatusPlan<Status>, "writes">,
  context: Pick<PlanContext<Status, T>, "operator" | "kind" | "object" | "live">,
): readonly OwnedWrite[] {
  const owner = ownerIn(context);
  return writes.filter(
    (each) => each.verb === "remove" || !isUpToDate(each.object, context.live?.(each.kind, each.object), { operator: context.operator, owner }),
  );
}

/**
 * Makes the plan's writes, stopping at the first that fails: what was written stays, the status is not touched, and the next run plans anew from what is then there.
 * Only when all are made is the status written and are the notices recorded.
 */
export async function carryOut<Status, T extends WithStatus<Status>>(plan: StatusPlan<Status>, context: PlanContext<Status, T>): Promise<Outcome> {
  const { run, operator, controller, kind, object, events } = context;
  if (plan.writes.length > 0) await write(plan.writes, context);
  await writeStatus(run, { kind, object, status: plan.status, fieldManager: fieldManagerOf(operator, controller) });
  for (const { type, reason, message } of plan.notices) {
    events.record({ kind, object: { ...ownerIn(context).name, uid: object.metadata.uid }, type, reason, message });
  }
  return plan.nextAtMs === undefined ? {} : { requeueAfterMs: Math.max(0, plan.nextAtMs - run.now) };
}

/** The writer itself leaves out what would change nothing. */
async function write<Status, T extends WithStatus<Status>>(writes: readonly OwnedWrite[], context: PlanContext<Status, T>): Promise<void> {
  const { run, operator, controller } = context;
  const writer = ownedWriter({ client: run.client, operator, controller, owner: ownerIn(context), signal: run.signal });
  for (const each of writes) {
    if (each.verb === "apply") await writer.apply(each.kind, each.object, context.live?.(each.kind, each.object));
    else await writer.remove(each.kind, each.name);
  }
}

function ownerIn({ kind, object }: { readonly kind: Kind; readonly object: KubeObject }): Owner {
  return { kind, name: nameOf(keyOfObject(object)) };
}
