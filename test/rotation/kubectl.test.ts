// What people see and do with kubectl.
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { rotationFeature } from "../../packages/keyturn/src/controllers/rotation/feature.ts";
import { rotatingNamespace } from "./rotating-namespace.ts";

const cluster = useSharedCluster();

test("kubectl get shows it at a glance; wait, describe, explain and the category work", async () => {
  await using place = await rotatingNamespace(cluster(), "kubectl");
  const inPlace = (...args: readonly string[]): Promise<string> => cluster().kubectl(...args, "-n", place.namespace);
  await place.startOperator();
  await place.putTarget("key-live", { rotationOrder: 1, rotationDelay: "1h" });
  await place.putTarget("key-fallback", { rotationOrder: 2, rotationDelay: "5m", deletionMode: "cascade" });
  // Before the source: a target that is heard of after it counts as added later, and has to settle.
  await place.seen("key-live", "key-fallback");
  await place.putSource("one");
  await inPlace("wait", "--for=condition=Ready", "rotationtarget/key-live", "rotationtarget/key-fallback", "--timeout=300s");
  await place.putSource("two");
  await inPlace("wait", "--for=jsonpath={.status.pending.seq}=2", "rotationtarget/key-live", "--timeout=300s");

  const { pending } = await place.status("key-live");
  const age = expect.stringMatching(/^\d+[sm]/);
  const [header = "", ...rows] = (await inPlace("get", "rott")).trim().split("\n");
  expect(header.split(/ {2,}/)).toEqual(["NAME", "SET", "ORDER", "VERSION", "NEXT", "READY", "REASON", "AGE"]);
  expect(rows.map((row) => row.split(/ {2,}/).map((cell) => cell.trim()))).toEqual([
    ["key-fallback", "my-key", "2", "1", "True", "UpToDate", age],
    ["key-live", "my-key", "1", "1", pending?.notBefore, "True", "Rotating", age],
  ]);
  // Other tests install CRDs of the same category meanwhile, which kubectl may know of a moment before they are served.
  await soon(async () => expect(await inPlace("get", "keyturn")).toContain("key-live"));
  await soon(async () => expect(await inPlace("describe", "rotationtarget", "key-live")).toMatch(/Normal\s+VersionFilled[^]*got version 1/));
  expect(await inPlace("explain", "rotationtarget.spec.deletionMode")).toMatch(/cascade deletes\s+it after rotationDelay/);
  expect(await inPlace("explain", "rotationtarget.spec")).toContain("Which place in a rotation set the target has");
  expect(await inPlace("explain", "rotationtarget.status.pending.reason")).toContain("Settling: the source must stay as it is");
});

test("the API server refuses what makes no sense, and says why", async () => {
  await using place = await rotatingNamespace(cluster(), "refused");
  await expect(place.putTarget("a", { rotationOrder: 0 })).rejects.toThrow(/rotationOrder/);
  for (const rotationDelay of ["soon", "30d", "-1s"]) {
    const refused: unknown = await place.putTarget("a", { rotationOrder: 1, rotationDelay }).catch((error: unknown) => error);
    // In words, and not as a regular expression.
    expect(refused).toMatchObject({ body: { message: expect.stringMatching(/spec\.rotationDelay.*must be a duration|must be .* duration/) } });
    expect(refused).not.toMatchObject({ body: { message: expect.stringMatching(/should match|\^\(/) } });
  }
  await expect(place.putTarget("a", { rotationOrder: 1, deletionMode: "burn" })).rejects.toThrow(/deletionMode/);
  await expect(place.putTarget("a", { rotationOrder: 1, rotationSet: "not a set" })).rejects.toThrow(/rotationSet/);
  await place.putTarget("a", { rotationOrder: 1 });
  await expect(place.putTarget("a", { rotationOrder: 1, rotationSet: "another" })).rejects.toMatchObject({
    body: { message: expect.stringContaining("cannot be changed") },
  });
});

const fieldSchema = z.lazy(() =>
  z.object({ description: z.string().optional(), properties: z.record(z.string(), fieldSchema).optional(), items: fieldSchema.optional() }),
) as z.ZodType<FieldSchema>;
interface FieldSchema {
  readonly description?: string | undefined;
  readonly properties?: Readonly<Record<string, FieldSchema>> | undefined;
  readonly items?: FieldSchema | undefined;
}

/** The fields of which `kubectl explain` has nothing to say. */
function unexplained({ properties = {}, items }: FieldSchema, path: string): readonly string[] {
  const fields = Object.entries(properties);
  const own = fields.filter(([, { description }]) => description === undefined).map(([name]) => `${path}.${name}`);
  const below = fields.flatMap(([name, field]) => unexplained(field, `${path}.${name}`));
  return [...own, ...below, ...(items ? unexplained(items, path) : [])];
}

test("every field of its own has a text for kubectl explain", () => {
  const crd = z.object({ spec: z.object({ versions: z.array(z.object({ schema: z.object({ openAPIV3Schema: fieldSchema }) })) }) });
  const [version] = crd.parse(parse(renderCrds([rotationFeature]))).spec.versions;
  const { spec, status } = version?.schema.openAPIV3Schema.properties ?? {};
  expect(spec?.description).toContain("Which place");
  expect(status?.description).toContain("Which version");
  expect([...unexplained(spec ?? {}, "spec"), ...unexplained(status ?? {}, "status")]).toEqual([]);
});
