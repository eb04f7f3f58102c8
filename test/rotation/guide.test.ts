// The guide's commands, as its readers type them, and its list of reasons.
import { readFile } from "node:fs/promises";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { rotationReasons } from "../../packages/keyturn/src/controllers/rotation/reasons.ts";
import { runShell, shellBlock } from "../support/shell-block.ts";
import { rotatingNamespace } from "./rotating-namespace.ts";

const cluster = useSharedCluster();
const guide = "guides/rotate.md";

test("a first set", async () => {
  await using place = await rotatingNamespace(cluster(), "guide");
  await place.startOperator();
  // Readers work in the namespace of their context.
  const printed = await runShell(
    cluster(),
    `kubectl() { command kubectl --namespace=${place.namespace} "$@"; }\n${await shellBlock(guide, "first")}`,
  );
  expect(printed).toMatch(
    /^NAME {3,}SET {3,}ORDER {3,}VERSION {3,}NEXT {3,}READY {3,}REASON {3,}AGE\nkey-fallback {3,}my-key {3,}2 {3,}1 {3,}True {3,}UpToDate {3,}\w+\nkey-live {3,}my-key {3,}1 {3,}1 {3,}True {3,}UpToDate {3,}\w+$/m,
  );
  await place.holds({ "key-live": "one", "key-fallback": "one" });
});

test("every reason that a condition or an Event can have is in the guide", async () => {
  const read = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), "utf8");
  const reasons = Object.keys(rotationReasons);
  const text = await read(`docs/${guide}`);
  expect(reasons).toContain("SourceUnstable");
  const good = new Set(["UpToDate", "Rotating", "HasOwnVersion", "Progressing"]);
  expect(reasons.filter((reason) => !good.has(reason) && !text.includes(`\`${reason}\``))).toEqual([]);
});
