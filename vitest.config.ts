// All tests of the workspace: pure ones beside their source; the runtime on a real control plane under packages/runtime/test/, the product under test/.
// Tests that start the program as a process start the checkout's, and a choice of them runs once more with the bundle that goes into the image.
import { existsSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { realNodeObstacle } from "./packages/runtime/src/testing/cluster/real-node.ts";

/** What an installation consists of is only ever the bundle. */
const bundleOnly = ["test/install/**/*.test.ts", "test/pods/**/*.test.ts"];

/** What needs a node that runs pods. Where there can be none, it is left out, and one line says so. */
const onRealNode = ["test/pods/**/*.test.ts", "packages/runtime/test/cluster/real-node.test.ts"];
const obstacle = realNodeObstacle();
if (obstacle !== undefined) process.stderr.write(`no test runs real pods here: ${obstacle}\n`);

/** What mounts a file as a disk of its own. */
const onRealDisk = ["test/agent/power-cut.test.ts"];
const mountsFiles = process.getuid?.() === 0 && existsSync("/dev/loop-control");
if (!mountsFiles) process.stderr.write("no test cuts the power of a real file system here: that needs root, and loop devices\n");
const leftOut = [...(obstacle === undefined ? [] : onRealNode), ...(mountsFiles ? [] : onRealDisk)];

/** Commands in a process of their own; not `keyturn dev`, which needs a checkout. */
const bundleToo = ["test/cli/{manifests,run,usage}.test.ts", "test/agent/diff.test.ts", "test/rotation/cli.test.ts"];

/** What neither starts a cluster nor leaves anything in its process. A process for each of these files would cost more than all that they test. */
const pure = ["packages/*/src/**/*.test.ts", "bench/**/*.test.ts"];

const sharedCluster = "packages/runtime/src/testing/vitest/global-setup.ts";

/** Times that only a hang reaches: the machine may be busy with something else. What was compared is told whole: a run on CI cannot be looked at again. */
const alike = { testTimeout: 600_000, hookTimeout: 600_000, pool: "forks", chaiConfig: { truncateThreshold: 2000 } } as const;

export default defineConfig({
  test: {
    // Tests on a cluster wait far more than they compute.
    maxWorkers: 3,
    // Their files run in the order of the projects' names, the longest of each first: so the pure ones, which are short, fill up the end.
    projects: [
      {
        test: {
          ...alike,
          name: "source",
          include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
          exclude: [...bundleOnly, ...leftOut, "**/node_modules/**"],
          globalSetup: [sharedCluster],
        },
      },
      {
        test: {
          ...alike,
          name: "bundle",
          include: [...bundleOnly, ...bundleToo],
          exclude: [...leftOut, "**/node_modules/**"],
          globalSetup: [sharedCluster, "test/support/bundle-setup.ts"],
          env: { KEYTURN_PROGRAM: "dist/keyturn.mjs" },
        },
      },
      { test: { ...alike, name: "unit", include: pure, isolate: false, setupFiles: ["test/support/property-seed.ts"] } },
    ],
  },
});
