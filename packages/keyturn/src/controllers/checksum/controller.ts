// The checksum controllers. A key is a scope, by the namespace in which its checksum is published: observe it, plan, make sure that the caches are not behind, carry out.
import {
  type AccessRule,
  type ControllerDefinition,
  type KubeObject,
  type Moment,
  Namespace,
  type Plan,
  reconcileWith,
  type Run,
  type StatusObject,
} from "@keyturn/runtime";
import type { Pause } from "../../feature/pause-and-selection.ts";
import type { AnnouncementKey } from "./announcement.ts";
import { type PublishedCheckSum, timestampMsOf } from "./check-sum-object.ts";
import { countsSinceMs, newestSettled } from "./history.ts";
import type { MemberKind } from "./member-kind.ts";
import { ChecksumNumbers, type NamespaceNumbers } from "./metrics.ts";
import { newestOf, type Observation, pausedChecksumPlan, pauseOfNamespace, planChecksum, type PublishingPolicy, stepsOf } from "./plan.ts";
import { checksumReasons } from "./reasons.ts";
import { type Scope, type ScopeChoice, scopeArguments } from "./scopes.ts";
import { type ChecksumWatches, type ScopeView, watchChecksums } from "./watches.ts";

/** One controller: what its checksums are of, where, and how they are published. */
interface ChecksumControllerOptions<T extends KubeObject> {
  readonly name: string;
  readonly memberKind: MemberKind<T>;
  readonly access: readonly AccessRule[];
  readonly scopeChoice: ScopeChoice;
  /** Namespaces that are left as they are, whatever the choice says. */
  readonly isSkipped: (namespace: string) => boolean;
  /** Reads, when the controller is started, how checksums are published. */
  readonly readPolicies: () => PublishingPolicies;
  readonly stabilizeMs: number;
}

/** How checksums are published, of each scope, and by whose word. */
export interface PublishingPolicies {
  readonly policyOf: (scope: Scope) => PublishingPolicy;
  /** Of those who may announce. */
  readonly keys: readonly AnnouncementKey[];
}

type PolicyOf = PublishingPolicies["policyOf"];

/** A cache that is behind is asked again so soon; what it lacks is usually on its way. */
const recheckMs = 250;

/** What is known of a scope. */
type Observed =
  /** A burst of changes goes on, or a cache is behind: look again then. */
  | { readonly type: "unsettled"; readonly untilMs: number }
  /** The scope that was published here is published elsewhere now: since when, or undefined if it is still to come. */
  | { readonly type: "moved"; readonly published: readonly PublishedCheckSum[]; readonly sinceMs: number | undefined }
  | {
      readonly type: "settled";
      readonly scope: Scope;
      readonly observation: Observation;
      readonly view: ScopeView;
      readonly pause: Pause | undefined;
      /** What is known to be no older than the API server: nothing, the checksum that counts, or all that the plan is made from. */
      readonly certain: "nothing" | Look;
    };

/** What is asked of the API server itself before something is done. */
type Look = "current" | "latest";

/** A plan, and the numbers of what it was made from. */
interface NamespacePlan extends Plan<Look> {
  readonly numbers?: NamespaceNumbers;
}

/** The controller of one kind of checksums. Its keys are namespaces. */
export function checksumController<T extends KubeObject>(options: ChecksumControllerOptions<T>): ControllerDefinition {
  const { name, memberKind, access, scopeChoice, isSkipped, readPolicies, stabilizeMs } = options;
  const kind = memberKind.checksums;
  return {
    name,
    access,
    setup(scope) {
      const { policyOf, keys } = readPolicies();
      const numbers = new ChecksumNumbers(scope.metrics, kind.kind);
      const watches = watchChecksums(scope, { memberKind, scopeChoice, keys, isSkipped, stabilizeMs, onRead: () => numbers.countRead() });
      const behind = (nowMs: number): Observed => {
        numbers.countRecheck();
        return { type: "unsettled", untilMs: nowMs + recheckMs };
      };

      return reconcileWith<Observed, Look, never, NamespacePlan>(
        scope,
        {
          async observe(run, nowMs) {
            const { key: home } = run;
            if (watches.namespacesOf(home).length === 0) {
              const [to, published] = [watches.homeOf(home), watches.publishedIn(home)];
              if (to === home || published.length === 0) return undefined;
              const successor = newestSettled(watches.publishedIn(to));
              return { type: "moved", published, sinceMs: successor && countsSinceMs(successor) };
            }
            // Nothing is computed while a burst goes on, so that a thousand changes cost no more than one.
            const waitMs = watches.waitMs(home);
            if (waitMs > 0) return { type: "unsettled", untilMs: nowMs + waitMs };
            if (!(await watches.readUnread(home, run))) return behind(nowMs);
            const view = watches.view(home);
            const published = watches.publishedIn(home);
            const member: Observation["member"] = (name) => view.members.get(name);
            const about = { state: view.members.state(), problems: view.members.problems(), member, published };
            return {
              type: "settled",
              scope: { home, namespaces: watches.namespacesOf(home) },
              observation: { namespace: home, scopeArguments: scopeArguments(scopeChoice), prefix: memberKind.prefix, ...about },
              view,
              pause: pauseOfNamespace(watches.pausedBy(home), published, nowMs),
              certain: "nothing",
            };
          },
          plan: (observed, moment) => planNamespace(observed, { kind, policyOf, moment }),
          async look(at, observed, run) {
            if (observed.type !== "settled") return observed;
            const { observation, view } = observed;
            const late = (): Observed => behind(run.now + (scope.serverAheadMs() ?? 0));
            if (at === "current") return (await isSettledThere(run, kind, observation)) ? { ...observed, certain: at } : late();
            // The ids can be a megabyte, so that they are read when they are needed, and not kept.
            const publishedIds = await idsOfSettled(run, kind, observation);
            if (!(await view.isLatest(run))) return late();
            return { ...observed, observation: { ...observation, publishedIds }, certain: at };
          },
          done: ({ verb }) => (verb === "apply" ? numbers.countPublished() : undefined),
          completed(observed) {
            if (observed.type === "settled" && !observed.pause) observed.view.endBurst();
          },
          regarding: (namespace) => [reportedIn(watches, namespace, kind)],
          show(namespace, shown) {
            if (!shown) numbers.hide(namespace);
            else if (shown.plan.numbers) numbers.show(namespace, shown.plan.numbers);
          },
        },
        { reasons: checksumReasons },
      );
    },
  };
}

