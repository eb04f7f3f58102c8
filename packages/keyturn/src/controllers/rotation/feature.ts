// The feature "rotate": what the command line, the manifests and the docs know about it.
import { selectionOf } from "../attention.ts";
import type { Feature } from "../feature.ts";
import { RotationTarget } from "./api.ts";
import { rotationFlags, rotationWindows } from "./flags.ts";
import { rotationMetrics } from "./metrics.ts";
import { rotationController } from "./reconcile.ts";
import { sourceKinds } from "./source-kinds.ts";

export const rotationFeature: Feature = {
  name: "rotation",
  summary: "keeps a history of a resource's states, each in its own object and in step with delays",
  flags: Object.values(rotationFlags),
  metrics: rotationMetrics,
  kinds: [RotationTarget],
  controllers: (flag) => [
    rotationController({ kinds: sourceKinds(flag(rotationFlags.kinds)), selects: selectionOf(flag), maintenance: rotationWindows(flag) }),
  ],
};
