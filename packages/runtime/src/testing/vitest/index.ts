// The public surface of `@keyturn/runtime/testing/vitest`: what needs vitest's hooks.
export { tailOfServerLogs, useCluster, useSharedApiServer, useSharedCluster } from "./clusters.ts";
export { soon, type Soon, soonWithin } from "./soon.ts";
export { temporaryFolder } from "./temporary-folder.ts";
