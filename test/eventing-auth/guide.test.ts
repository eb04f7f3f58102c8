// The guide is true: its commands work, and every word that a condition or an Event can say is explained in it.
import { readFile } from "node:fs/promises";
import { useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { eventingAuthFeature } from "../../packages/keyturn/src/controllers/eventing-auth/feature.ts";
import { issuingReasons } from "../../packages/keyturn/src/controllers/eventing-auth/reasons.ts";
import { runShell, shellBlock } from "../support/shell-block.ts";
import { issuingPlace } from "./issuing-place.ts";

const guide = "guides/issue.md";
const read = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

test("what it shows is what kubectl prints", async () => {
  await using place = await issuingPlace(controlPlane(), target());
  await place.ready();
  const shown = await runShell(controlPlane(), `name=${place.runtime}\nnamespace=${place.namespace}\n${await shellBlock(guide, "look")}`);
  expect(shown).toContain(`eventingauth.operator.kyma-project.io/${place.runtime} condition met`);
  const [application] = place.tenant.applications(place.runtime);
  expect(shown).toMatch(/^NAME +STATE +REASON +TARGET +CREDENTIALS +APPLICATION +AGE$/m);
  expect(shown).toMatch(new RegExp(`^${place.runtime} +Ready +Ready +True +True +${application?.id} `, "m"));
});

test("every reason that a condition or an Event can have is in it", async () => {
  const reasons = Object.keys(issuingReasons);
  const text = await read(`docs/${guide}`);
  expect(reasons).toContain("SecretConflict");
  expect(reasons.filter((reason) => !text.includes(`\`${reason}\``))).toEqual([]);
});

test("every flag is in it", async () => {
  const text = await read(`docs/${guide}`);
  // Flags that belong together stand in one row, the later ones without what they have in common.
  const shown = (name: string): boolean =>
    text.includes(`--${name}\``) || text.includes(`\`-${name.split("-").at(-1)}\``) || text.includes(`\`.${name.split(".").at(-1)}\``);
  expect(eventingAuthFeature.flags.map(({ name }) => name).filter((name) => !shown(name))).toEqual([]);
});
