// The control plane over a simulated API server: crashes between any two writes, lost answers, silent watches, two leaders.
import { Secret } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { SecretCheckSum } from "../../packages/keyturn/src/controllers/checksum/api.ts";
import { checksumFeature } from "../../packages/keyturn/src/controllers/checksum/feature.ts";
import { keyturn } from "../../packages/keyturn/src/operator-identity.ts";
import { forEachSeed, simulate } from "../../packages/runtime/src/testing/simulation/index.ts";
import { modelOperator } from "../simulation/model-operator.ts";
import { oneWriter } from "../simulation/one-writer.ts";
import { checksumActions, checksumUnsettled, publishedRight } from "./simulated-checksums.ts";

const flags: Readonly<Record<string, string>> = {
  "checksum.kinds": "secrets",
  "checksum.namespaces": "default",
  "checksum.keep-for": "90s",
  "checksum.longest-announcement": "60s",
};

test("only states that were there are published, and in the end the right one alone", { timeout: 300_000 }, async () => {
  await forEachSeed(20, async (seed) => {
    const controllers = () => checksumFeature.controllers((flag) => flag.parse(flags[flag.name]));
    const report = await simulate({
      seed,
      processes: ["one", "two"].map((name) => modelOperator(name, { controllers: controllers(), operator: keyturn })),
      setup: ({ server }) => [Secret, SecretCheckSum].forEach((kind) => server.serve(kind)),
      actions: checksumActions,
      unsettled: checksumUnsettled,
      // Steps of the clock would make checksums of the future, which stay until their time has come.
      worldFaults: { clockJump: 0, restore: 0 },
      invariants: { "one writer": oneWriter("kube-system/checksum", ["secretchecksums.tengine.taobao.org"]), "published right": publishedRight() },
    });
    expect(report.writes).toBeGreaterThan(0);
  });
});
