// Which program tests start as a process: the checkout's, or the bundle that KEYTURN_PROGRAM names, relative to the checkout.
import { fileURLToPath } from "node:url";

const checkout = new URL("../..", import.meta.url);
const bundle = process.env["KEYTURN_PROGRAM"];

/** The command to start it; arguments follow. The bundle is started as the image starts it. */
export const program: readonly [command: string, ...args: string[]] = bundle
  ? [process.execPath, "--max-semi-space-size=4", "--disable-sigusr1", fileURLToPath(new URL(bundle, checkout))]
  : [fileURLToPath(new URL("bin/keyturn", checkout))];
