// `keyturn history` and `keyturn plan`: what people see of a set, and what they do not.
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { promoteAnnotation, RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { rotationHistoryReport, rotationPlanReport } from "../../packages/keyturn/src/controllers/rotation/queries.ts";
import type { Query } from "../../packages/keyturn/src/feature/feature.ts";
import { runKeyturn } from "../support/keyturn-process.ts";
import { typed } from "../support/typed-command.ts";
import { type RotatingNamespace, rotatingNamespace } from "./rotating-namespace.ts";

const cluster = useSharedCluster();

function queryIn(place: RotatingNamespace, nowMs = Date.now()): Query {
  return { client: cluster().client, namespace: place.namespace, nowMs, signal: new AbortController().signal };
}

/** A set whose source has changed twice, with an hour until the last change becomes live. */
async function rotatedPlace(prefix: string): Promise<RotatingNamespace> {
  const place = await rotatingNamespace(cluster(), prefix);
  await place.startOperator();
  await place.putTargets(["0s", "0s"]);
  await place.putSource("first-secret-value");
  await place.holds({ t1: "first-secret-value", t2: "first-secret-value" });
  await place.putSource("second-secret-value");
  await place.holds({ t1: "second-secret-value", t2: "first-secret-value" });
  await place.putTarget("t1", { rotationOrder: 1, rotationDelay: "1h" });
  await place.putTarget("t2", { rotationOrder: 2, rotationDelay: "5m" });
  await place.seen("t1", "t2");
  await place.putSource("third-secret-value");
  await soon(async () => expect((await place.status("t1")).pending?.seq).toBe(3));
  return place;
}

test("history shows the versions, when they were seen and where they are, and no content", async () => {
  await using place = await rotatedPlace("history");
  const { code, out, err } = await runKeyturn("history", "my-key", "-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig);
  expect(`${code} ${err}`).toBe("0 ");
  const [header = "", ...rows] = out.trimEnd().split("\n");
  expect(header.split(/ {2,}/)).toEqual(["VERSION", "AGE", "SEEN", "DIGEST", "WHERE"]);
  const digest = expect.stringMatching(/^[0-9a-f]{12}$/);
  const age = expect.stringMatching(/^\d+[sm]$/);
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  expect(rows.map((row) => row.split(/ {2,}/))).toEqual([
    ["v3", age, time, digest, "source"],
    ["v2", age, time, digest, "t1"],
    ["v1", age, time, digest, "t2"],
  ]);
  expect(out).not.toMatch(/secret-value|c2VjcmV0/);

  const { data } = await rotationHistoryReport(queryIn(place), "my-key");
  expect(data).toMatchObject({
    set: "my-key",
    versions: [
      { version: 3, isSource: true, targets: [] },
      { version: 2, targets: ["t1"] },
      { version: 1, targets: ["t2"] },
    ],
  });
  expect(JSON.stringify(data)).not.toMatch(/secret-value|c2VjcmV0/);
});

test("plan shows what happens next and when, as a timeline", async () => {
  await using place = await rotatedPlace("plan");
  const { pending } = await place.status("t1");
  // A second after the last change was seen.
  const { text, data } = await rotationPlanReport(queryIn(place, Date.parse(pending?.notBefore ?? "") - 3_599_000), "my-key");
  const lines = text.split("\n");
  expect(lines.slice(0, 3)).toEqual([`set my-key in namespace ${place.namespace}`, "source: secrets/key-latest", ""]);
  expect(lines.slice(3).map((line) => line.split(/ {3,}/).map((cell) => cell.trim()))).toEqual([
    ["TIME", "IN", "t1 (1, 1h)", "t2 (2, 5m)"],
    ["now", "v2", "v1"],
    [expect.stringMatching(/^\d{4}-/), "4m59s", "v2", "→ v2"],
    [expect.stringMatching(/^\d{4}-/), "59m59s", "→ v3", "v2"],
  ]);
  expect(data).toMatchObject({
    steps: [
      { target: "t2", version: 2 },
      { target: "t1", version: 3 },
    ],
  });
  expect(data).toMatchObject({ steps: [{}, { at: pending?.notBefore }] });
  expect(`${text}${JSON.stringify(data)}`).not.toMatch(/secret-value|c2VjcmV0/);
});

test("plan -f says what manifests would do, names what is dangerous, and changes nothing", async () => {
  await using place = await rotatedPlace("plan-file");
  await using folder = await mkdtempDisposable(join(tmpdir(), "plan-file-"));
  const file = join(folder.path, "targets.yaml");
  const target = (name: string, rotationOrder: number, rotationDelay: string): object => ({
    apiVersion: "rotator.k8s.telekom.com/v1",
    kind: "RotationTarget",
    metadata: { name },
    spec: { rotationSet: "my-key", rotationOrder, rotationDelay },
  });
  const planned = async (...args: readonly object[]): Promise<string> => {
    await writeFile(file, args.map((object) => JSON.stringify(object)).join("\n---\n"));
    const { code, out, err } = await runKeyturn("plan", "-f", file, "--prune", "-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig);
    expect(`${code} ${err}`).toBe("0 ");
    return out;
  };
  const before = await cluster().kubectl("get", "rotationtargets,secrets", "-n", place.namespace, "-o", "json");
  const front = await planned(target("canary", 1, "1h"), target("t1", 2, "1h"), target("t2", 3, "5m"));
  expect(front).toContain("canary is added: order 1, delay 1h");
  expect(front).toContain("t1 is renumbered from order 1 to 2");
  expect(front).not.toContain("DANGER");
  expect(await planned(target("t1", 1, "10m"), target("t2", 2, "5m"))).toMatch(/DANGER: version 3 would be live \d+m\d* ?s? ?earlier/);
  expect(await planned(target("t1", 1, "1h"))).toMatch(/t2 is removed; its object stays[^]*DANGER: version \d would be in no target any more/);
  expect(await cluster().kubectl("get", "rotationtargets,secrets", "-n", place.namespace, "-o", "json")).toBe(before);
  // With the operator's windows it says when one opens.
  const windows = ["--rotation.maintenance-windows", "Sun 02:30-02:31", "--rotation.maintenance-time-zone", "UTC"];
  const { out } = await runKeyturn("plan", "my-key", "-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig, ...windows);
  expect(out).toMatch(/-\d\d 02:30:00/);
});

test("plan and history look in every namespace with -A, also for one name", async () => {
  await using one = await rotatingNamespace(cluster(), "everywhere-1");
  await using two = await rotatingNamespace(cluster(), "everywhere-2");
  const set = `set-of-${one.namespace}`;
  for (const place of [one, two]) await place.putTarget("t1", { rotationOrder: 1, rotationSet: set });
  const config = ["--kubeconfig", cluster().adminKubeconfig];
  for (const command of ["plan", "history"]) {
    const { code, out, err } = await typed(command, "-A", set, ...config);
    expect(`${code} ${err}`).toBe("0 ");
    expect(out.match(/^set .*$/gm)).toEqual([one, two].map(({ namespace }) => `set ${set} in namespace ${namespace}`));
    const { out: json } = await typed(command, set, "-Ao", "json", ...config);
    expect(JSON.parse(json)).toMatchObject({ items: [{ namespace: one.namespace }, { namespace: two.namespace }] });
  }
  const { code, err } = await typed("plan", "-A", `no-${set}`, ...config);
  expect(code).toBe(2);
  expect(err).toContain(`there is no RotationTarget of set no-${set} in any namespace; the sets are `);
});

test("a set that stands still says why, and one that does not exist names those that do", async () => {
  await using place = await rotatingNamespace(cluster(), "still");
  await place.putTarget("t1", { rotationOrder: 1 });
  expect((await rotationPlanReport(queryIn(place), "my-key")).text).toContain("nothing moves: there is no source");
  expect((await rotationHistoryReport(queryIn(place), "my-key")).text).toBe("no version has been seen yet");
  const { code, err } = await runKeyturn("history", "other", "-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig);
  expect(code).toBe(2);
  expect(err).toContain(`there is no RotationTarget of set other in namespace ${place.namespace}; its sets are my-key`);
});

test("promote makes the next version live now, on the first target alone, and leaves those after it to their delays", async () => {
  await using place = await rotatingNamespace(cluster(), "promote");
  await place.startOperator();
  await place.putTargets(["1h", "5m"]);
  await place.putSource("first");
  await place.holds({ t1: "first", t2: "first" });
  await place.putSource("second");
  await soon(async () => expect((await place.status("t1")).pending?.seq).toBe(2));
  const promote = (...words: readonly string[]) => typed("promote", ...words, "-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig);

  expect(await promote("t2", "--yes")).toMatchObject({
    code: 2,
    err: "keyturn: t2 follows the targets before it: promote t1, the first of set my-key\n",
  });
  expect(await promote("my-key")).toMatchObject({
    code: 2,
    err: expect.stringContaining("rotationtarget/t1 gets version 2 at once, instead of in "),
  });
  expect(await promote("my-key", "--dry-run")).toMatchObject({ code: 0, out: expect.stringMatching(/^rotationtarget\/t1 .* \(server dry run\)\n$/) });
  await place.holds({ t1: "first", t2: "first" });

  expect(await promote("rotationtarget/t1", "--yes")).toMatchObject({ code: 0, err: "" });
  await place.holds({ t1: "second", t2: "first" });
  expect(await promote("my-key", "--yes")).toMatchObject({ code: 2, err: expect.stringContaining("there is no version to promote in set my-key") });
  await place.putSource("third");
  await soon(async () => expect((await place.status("t1")).pending?.seq).toBe(3));
  await place.holds({ t1: "second", t2: "first" });

  // A number alone promotes nothing: another set has the same ones.
  const { client } = cluster();
  await client.mergePatch(RotationTarget, { namespace: place.namespace, name: "t1" }, { metadata: { annotations: { [promoteAnnotation]: "3" } } });
  await place.putSource("fourth");
  await soon(async () => expect((await place.status("t1")).pending?.seq).toBe(4));
  await place.holds({ t1: "second", t2: "first" });
});
