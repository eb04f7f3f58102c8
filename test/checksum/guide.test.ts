// The guide's commands, as its readers type them, and the examples.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { soon, temporaryFolder, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { checksumReasons } from "../../packages/keyturn/src/controllers/checksum/reasons.ts";
import { runShell, shellBlock } from "../support/shell-block.ts";
import { certificate, verifiedNamespace } from "./verified-namespace.ts";

const cluster = useSharedCluster();
const guide = "guides/verify.md";
const checkout = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): Promise<string> => readFile(join(checkout, path), "utf8");

test("a first checksum, its ids by hand, and a batch that is announced", async () => {
  await using place = await verifiedNamespace(cluster(), "guide");
  await place.startClusterOperator();
  const folder = await mkdtemp(join(tmpdir(), "keyturn-guide-"));
  // Readers work in the namespace of their context, and have the program at hand.
  const inPlace = async (name: string): Promise<string> => {
    const { namespace } = place;
    const functions = `kubectl() { command kubectl --namespace=${namespace} "$@"; }\nmkdir -p bin; ln -sf ${checkout}/bin/keyturn bin/keyturn`;
    return runShell(cluster(), `cd ${folder}\nexport NAMESPACE=${namespace}\n${functions}\n${await shellBlock(guide, name)}`);
  };
  const first = await inPlace("first");
  expect(first).toContain("condition met");
  expect(first).toMatch(
    /^NAME {3,}CHECKSUM {3,}COUNT {3,}LEFT OUT {3,}CURRENT {3,}REASON {3,}AGE\nsecret-\w{10} {3,}[0-9a-f]{32} {3,}1 {3,}0 {3,}True {3,}Published/m,
  );
  const [newest] = await place.checksums();
  expect(await inPlace("by-hand")).toBe(`${newest?.spec.checksum}  -\n`);
  await place.putSecret("wild", 1);
  await soon(async () => expect(await inPlace("problems")).toBe("wild NumberMissing\n"));

  await place.putSecret("old-27556", 1, certificate(1));
  await place.published(["27555-1", "27556-1"]);
  await mkdir(join(folder, "batch"));
  await writeFile(join(folder, "batch", "new.yaml"), JSON.stringify(place.secret("new-27557", 1, certificate(2))));
  expect(await inPlace("announce")).toMatch(/announced SecretCheckSum secret-\w+ in .* of 2, 1 new and 1 gone/);
  const { spec } = await place.published(["27555-1", "27557-1"]);
  expect(spec.announcement).toBeDefined();
  await rm(folder, { recursive: true });
});

test("a large change that is let through, and announcements that are signed", async () => {
  await using place = await verifiedNamespace(cluster(), "guide-signed");
  const watching = await place.startOperator();
  const folder = await temporaryFolder();
  const type = async (name: string): Promise<string> =>
    runShell(
      cluster(),
      `cd ${folder}\nexport NAMESPACE=${place.namespace}\nmkdir -p bin; ln -sf ${checkout}/bin/keyturn bin/keyturn\n${await shellBlock(guide, name)}`,
    );
  const names = Array.from({ length: 5 }, (_, index) => `shop-${index + 1}`);
  for (const [index, name] of names.entries()) await place.putSecret(name, 1, certificate(index));
  const { metadata } = await place.published(names.map((name) => `${name.slice(5)}-1`));
  // While no operator looks, so that it sees all of them go at once.
  await watching.stop();
  for (const name of names.slice(1)) await place.removeSecret(name);
  const operator = await place.startOperator();
  await soon(async () => expect(await place.condition(metadata.name, "Current")).toBe("False LargeChange"));
  expect(await type("allow")).toContain("0 new and 4 gone");
  await place.published(["1-1"]);
  await operator.stop();

  await type("keys");
  await place.startOperator({ flags: { "checksum.announced-only": "*", "checksum.announcement-keys": join(folder, "announce.pub") } });
  await mkdir(join(folder, "batch"));
  const next = place.secret("shop-1", 2, certificate(2));
  await writeFile(join(folder, "batch", "next.yaml"), JSON.stringify(next));
  expect(await type("signed")).toMatch(/the announced state is there\n[^]*1 new and 1 gone/);
  await place.put(next);
  const { spec } = await place.published(["1-2"]);
  expect(spec.announcement?.signature).toBeDefined();
});

test("every reason is in the guide", async () => {
  const reasons = Object.keys(checksumReasons);
  const text = await read(`docs/${guide}`);
  expect(reasons).toContain("NumberMissing");
  expect(reasons.filter((reason) => !text.includes(`\`${reason}\``))).toEqual([]);
});

test("every flag is in the guide", async () => {
  const flags = Array.from(
    (await read("packages/keyturn/src/controllers/checksum/flags.ts")).matchAll(/name: "(checksum\.[\w-]+)"/g),
    ([, flag = ""]) => flag,
  );
  const text = await read(`docs/${guide}`);
  expect(flags).toContain("checksum.settle");
  expect(flags.filter((flag) => !text.includes(`--${flag}`))).toEqual([]);
});

test("the examples are published, and name the one that is left out", async () => {
  await using place = await verifiedNamespace(cluster(), "examples");
  await place.startOperator();
  const folder = join(checkout, "examples/verify");
  for (const file of (await readdir(folder)).filter((name) => !name.startsWith("agent") && !name.startsWith("gateway-namespace")).sort()) {
    await cluster().apply((await readFile(join(folder, file), "utf8")).replaceAll("keyturn-examples-verify", place.namespace));
  }
  const { status } = await soon(async () => {
    const newest = await place.published(["27555-1", "27556-4"]);
    expect(newest.status?.problemCount).toBe(1);
    return newest;
  });
  expect(status?.problems).toEqual([{ name: "forgotten-27557", reason: "VersionMissing" }]);
});
