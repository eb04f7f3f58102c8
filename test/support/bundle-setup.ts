// For `globalSetup` of vitest: builds the bundle that the tests of the project "bundle" start.
import { buildProgram } from "../../tools/build.ts";

export async function setup(): Promise<void> {
  await buildProgram();
}
