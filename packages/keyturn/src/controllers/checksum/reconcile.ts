// The checksum controllers: observe a namespace, plan, make sure, carry out.
import {
  type ControllerDefinition,
  type EventRecorder,
  fieldManagerOf,
  type KubeObject,
  Namespace,
  type Outcome,
  ownedWriter,
  type Run,
  writeStatus,
} from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import { checksumAccess } from "./access.ts";
import { timestampMsOf } from "./check-sum-object.ts";
import { showsLatest } from "./consistent-read.ts";
import { ChecksumNumbers } from "./metrics.ts";
import type { NamespaceChoice } from "./namespace-choice.ts";
import type { PublishingPolicy } from "./observation.ts";
import { type ChecksumPlan, planChecksum } from "./plan.ts";
import { pausedChecksumPlan, pauseOfNamespace } from "./pause.ts";
import type { Subject } from "./subject.ts";
import { type PlaceWatches, placeOf, publishedIn, watchChecksums } from "./watches.ts";

/** One controller: what its checksums are of, where, and how they are published. */
export interface ChecksumControllerOptions<T extends KubeObject> {
  readonly name: string;
  readonly subject: Subject<T>;
  readonly choice: NamespaceChoice;
  /** Namespaces that are left as they are, whatever the choice says. */
  readonly isSkipped: (namespace: string) => boolean;
  readonly policy: PublishingPolicy;
  readonly settleMs: number;
}

/** A cache that is behind is asked again so soon; what it lacks is usually on its way. */
const recheckMs = 250;

/** The controller of one kind of checksums. Its keys are namespaces. */
export function checksumController<T extends KubeObject>(options: ChecksumControllerOptions<T>): ControllerDefinition {
  const { name, subject, choice, isSkipped, policy, settleMs } = options;
  return {
    name,
    access: checksumAccess(subject, choice),
    setup(scope) {
      const numbers = new ChecksumNumbers(scope.metrics, subject.checksums.kind);
      const show = scope.show(numbers);
      const watches = watchChecksums(scope, { subject, choice, isSkipped, settleMs, onRead: () => numbers.countRead() });

      return async (run) => {
        const { key: namespace } = run;
        if (!watches.isChosen(namespace)) return show(namespace, undefined);
        // Nothing is computed while a burst goes on, so that a thousand changes cost no more than one.
        const waitMs = watches.members.waitMs(namespace);
        if (waitMs > 0) return { requeueAfterMs: waitMs };
        if (!(await watches.readUnread(namespace, run))) {
          numbers.countRecheck();
          return { requeueAfterMs: recheckMs };
        }
        const place = placeOf(watches.places, namespace);
        const { members, objects } = watches.members.of(namespace);
        const [state, problems, published] = [members.state(), members.problems(), publishedIn(place, namespace)];
        const plan = planChecksum({ namespace, prefix: subject.prefix, state, problems, published }, policy, run.now);
        const publishedMs = published.length > 0 ? Math.max(...published.map(timestampMsOf)) : undefined;
        show(namespace, { state, problems, publishedMs, isAwaited: plan.statuses.some(({ status }) => isAwaited(status)) });

        const pause = pauseOfNamespace(watches.pausedBy(namespace), published, run.now);
        if (pause) return carryOut(pausedChecksumPlan(published, pause, run.now), run, { name, subject, events: scope.events });
        if (plan.restsOnState && !(await isLatest(place, run, { objects, isUnchanged: () => members.state() === state }))) {
          numbers.countRecheck();
          return { requeueAfterMs: recheckMs };
        }
        const outcome = await carryOut(plan, run, { name, subject, events: scope.events, countPublished: () => numbers.countPublished() });
        watches.members.endBurst(namespace, state);
        return outcome;
      };
    },
  };
}

/** True if the caches that the plan was made from are not behind, neither in the objects nor in the checksums. */
async function isLatest(
  { objects: objectCache, checksums }: PlaceWatches,
  { client, key: namespace, signal }: Run,
  { objects, isUnchanged }: { readonly objects: number; readonly isUnchanged: () => boolean },
): Promise<boolean> {
  const marked = [...checksums.entries(namespace)].length;
  return (
    (await showsLatest(checksums, { client, namespace, objects: marked, signal })) &&
    (await showsLatest(objectCache, { client, namespace, objects, signal })) &&
    isUnchanged()
  );
}

interface CarryOutOptions<T extends KubeObject> {
  readonly name: string;
  readonly subject: Subject<T>;
  readonly events: EventRecorder;
  readonly countPublished?: () => void;
}

async function carryOut<T extends KubeObject>(
  { publish, removals, statuses, notices, nextAtMs }: ChecksumPlan,
  { client, key: namespace, signal, done, now }: Run,
  { name, subject, events, countPublished }: CarryOutOptions<T>,
): Promise<Outcome> {
  const kind = subject.checksums;
  const writer = ownedWriter({ client, operator: keyturn, controller: name, owner: { kind: Namespace, name: { name: namespace } }, signal });
  if (publish) {
    // The caches were just seen to be up to date, so that nothing has this name but the same checksum, made by another replica.
    await writer.apply(kind, publish, { seen: "absent" });
    done("published a checksum", { namespace, checksum: publish.spec.checksum, count: publish.spec.count }, countPublished);
  }
  for (const removal of removals) await writer.remove(kind, removal);
  const fieldManager = fieldManagerOf(keyturn, name);
  for (const { checksum, status } of statuses) await writeStatus({ client, signal }, { kind, object: checksum.object, status, fieldManager });
  for (const { type, reason, message, about } of notices) events.record({ kind, object: about, type, reason, action: "Publish", message });
  return nextAtMs === undefined ? {} : { requeueAfterMs: Math.max(0, nextAtMs - now) };
}

function isAwaited({ conditions = [] }: ChecksumPlan["statuses"][number]["status"]): boolean {
  return conditions.some(({ reason }) => reason === "Awaited");
}
