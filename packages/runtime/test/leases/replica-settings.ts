// What a test tells a replica, as JSON in the environment.
import * as z from "zod";

export const replicaSettingsSchema = z.object({
  name: z.string(),
  kubeconfig: z.string(),
  namespace: z.string(),
  activityFile: z.string(),
  /** Gets the address of the metrics once they are served. */
  metricsFile: z.string(),
  keys: z.array(z.string()),
  /** How many keys it acts on at a time. */
  concurrency: z.number(),
  /** How long it leaves a key alone between two acts. */
  pauseMs: z.number(),
  leaseTimes: z.object({ leaseDurationMs: z.number(), renewDeadlineMs: z.number(), retryPeriodMs: z.number() }),
});

export type ReplicaSettings = z.infer<typeof replicaSettingsSchema>;
