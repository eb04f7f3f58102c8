// The built-in kinds that operators meet, each as a type and as a Kind of the same name.
export * from "./admin-kinds.ts";
export * from "./core-kinds.ts";
export * from "./workload-kinds.ts";
