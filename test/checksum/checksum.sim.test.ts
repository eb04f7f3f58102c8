// The control plane over a simulated API server: crashes between any two writes, lost answers, silent watches, two leaders.
import { Namespace, Secret } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { forEachSeed, modelOperator, oneWriter, simulate } from "@keyturn/runtime/testing";
import { SecretCheckSum } from "../../packages/keyturn/src/controllers/checksum/api.ts";
import { checksumFeature } from "../../packages/keyturn/src/controllers/checksum/feature.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { checksumActions, checksumUnsettled, choiceActions, choose, isChosen, publishedRight } from "./simulated-checksums.ts";

const flags: Readonly<Record<string, string>> = {
  "checksum.kinds": "secrets",
  "checksum.keep-for": "90s",
  "checksum.longest-announcement": "60s",
};

const places = [
  { chosen: "by name", seeds: 20, more: { "checksum.namespaces": "default" }, actions: checksumActions },
  { chosen: "by a label that comes and goes", seeds: 20, more: {}, actions: [...checksumActions, ...choiceActions] },
] as const;

test.each(places)(
  "only states that were there are published, and in the end the right one alone, in a namespace that is chosen $chosen",
  async ({ seeds, more, actions }) => {
    const given: Readonly<Record<string, string>> = { ...flags, ...more };
    await forEachSeed(seeds, async (seed) => {
      const controllers = () => checksumFeature.controllers((flag) => flag.parse(given[flag.name]));
      const report = await simulate({
        seed,
        processes: ["one", "two"].map((name) => modelOperator(name, { controllers: controllers(), operator: keyturn })),
        setup(world) {
          for (const kind of [Secret, SecretCheckSum, Namespace]) world.server.serve(kind);
          choose(world, true);
        },
        actions,
        unsettled: (world) => (isChosen(world) ? checksumUnsettled(world) : undefined),
        // Steps of the clock would make checksums of the future, which stay until their time has come.
        worldFaults: { clockJump: 0, restore: 0 },
        invariants: { "one writer": oneWriter("kube-system/checksum", ["secretchecksums.tengine.taobao.org"]), "published right": publishedRight() },
      });
      expect(report.writes).toBeGreaterThan(0);
    });
  },
);
