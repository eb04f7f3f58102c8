// The five steps of a credential's life, and which feature does each.
import type { FeatureName } from "../controllers/feature.ts";

/** The steps in their order. */
export const steps = [
  { step: "issue", feature: "eventing-auth" },
  { step: "rotate", feature: "rotation" },
  { step: "publish", feature: "jwks" },
  { step: "verify", feature: "checksum" },
  { step: "roll out", feature: "sidecars" },
] as const satisfies readonly { readonly step: string; readonly feature: FeatureName }[];

/** One of them. */
export type StepName = (typeof steps)[number]["step"];
