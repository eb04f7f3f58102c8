// The guide says what there is: every reason, every flag, and commands that work.
import { readFile } from "node:fs/promises";
import { Deployment } from "@keyturn/runtime";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { sidecarsFlags } from "../../packages/keyturn/src/controllers/sidecars/flags.ts";
import { sidecarsReasons } from "../../packages/keyturn/src/controllers/sidecars/reasons.ts";
import { runShell, shellBlock } from "../support/shell-block.ts";
import { meshNamespace } from "./mesh-namespace.ts";

const cluster = useSharedCluster();
const read = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

test("every reason is in the guide", async () => {
  const why = (await read("packages/keyturn/src/controllers/sidecars/injection/sidecar.ts")).matchAll(/[|=] "([A-Z]\w+)"/g);
  const reasons = [...Object.keys(sidecarsReasons), ...Array.from(why, ([, reason = ""]) => reason)];
  const guide = await read("docs/guides/roll-out.md");
  expect(reasons).toEqual(expect.arrayContaining(["RolloutStuck", "OptedOut", "WebhookFailed", "SidecarRestart", "SidecarMissing"]));
  expect(reasons.filter((reason) => !guide.includes(`\`${reason}\``))).toEqual([]);
});

test("every flag is in the guide, with its default", async () => {
  const guide = await read("docs/guides/roll-out.md");
  for (const { name, default: text } of Object.values(sidecarsFlags)) {
    expect(guide).toContain(text === undefined ? `| \`--${name}\` | | ` : `| \`--${name}\` | \`${text}\` | `);
  }
});

test("the commands for consent are taken", async () => {
  await using place = await meshNamespace(cluster(), "guide");
  await place.put(Deployment, "web");
  const commands = (await shellBlock("guides/roll-out.md", "consent")).replaceAll("shop", place.namespace);
  await runShell(cluster(), commands);
  await place.startOperator();
  await place.upgrade({ tag: "1.27.0" });
  await place.hasSidecar(Deployment, "web", "docker.io/istio/proxyv2:1.27.0");
});
