// The document's limits on how often something is done, as flags.
import { durationFlag, numberFlag } from "../../flags/flag.ts";

export const jwksFlags = {
  reconcileInterval: durationFlag({
    name: "jwks.reconcile-interval",
    default: "5s",
    help: "the least time between two passes over one object that change something; 0 = off",
  }),
  reconcilesPerMinute: numberFlag({
    name: "jwks.reconciles-per-minute",
    default: 12,
    least: 0,
    most: 10_000,
    help: "the most passes over one object that change something, in any minute; 0 = off",
  }),
  configMapInterval: durationFlag({
    name: "jwks.configmap-interval",
    default: "1m",
    help: "the least time between two changes of one published ConfigMap; later changes are made together; 0 = off",
  }),
};
