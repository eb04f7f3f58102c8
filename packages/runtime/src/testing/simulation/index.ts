// The public surface of the simulation: a simulated API server, faults, and seeded runs of whole operators against it.
export {
  forEachSeed,
  type ObservedWrite,
  simulate,
  SimulationError,
  type SimulationOptions,
  type SimulationReport,
  type UserAction,
  type World,
} from "./simulation.ts";
export { ProcessClock, type ProcessContext, type SimulatedProcess } from "./process.ts";
export { SimulatedApiServer } from "./simulated-api-server.ts";
export type { ServerAnswer, SimulatedApiServerOptions } from "./simulated-api-server.ts";
export { SimulatedNetwork } from "./network.ts";
export { startVirtualCluster, type VirtualCluster, type VirtualClusterOptions } from "./virtual-cluster.ts";
export { type FaultRates, manyFaults, manyWorldFaults, noFaults, type WorldFaults } from "./world-trouble.ts";
export type { KindTraits } from "./object-store.ts";
export { modelOperator, type ModelOperatorOptions, oneWriter } from "./model-operator.ts";
export { chance, drawInt, drawOne, drawWeighted } from "../../random.ts";
export { type Json, type JsonObject, objectOr, stringOr } from "../../json.ts";
