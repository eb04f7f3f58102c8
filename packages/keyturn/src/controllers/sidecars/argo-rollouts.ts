// Argo Rollouts join the watched workloads once the API server serves them: an operator that waited for a CRD that never comes would do nothing at all.
import type { Cache, Client, ControllerScope } from "@keyturn/runtime";
import { isApiError } from "@keyturn/runtime";
import * as z from "zod";
import type { Selects } from "../attention.ts";
import { Rollout } from "./rollout-kind.ts";
import type { SidecarsWatches } from "./watches.ts";
import { keepRollout, type Workload } from "./workload.ts";

/** How often it is looked whether the CRD is there. */
export const lookForRolloutsMs = 15_000;

const resourcesSchema = z.object({ resources: z.array(z.object({ name: z.string() })) });

/** True if the API server serves Rollouts. */
export async function servesRollouts(client: Client, signal?: AbortSignal): Promise<boolean> {
  try {
    const answer = await client.request({ method: "GET", path: `/apis/${Rollout.group}/${Rollout.version}` }, signal);
    return resourcesSchema.parse(answer).resources.some(({ name }) => name === Rollout.plural);
  } catch (error) {
    if (isApiError(error, "NotFound")) return false;
    throw error;
  }
}

/** How Rollouts are watched. */
export interface RolloutWatch {
  readonly fields: string | undefined;
  readonly selects: Selects;
  readonly onChange: (cache: Cache<Workload>, key: string) => void;
}

/** Adds the watch of Rollouts, and tells `onChange` the keys of those that change. */
export function watchRollouts(
  { watch }: Pick<ControllerScope, "watch">,
  { workloads }: Pick<SidecarsWatches, "workloads">,
  { fields, selects, onChange }: RolloutWatch,
): void {
  const cache = watch(Rollout, { keep: (object) => keepRollout(object, selects), ...(fields !== undefined && { fields }) });
  workloads.set(Rollout.kind, cache);
  cache.subscribe(({ key }) => onChange(cache, key));
}
