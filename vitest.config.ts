// All tests of the workspace: unit and property tests beside their source; the runtime on a real control plane under packages/runtime/test/, the product under test/.
// Tests that start the program as a process start the checkout's, and a choice of them runs once more with the bundle that goes into the image.
import { defineConfig } from "vitest/config";

/** What an installation consists of is only ever the bundle. */
const bundleOnly = "test/install/**/*.test.ts";

/** Commands in a process of their own; not `keyturn dev`, which needs a checkout. */
const bundleToo = ["test/cli/{manifests,run,usage}.test.ts", "test/agent/diff.test.ts", "test/rotation/cli.test.ts"];

const sharedCluster = "packages/runtime/src/testing/vitest/global-setup.ts";

/** Times that only a hang reaches: the machine may be busy with something else. */
const alike = { testTimeout: 600_000, hookTimeout: 600_000, pool: "forks" } as const;

export default defineConfig({
  test: {
    // Tests on a cluster wait far more than they compute.
    maxWorkers: 3,
    projects: [
      {
        test: {
          ...alike,
          name: "source",
          include: ["packages/*/{src,test}/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts"],
          exclude: [bundleOnly, "**/node_modules/**"],
          globalSetup: [sharedCluster],
        },
      },
      {
        test: {
          ...alike,
          name: "bundle",
          include: [bundleOnly, ...bundleToo],
          globalSetup: [sharedCluster, "test/support/bundle-setup.ts"],
          env: { KEYTURN_PROGRAM: "dist/keyturn.mjs" },
        },
      },
    ],
  },
});
