// The very functions that decide about a set: what the explorer explores, and what mistakes are planted in.
export { withBelievedAnnotations } from "../../src/controllers/rotation/annotations.ts";
export { reportOf, statusObjectOf } from "../../src/controllers/rotation/conditions.ts";
export { planRotation } from "../../src/controllers/rotation/plan.ts";