/** Plans for a namespace; what rests on its objects only once it is certain what they are. */
function planNamespace(
  observed: Observed,
  { kind, policyOf, moment }: { readonly kind: MemberKind["checksums"]; readonly policyOf: PolicyOf; readonly moment: Moment },
): NamespacePlan {
  if (observed.type === "unsettled") return { steps: [], status: [], deferred: true, nextAtMs: observed.untilMs };
  if (observed.type === "moved") return planMoved(observed, { kind, policyOf, nowMs: moment.nowMs });
  const { state, problems, published, namespace } = observed.observation;
  const plan = planChecksum(observed.observation, policyOf(observed.scope), moment);
  const isAwaited = plan.statuses.some(({ conditions }) => conditions["Current"]?.reason === "Awaited");
  const publishedMs = published.length > 0 ? Math.max(...published.map(timestampMsOf)) : undefined;
  const numbers = { state, problems, publishedMs, isAwaited, isHeld: plan.isHeld };
  if (observed.pause) return { ...stepsOf(pausedChecksumPlan(published, observed.pause), kind, namespace), numbers };
  const { certain } = observed;
  const look = (at: Look): NamespacePlan => ({ steps: [{ verb: "look", at }], more: true, status: [], numbers });
  if (plan.restsOnState && certain !== "latest") return look("latest");
  // What goes leaves the one that counts behind: if somebody has deleted that meanwhile, none would be left.
  if (plan.removals.length > 0 && certain === "nothing") return look("current");
  return { ...stepsOf(plan, kind, namespace), numbers };
}

/** Checksums of a scope that has moved pass for as long as any earlier one does, and no longer: a reader that watches all of its namespaces would believe them for ever. */
function planMoved(
  { published, sinceMs }: Extract<Observed, { type: "moved" }>,
  { kind, policyOf, nowMs }: { readonly kind: MemberKind["checksums"]; readonly policyOf: PolicyOf; readonly nowMs: number },
): NamespacePlan {
  const namespace = published[0]?.object.metadata.namespace ?? "";
  const { keepForMs } = policyOf({ home: namespace, namespaces: [] });
  const goesAtMs = (sinceMs ?? nowMs) + keepForMs;
  if (nowMs < goesAtMs) return { steps: [], status: [], nextAtMs: goesAtMs };
  const owner = { kind: Namespace, name: { name: namespace } };
  const steps = published.map(({ object }) => ({ verb: "delete", kind, name: { namespace, name: object.metadata.name }, owner }) as const);
  return { steps, status: [] };
}

/** The ids of the checksum that counts; undefined if it does not list them, or was changed meanwhile. */
async function idsOfSettled(
  { client, signal }: Run,
  kind: MemberKind["checksums"],
  { published, namespace }: Observation,
): Promise<readonly string[] | undefined> {
  const settled = newestSettled(published);
  if (!settled?.listsIds) return undefined;
  const { name, resourceVersion } = settled.object.metadata;
  const object = await client.get(kind, { namespace, name }, signal);
  return object?.metadata.resourceVersion === resourceVersion ? object.spec.ids : undefined;
}

/** Whether the checksum that counts is still there. */
async function isSettledThere({ client, signal }: Run, kind: MemberKind["checksums"], { published, namespace }: Observation): Promise<boolean> {
  const settled = newestSettled(published);
  if (!settled) return false;
  const { name, uid } = settled.object.metadata;
  const object = await client.get(kind, { namespace, name }, signal);
  return object?.metadata.uid === uid;
}

/** Who tells of a failure: the newest checksum, or the namespace if there is none yet. */
function reportedIn(watches: ChecksumWatches, namespace: string, kind: MemberKind["checksums"]): StatusObject {
  const newest = newestOf(watches.publishedIn(namespace));
  if (newest) return { kind, object: newest.object };
  return { kind: Namespace, object: { metadata: { name: namespace, uid: "", resourceVersion: "" } }, eventsOnly: true };
}
