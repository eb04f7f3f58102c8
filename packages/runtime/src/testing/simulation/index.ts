// The public surface of the simulation: a simulated API server, faults, and seeded runs of whole operators against it.
export { simulate } from "./simulation.ts";
export type { ObservedWrite, SimulationOptions, SimulationReport, UserAction, World } from "./simulation.ts";
export { SimulationError } from "./simulation-error.ts";
export { forEachSeed } from "./for-each-seed.ts";
export type { ProcessContext, SimulatedProcess } from "./process-host.ts";
export { SimulatedApiServer } from "./simulated-api-server.ts";
export type { ServerAnswer, SimulatedApiServerOptions } from "./simulated-api-server.ts";
export { SimulatedNetwork } from "./simulated-network.ts";
export { ProcessClock } from "./process-clock.ts";
export { manyFaults, manyWorldFaults, noFaults } from "./fault-rates.ts";
export type { FaultRates, WorldFaults } from "./fault-rates.ts";
export type { KindTraits } from "./served-kind.ts";
export type { Json, JsonObject } from "./json.ts";
