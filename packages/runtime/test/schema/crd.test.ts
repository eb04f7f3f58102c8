// CRDs made from zod, as a real API server takes them: accepted in strict mode, defaults filled in, rules enforced.
import { beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { soon, useSharedApiServer } from "@keyturn/runtime/testing/vitest";
import { ApiError, isApiError } from "../../src/client/api-error.ts";
import { CustomResourceDefinition } from "../../src/client/builtin-kinds.ts";
import { defineKind, type KubeObject } from "../../src/client/kind.ts";
import {
  conditionsSchema,
  dateTime,
  duration,
  embeddedObject,
  intOrString,
  labelName,
  looseDuration,
  objectName,
  quantity,
} from "../../src/schema/kubernetes-values.ts";
import { crdOf } from "../../src/schema/crd.ts";
import { ageColumn, conditionColumn, defineCustomKind, type ObjectOf } from "../../src/schema/custom-kind.ts";
import { type Condition, setCondition } from "../../src/controller/status.ts";

const everyConstruct = z.object({
  text: z
    .string()
    .min(1)
    .max(20)
    .regex(/^[a-z/]+$/)
    .optional()
    .describe("Lower case."),
  two: z.string().max(9).startsWith("a").endsWith("z").optional(),
  version: z.templateLiteral(["v", z.int()]).optional(),
  formats: z
    .object({
      at: dateTime(),
      zulu: z.iso.datetime(),
      day: z.iso.date(),
      mail: z.email(),
      url: z.url(),
      id: z.uuid(),
      ip: z.ipv4(),
      ip6: z.ipv6(),
      hex: z.hex(),
    })
    .partial()
    .optional(),
  ratio: z.number().gt(0).lte(1).multipleOf(0.25).optional(),
  small: z.int32().min(1).max(10).default(3),
  big: z.int().optional(),
  unsigned: z.uint32().optional(),
  float: z.float64().optional(),
  flag: z.boolean().default(true),
  mode: z.enum(["auto", "manual"]).default("auto"),
  level: z.literal([1, 2, 3]).optional(),
  port: intOrString().optional(),
  memory: quantity().optional(),
  every: duration().default("1h"),
  owner: objectName().optional(),
  place: labelName().optional(),
  template: embeddedObject().optional(),
  open: z.looseObject({ known: z.string() }).optional(),
  anything: z.unknown().optional().meta({ preserveUnknownFields: true }),
  labels: z.record(z.string(), z.string().max(63)).meta({ maxProperties: 4 }).optional(),
  limits: z.partialRecord(z.enum(["cpu", "memory"]), quantity()).optional(),
  probe: z.object({ path: z.string().default("/healthz"), retries: z.object({ count: z.int32().default(3) }).prefault({}) }).prefault({}),
  tags: z.array(z.string().max(20)).max(5).meta({ listType: "set" }).optional(),
  ports: z
    .array(z.object({ name: z.string().max(20), port: z.int32().default(80) }))
    .max(5)
    .meta({ listType: "map", listMapKeys: ["name"] })
    .optional(),
  range: z
    .object({ from: z.int32(), to: z.int32() })
    .meta({
      cel: [
        {
          rule: "self.from <= self.to",
          messageExpression: "self.from > 100 ? 'from is far after to' : 'from is after to'",
          fieldPath: ".from",
          reason: "FieldValueInvalid",
        },
      ],
    })
    .optional(),
  frozen: z
    .string()
    .max(20)
    .meta({ cel: [{ rule: "self == oldSelf", message: "frozen cannot be changed" }] })
    .optional(),
});

const Everything = defineCustomKind({
  group: "test.keyturn.io",
  kind: "Everything",
  plural: "everythings",
  shortNames: ["evt"],
  // Nobody else's: asking for a category asks for all kinds in it.
  categories: ["constructs"],
  scope: "Namespaced",
  versions: [
    {
      name: "v1",
      storage: true,
      spec: everyConstruct,
      status: z.object({ conditions: conditionsSchema.optional(), seen: z.int().optional() }),
      columns: [conditionColumn("Ready"), { name: "Mode", type: "string", jsonPath: ".spec.mode" }, ageColumn],
      rules: [{ rule: "size(self.metadata.name) <= 20", message: "the name must have at most 20 characters" }],
      selectableFields: [".spec.mode"],
    },
    { name: "v1alpha1", spec: everyConstruct, deprecationWarning: "use test.keyturn.io/v1", status: z.object({}) },
  ],
});
type Everything = ObjectOf<typeof Everything>;

const cluster = useSharedApiServer();
beforeAll(async () => {
  const crd = crdOf(Everything);
  await cluster().client.apply(CustomResourceDefinition, crd, { fieldManager: "test", dryRun: true });
  await cluster().client.apply(CustomResourceDefinition, crd, { fieldManager: "test" });
  // It is said to be established a moment before its kind is served.
  await soon(() => cluster().client.list(Everything));
});

interface WithConditions extends KubeObject {
  readonly status: { readonly conditions: readonly Condition[] };
}

/** What the API server makes of a spec, stored nowhere: the spec with its defaults, or the reasons of its refusal. */
async function stored(spec: object, name = "probe"): Promise<unknown> {
  const object: KubeObject & { spec: object } = { metadata: { namespace: "default", name }, spec };
  try {
    const answer = await cluster().client.create<KubeObject & { spec?: unknown }>(Everything, object, { dryRun: true });
    return answer.spec;
  } catch (error) {
    if (error instanceof ApiError) return error.body.details?.causes?.map(({ field, message }) => `${field}: ${message}`) ?? error.message;
    throw error;
  }
}

/** No durations, or longer than 100 years: in one unit, in several, and far beyond what CEL's own durations can be. */
const beyondBounds = [
  "1 hour",
  "876000h1ns",
  "99999999h",
  "9999999999m",
  "9999999999s",
  "9999999999999ms",
  "9999999999999999us",
  "9999999999999999µs",
  "9".repeat(60).concat("ns"),
  "999999h999999h999999h",
  "0.5h876000h",
];

describe("a CRD with every construct", () => {
  test("gets its defaults filled in, nested ones too", async () => {
    expect(await stored({})).toEqual({
      small: 3,
      flag: true,
      mode: "auto",
      every: "1h",
      probe: { path: "/healthz", retries: { count: 3 } },
    });
    expect(await stored({ probe: { path: "/x" }, ports: [{ name: "web" }] })).toMatchObject({
      probe: { path: "/x", retries: { count: 3 } },
      ports: [{ name: "web", port: 80 }],
    });
  });

  test("takes every valid value as it is", async () => {
    const valid = {
      text: "a/b",
      two: "abz",
      version: "v12",
      formats: {
        at: "2026-01-01T00:00:00+02:00",
        zulu: "2026-01-01T00:00:00Z",
        day: "2026-01-01",
        mail: "a@example.com",
        url: "https://example.com/",
        id: "8f14e45f-ceea-467f-9b8f-0a1b2c3d4e5f",
        ip: "10.0.0.1",
        ip6: "::1",
        hex: "0aF",
      },
      ratio: 0.75,
      small: 10,
      big: 2 ** 53 - 1,
      unsigned: 2 ** 32 - 1,
      float: 1.5,
      flag: false,
      mode: "manual",
      level: 2,
      port: "http",
      memory: "1.5Gi",
      every: "1h30m",
      owner: "a.b-c",
      place: "ns-1",
      template: { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: { any: ["thing"] } },
      open: { known: "k", other: { deep: 1 } },
      anything: [1, { a: "b" }],
      labels: { a: "b" },
      limits: { cpu: 2 },
      tags: ["a", "b"],
      ports: [{ name: "web", port: 1 }],
      range: { from: 1, to: 1 },
      frozen: "x",
    };
    const spec = await stored(valid);
    expect(spec).toMatchObject(valid);
    expect(everyConstruct.safeParse(spec)).toMatchObject({ success: true });
  });

  test.each<[string, object, string]>([
    ["pattern", { text: "A" }, "spec.text"],
    ["length", { text: "a".repeat(21) }, "spec.text"],
    ["second pattern", { two: "abc" }, "spec.two"],
    ["template", { version: "12" }, "spec.version"],
    ["date-time", { formats: { at: "yesterday" } }, "spec.formats.at"],
    ["UTC only", { formats: { zulu: "2026-01-01T00:00:00+02:00" } }, "spec.formats.zulu"],
    ["exclusive minimum", { ratio: 0 }, "spec.ratio"],
    ["multiple", { ratio: 0.3 }, "spec.ratio"],
    ["int32", { ports: [{ name: "a", port: 2 ** 31 }] }, "spec.ports[0].port"],
    ["unsigned", { unsigned: -1 }, "spec.unsigned"],
    ["enum", { mode: "other" }, "spec.mode"],
    ["literal", { level: 4 }, "spec.level"],
    ["int or string", { port: true }, "spec.port"],
    ["quantity", { memory: "1 GB" }, "spec.memory"],
    ["duration", { every: "1 hour" }, "spec.every"],
    ["name", { owner: "A" }, "spec.owner"],
    ["record", { labels: { a: 1 } }, "spec.labels.a"],
    ["record size", { labels: { a: "", b: "", c: "", d: "", e: "" } }, "spec.labels"],
    ["set", { tags: ["a", "a"] }, "spec.tags[1]"],
    ["map key", { ports: [{ name: "a" }, { name: "a" }] }, "spec.ports[1]"],
    ["rule", { range: { from: 2, to: 1 } }, "spec.range.from"],
  ])("refuses a wrong %s and names the field", async (_name, spec, field) => {
    expect(await stored(spec)).toContainEqual(expect.stringContaining(field));
  });

  test("refuses by rules with their own words", async () => {
    expect(await stored({ range: { from: 2, to: 1 } })).toContainEqual(expect.stringContaining("from is after to"));
    for (const every of beyondBounds)
      expect(await stored({ every })).toContainEqual(
        expect.stringContaining("must be a duration such as 30s, 720h or 1h30m, and not longer than 876000h"),
      );
    expect(await stored({}, "a-name-that-is-too-long")).toContainEqual(expect.stringContaining("the name must have at most 20 characters"));
  });

  test("refuses unknown keys in strict mode", async () => {
    expect(await stored({ nonsense: 1 })).toContain('unknown field "spec.nonsense"');
  });

  test("compares with the old object in rules on updates", async () => {
    const name = { namespace: "default", name: "frozen" };
    await cluster().apply([{ apiVersion: "test.keyturn.io/v1", kind: "Everything", metadata: name, spec: { frozen: "ice" } } as KubeObject]);
    const thaw = cluster().client.mergePatch(Everything, name, { spec: { frozen: "water" } });
    await expect(thaw).rejects.toThrow('"frozen" is invalid: spec.frozen (Invalid value)');
  });

  test("keeps conditions that setCondition made, one per type", async () => {
    const name = { namespace: "default", name: "conditions" };
    const [made] = await cluster().apply([{ apiVersion: "test.keyturn.io/v1", kind: "Everything", metadata: name, spec: {} } as KubeObject]);
    const ready = { type: "Ready", status: "False", reason: "NotYet", message: "wait", observedGeneration: 1 } as const;
    const conditions = setCondition([], ready, Date.UTC(2026, 0, 1));
    const object: WithConditions = { metadata: { ...name, uid: made?.metadata.uid ?? "" }, status: { conditions } };
    await cluster().client.apply<WithConditions>(defineKind(Everything), object, { fieldManager: "test", subresource: "status" });
    const read = await cluster().client.get(Everything, name);
    expect(read?.status?.conditions).toEqual([{ ...ready, lastTransitionTime: "2026-01-01T00:00:00Z" }]);
    // Short names and categories are known when discovery shows them.
    const table = await soon(() => cluster().kubectl("get", "evt", "conditions"));
    expect(table.split("\n")[0]?.split(/\s+/)).toEqual(["NAME", "READY", "MODE", "AGE"]);
    const names = await soon(() => cluster().kubectl("get", "constructs", "-o", "name", "--field-selector", "spec.mode=auto"));
    expect(names).toContain("everything.test.keyturn.io/conditions");
  });
});

describe("durations that were stored before they had a bound", () => {
  const kindWith = (spec: z.ZodObject) =>
    defineCustomKind({
      group: "test.keyturn.io",
      kind: "Lasting",
      scope: "Namespaced",
      versions: [{ name: "v1", spec, status: z.object({ seen: z.string().optional() }) }],
    });
  const Lasting = kindWith(z.object({ exact: duration().optional(), loose: looseDuration().optional() }));
  const serve = async (kind: typeof Lasting, isRefused: boolean): Promise<void> => {
    await cluster().client.apply(CustomResourceDefinition, crdOf(kind), { fieldManager: "test", force: true });
    const probe = { metadata: { namespace: "default", name: "probe" }, spec: { exact: "876001h" } };
    await soon(async () => {
      const refused = await cluster()
        .client.create<KubeObject>(Lasting, probe, { dryRun: true })
        .then(
          () => false,
          (error: unknown) => (isApiError(error, "Invalid") ? true : String(error)),
        );
      if (refused !== isRefused) throw new Error("the CRD is not in use yet");
    });
  };

  test("stay writable and deletable, and new ones are refused in words", async () => {
    // As 0.2.0 has them.
    await serve(kindWith(z.object({ exact: z.string().max(64).optional(), loose: z.string().optional() })), false);
    const lengths = [...beyondBounds.slice(1), `${"0".repeat(70)}1h`];
    const name = (index: number): { namespace: string; name: string } => ({ namespace: "default", name: `lasting-${index}` });
    for (const [index, length] of lengths.entries()) {
      const spec = length.length > 64 ? { loose: length } : { exact: length, loose: length };
      await cluster().client.create<KubeObject>(Lasting, Object.assign({ metadata: { ...name(index), finalizers: ["keyturn.io/test"] } }, { spec }));
    }
    await serve(Lasting, true);
    for (const index of lengths.keys()) {
      await cluster().client.mergePatch<KubeObject>(Lasting, name(index), { status: { seen: "yes" } }, { subresource: "status" });
      await cluster().client.mergePatch<KubeObject>(Lasting, name(index), { metadata: { labels: { a: "b" } } });
      await cluster().client.delete(Lasting, name(index));
      await cluster().client.mergePatch<KubeObject>(Lasting, name(index), { metadata: { finalizers: [] } });
      expect(await cluster().client.get(Lasting, name(index))).toBeUndefined();
    }
    const words = "must be a duration such as 30s, 720h or 1h30m, and not longer than 876000h (100 years)";
    for (const length of beyondBounds.slice(1)) {
      const object = Object.assign({ metadata: { namespace: "default", name: "new" } }, { spec: { loose: length } });
      const refusal = await cluster()
        .client.create<KubeObject>(Lasting, object, { dryRun: true })
        .catch((error: unknown) => error);
      expect(refusal instanceof ApiError && refusal.body.details?.causes?.map(({ message }) => message)).toEqual([
        `Invalid value: "${length}": ${words}`,
      ]);
    }
    for (const spec of [
      { exact: "876000h", loose: "soon" },
      { exact: "0", loose: "0" },
      { exact: "400000h400000h", loose: "3153599999.9s0.1s" },
    ])
      await cluster().client.create<KubeObject>(Lasting, Object.assign({ metadata: { namespace: "default", name: "new" } }, { spec }), {
        dryRun: true,
      });
  });
});

test("a CRD whose rules could cost too much is refused by the dry run, and bounds make it pass", async () => {
  const rule = { rule: "self.all(a, self.all(b, a != b || a.contains(b)))", message: "x" };
  const kindWith = (list: z.ZodType) =>
    defineCustomKind({ group: "test.keyturn.io", kind: "Costly", scope: "Cluster", versions: [{ name: "v1", spec: z.object({ list }) }] });
  const apply = (list: z.ZodType) => cluster().client.apply(CustomResourceDefinition, crdOf(kindWith(list)), { fieldManager: "test", dryRun: true });
  await expect(apply(z.array(z.string()).meta({ cel: [rule] }))).rejects.toMatchObject({
    body: { message: expect.stringContaining("estimated rule cost exceeds budget") },
  });
  await expect(
    apply(
      z
        .array(z.string().max(20))
        .max(20)
        .meta({ cel: [rule] }),
    ),
  ).resolves.toBeDefined();
});
