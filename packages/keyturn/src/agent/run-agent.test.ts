// The rights of verification's two halves.
import type { AccessRule } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { checksumFeature } from "../controllers/checksum/feature.ts";
import { agentAccess } from "./run-agent.ts";

test("neither half may write a Secret or an Ingress, and the agent writes no checksum", () => {
  const access = checksumFeature.controllers((flag) => flag.parse(undefined)).flatMap((controller) => controller.access);
  const verbsOf = (rules: readonly AccessRule[], plural: string): readonly string[] => [
    ...new Set(rules.filter(({ kind }) => kind.plural === plural).flatMap(({ verbs }) => verbs)),
  ];
  expect(verbsOf(access, "secrets")).toEqual(["list", "watch"]);
  expect(verbsOf(access, "ingresses")).toEqual(["list", "watch"]);
  expect(verbsOf(access, "namespaces")).toEqual(["list", "watch"]);
  for (const plural of ["secrets", "secretchecksums"]) {
    expect(verbsOf(agentAccess, plural).filter((verb) => !["get", "list", "watch"].includes(verb))).toEqual([]);
  }
});
