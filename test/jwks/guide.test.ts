// The guide's commands, as its readers type them.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigMap } from "@keyturn/runtime";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { jwksReasons } from "../../packages/keyturn/src/controllers/jwks/reasons.ts";
import { publishingNamespace, soon } from "./publishing-namespace.ts";
import { runShell, shellBlock } from "./shell-block.ts";

const cluster = useSharedCluster();
const guide = "guides/publish.md";

test("a first object, its keys, and a revocation", async () => {
  await using place = await publishingNamespace(cluster(), "guide");
  await place.startOperator();
  const folder = await mkdtemp(join(tmpdir(), "keyturn-guide-"));
  // Readers work in the namespace of their context.
  const inPlace = async (name: string): Promise<string> =>
    runShell(cluster(), `cd ${folder}\nkubectl() { command kubectl --namespace=${place.namespace} "$@"; }\n${await shellBlock(guide, name)}`);
  const first = await inPlace("first");
  expect(first).toContain("jwksconfig.keyturn.io/tokens condition met");
  expect(first).toMatch(/^NAME {3,}READY {3,}KEYS {3,}NEXT REMOVAL {3,}REASON {3,}AGE\ntokens {3,}True {3,}1 {3,}Ready/m);
  const { lastKeyID = "" } = await place.status("tokens");
  expect(first).toContain(`"kid": "${lastKeyID}"`);
  expect(await inPlace("keys")).toBe(`${lastKeyID} Active token-signer \n`);
  await inPlace("revoke");
  await soon(async () => expect((await place.get(ConfigMap, "tokens-jwks"))?.data?.["jwks.json"]).toBe('{\n  "keys": []\n}\n'));
  await rm(folder, { recursive: true });
});

test("every reason that a condition can have is in the guide", async () => {
  const read = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), "utf8");
  const reasons = Object.keys(jwksReasons);
  const text = await read(`docs/${guide}`);
  expect(reasons).toContain("SecretNotFound");
  const good = new Set(["Ready", "Published", "Serving"]);
  expect(reasons.filter((reason) => !good.has(reason) && !text.includes(`\`${reason}\``))).toEqual([]);
});
