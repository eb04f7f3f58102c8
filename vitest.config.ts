// All tests of the workspace: pure ones beside their source; the runtime on a real control plane under packages/runtime/test/, the product under test/.
// Tests that start the program as a process start the checkout's, and a choice of them runs once more with the bundle that goes into the image.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
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

/** Where Node keeps what it has compiled: programs that tests start take half the time to be there. */
const env = { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.compile-cache", import.meta.url)) };

/** What takes a minute or about that, though the files are short. */
const long = new Set(
  [
    "test/pods/chart.test.ts",
    "test/pods/made.test.ts",
    "test/pods/network-policies.test.ts",
    "test/rotation/edits.test.ts",
    "test/agent/nginx-outages.test.ts",
    "test/eventing-auth/standstill.test.ts",
    "test/dashboard/unknown.test.ts",
    "test/tenants/event-loop.test.ts",
    "test/eventing-auth/repair.test.ts",
    "test/rotation/publish-before.test.ts",
    "packages/keyturn/test/rotation-explorer/explorer.test.ts",
    "test/rotation/self-healing.test.ts",
    "test/registry/promises.test.ts",
    "test/rotation/churn.test.ts",
    "packages/keyturn/src/controllers/rotation/plan.model.prop.test.ts",
  ].map((path) => fileURLToPath(new URL(path, import.meta.url))),
);

/** Vitest puts the longest files of a project first; where no run has measured them yet, as in CI, those of most bytes. So a long one would be left alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const byProject = Map.groupBy(await super.sort(files), ({ project }) => project);
    const rank = ({ moduleId }: TestSpecification): number => (long.has(moduleId) ? 0 : 1);
    return [...byProject.values()].flatMap((each) => each.toSorted((a, b) => rank(a) - rank(b)));
  }
}

const sharedCluster = "packages/runtime/src/testing/vitest/global-setup.ts";

/** Times that only a hang reaches: the machine may be busy with something else. What was compared is told whole: a run on CI cannot be looked at again. */
const alike = { testTimeout: 600_000, hookTimeout: 600_000, pool: "forks", env, chaiConfig: { truncateThreshold: 2000 } } as const;

export default defineConfig({
  test: {
    // Tests on a cluster wait far more than they compute.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
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
          env: { ...env, KEYTURN_PROGRAM: "dist/keyturn.mjs" },
        },
      },
      { test: { ...alike, name: "unit", include: pure, isolate: false, setupFiles: ["test/support/property-seed.ts"] } },
    ],
  },
});
