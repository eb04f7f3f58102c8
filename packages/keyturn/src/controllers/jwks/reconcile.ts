// The JWKS controllers: observe, plan, carry out.
import {
  addFinalizer,
  carryOut,
  type ControllerDefinition,
  dropFinalizer,
  isApiError,
  isBeingDeleted,
  type Kind,
  keyOfObject,
  type KubeObject,
  type Live,
  nameOf,
  type Outcome,
  ownedWriter,
  pendingWrites,
  type Run,
} from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import { attentionTo, type Selects } from "../attention.ts";
import { pausedPlan } from "../paused-plan.ts";
import { jwksAccess } from "./access.ts";
import type { JwksStatus } from "./api.ts";
import { claimKey } from "./name-claims.ts";
import { keyMetrics } from "./metrics.ts";
import { observeJwks } from "./observe.ts";
import { claimsOf, type JwksObject, nameOfObject, type Observation, ownerOfObservation } from "./observation.ts";
import { planJwks, planJwksDeletion } from "./plan.ts";
import { nextPassAt, type PassLimits, rememberPass } from "./rate-limit.ts";
import { type ReadSettings, watchJwks } from "./watches.ts";

/** Holds a deletion until nginx's objects, and the ConfigMap if it is to go, are gone. */
export const jwksFinalizer = `${keyturn.domain}/jwks`;

/** One controller: the kind it serves, and how it works. */
export interface JwksControllerOptions {
  readonly name: string;
  readonly kind: Kind<JwksObject>;
  readonly readSettings: ReadSettings;
  readonly limits: PassLimits;
  readonly configMapIntervalMs: number;
  /** Which objects are looked after. */
  readonly selects: Selects;
}

/** The controller of one of the two kinds. */
export function jwksController(options: JwksControllerOptions): ControllerDefinition {
  const { name, kind, readSettings, limits, configMapIntervalMs, selects } = options;
  return {
    name,
    primary: kind,
    access: jwksAccess,
    // The document's: 5 s, 10 s, 20 s … 5 min.
    backoff: { firstMs: 5000, longestMs: 300_000, spread: 0 },
    setup(scope) {
      const watches = watchJwks(scope, kind, readSettings);
      const countKeys = scope.show(keyMetrics(scope.metrics, kind));
      const passes = new Map<string, readonly number[]>();

      return async (run) => {
        const cached = watches.objects.get(run.key);
        const attention = cached && attentionTo(cached.metadata, selects, run.now);
        if (cached && attention?.type === "paused") {
          const paused = { run, operator: keyturn, controller: name, kind, object: cached, events: scope.events };
          return carryOut(pausedPlan<JwksStatus>(cached, attention, run.now), paused);
        }
        const isServed = attention?.type === "served";
        const observed = isServed && (await observeJwks(run, { kind, watches, readSettings, configMapIntervalMs }));
        if (!observed) {
          countKeys(run.key, undefined);
          return void passes.delete(run.key);
        }
        if (isBeingDeleted(observed.object)) return deleteJwks(observed, run, name);
        const object = await addFinalizer(run, { kind, object: observed.object }, jwksFinalizer);

        const plan = planJwks({ ...observed, object }, run.now);
        // In a dry run what was published before stays published.
        countKeys(run.key, scope.dryRun ? object.status : plan.status);
        const context = { run, operator: keyturn, controller: name, kind, object, events: scope.events, live: liveIn(observed) };
        const writes = pendingWrites(plan, context);
        if (writes.length > 0) {
          const nowMs = scope.clock.monotonic();
          const earlier = passes.get(run.key) ?? [];
          const atMs = plan.urgent ? nowMs : nextPassAt(earlier, limits, nowMs);
          if (atMs > nowMs) return { requeueAfterMs: atMs - nowMs };
          passes.set(run.key, rememberPass(earlier, nowMs));
        }
        try {
          return await carryOut({ ...plan, writes }, context);
        } catch (error) {
          // nginx's objects come after the document. What is wrong with them must not keep anybody from knowing, and from removing keys in time.
          if (!isApiError(error, "Invalid")) throw error;
          return carryOut(planJwks({ ...observed, object, nginxRefusal: error.message }, run.now), context);
        }
      };
    },
  };
}

/**
 * What the observation knows about an object that is to be applied. It has looked at every name that the object claims.
 * The document's next keys are made from its last ones, so it is written only if it is still what was observed: another replica may have changed it, or created it.
 */
function liveIn({ object, settings, live }: Observation): (kind: Kind, wanted: KubeObject) => Live {
  const claims = settings.ok ? claimsOf(nameOfObject({ object }), settings.settings, live) : [];
  const byKey = new Map(claims.map((claim) => [claimKey(claim), claim]));
  return (kind, wanted) => {
    const claim = byKey.get(claimKey({ kind, name: nameOf(keyOfObject(wanted)) }));
    const isDocument = claim !== undefined && claim === claims[0];
    const { uid, resourceVersion } = claim?.live?.metadata ?? {};
    if (!claim?.live || uid === undefined) return { seen: "absent", ...(isDocument && { createOnly: true }) };
    return { seen: "present", object: claim.live, uid, ...(isDocument && resourceVersion !== undefined && { resourceVersion }) };
  };
}

async function deleteJwks(observed: Observation, run: Run, controller: string): Promise<Outcome | void> {
  const { kind, object, settings } = observed;
  const cleanupOnDelete = settings.ok && settings.settings.cleanupOnDelete;
  const writer = ownedWriter({ client: run.client, operator: keyturn, controller, owner: ownerOfObservation(observed), signal: run.signal });
  for (const write of planJwksDeletion(observed, { cleanupOnDelete })) {
    if (write.verb === "remove") await writer.remove(write.kind, write.name);
  }
  await dropFinalizer(run.client, { kind, object }, jwksFinalizer);
  run.done("cleaned up after a deleted object", { cleanupOnDelete });
}
