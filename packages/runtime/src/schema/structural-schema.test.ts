// Every zod construct and its structural form, and every one that has none with the words of its error.
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { dateTime, duration, embeddedObject, intOrString, labelName, objectName, quantity } from "./kubernetes-values.ts";
import { SchemaError, structuralSchema } from "./structural-schema.ts";

const of = (schema: z.ZodType) => structuralSchema(schema, "spec").schema;
const words = (schema: z.ZodType): string => {
  try {
    return JSON.stringify(of(schema));
  } catch (error) {
    if (error instanceof SchemaError) return error.message;
    throw error;
  }
};

describe("scalars", () => {
  test("strings", () => {
    expect(words(z.string())).toMatchInlineSnapshot(`"{"type":"string"}"`);
    expect(
      words(
        z
          .string()
          .min(1)
          .max(63)
          .max(40)
          .regex(/^a\/b$/),
      ),
    ).toMatchInlineSnapshot(`"{"type":"string","minLength":1,"maxLength":40,"pattern":"^a/b$"}"`);
    expect(words(z.string().length(4).startsWith("a").endsWith("z"))).toMatchInlineSnapshot(
      `"{"type":"string","minLength":4,"maxLength":4,"pattern":"^a.*","allOf":[{"pattern":".*z$"}]}"`,
    );
    expect(words(z.templateLiteral(["v", z.int()]))).toMatchInlineSnapshot(`"{"type":"string","pattern":"^v-?\\\\d+$"}"`);
  });

  test("string formats", () => {
    expect(words(z.iso.datetime())).toMatchInlineSnapshot(`"{"type":"string","format":"date-time","pattern":"Z$"}"`);
    expect(words(dateTime())).toMatchInlineSnapshot(`"{"type":"string","format":"date-time"}"`);
    expect(words(z.iso.date())).toMatchInlineSnapshot(`"{"type":"string","format":"date"}"`);
    expect(words(z.email())).toMatchInlineSnapshot(`"{"type":"string","format":"email"}"`);
    expect(words(z.url())).toMatchInlineSnapshot(`"{"type":"string","format":"uri"}"`);
    expect(words(z.uuid())).toMatchInlineSnapshot(`"{"type":"string","format":"uuid"}"`);
    expect(words(z.ipv4())).toMatchInlineSnapshot(`"{"type":"string","format":"ipv4"}"`);
    expect(words(z.hex())).toMatchInlineSnapshot(`"{"type":"string","pattern":"^[0-9a-fA-F]*$"}"`);
  });

  test("numbers", () => {
    expect(words(z.number())).toMatchInlineSnapshot(`"{"type":"number"}"`);
    expect(words(z.number().gt(1).lte(4).multipleOf(0.5))).toMatchInlineSnapshot(
      `"{"type":"number","minimum":1,"exclusiveMinimum":true,"maximum":4,"multipleOf":0.5}"`,
    );
    expect(words(z.number().gte(1).gt(1).lt(9).lte(5))).toMatchInlineSnapshot(`"{"type":"number","minimum":1,"exclusiveMinimum":true,"maximum":5}"`);
    expect(words(z.int().min(1))).toMatchInlineSnapshot(`"{"type":"integer","format":"int64","minimum":1}"`);
    expect(words(z.int32())).toMatchInlineSnapshot(`"{"type":"integer","format":"int32","minimum":-2147483648,"maximum":2147483647}"`);
    expect(words(z.uint32())).toMatchInlineSnapshot(`"{"type":"integer","format":"int64","minimum":0,"maximum":4294967295}"`);
    expect(words(z.float32())).toMatchInlineSnapshot(`"{"type":"number","format":"float"}"`);
    expect(words(z.float64())).toMatchInlineSnapshot(`"{"type":"number","format":"double"}"`);
  });

  test("booleans, enums and literals", () => {
    expect(words(z.boolean())).toMatchInlineSnapshot(`"{"type":"boolean"}"`);
    expect(words(z.enum(["a", "b"]))).toMatchInlineSnapshot(`"{"type":"string","enum":["a","b"]}"`);
    expect(words(z.literal("a"))).toMatchInlineSnapshot(`"{"type":"string","enum":["a"]}"`);
    expect(words(z.literal([1, 2.5]))).toMatchInlineSnapshot(`"{"type":"number","enum":[1,2.5]}"`);
    expect(words(z.literal(true))).toMatchInlineSnapshot(`"{"type":"boolean","enum":[true]}"`);
  });

  test("Kubernetes' own values", () => {
    expect(words(intOrString())).toMatchInlineSnapshot(`"{"x-kubernetes-int-or-string":true}"`);
    expect(words(quantity())).toMatchInlineSnapshot(
      `"{"pattern":"^(\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))))?$","x-kubernetes-int-or-string":true}"`,
    );
    expect(words(duration())).toMatchInlineSnapshot(
      `"{"type":"string","maxLength":64,"x-kubernetes-validations":[{"rule":"self.matches(r'^(0|([0-9]+(\\\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$') && self.findAll(r'[0-9.]+[a-zµ]+').map(p, double(p.find(r'[0-9.]+')) * (p.endsWith('ns') ? 1e-9 : p.endsWith('us') || p.endsWith('µs') ? 1e-6 : p.endsWith('ms') ? 1e-3 : p.endsWith('s') ? 1.0 : p.endsWith('m') ? 60.0 : 3600.0)).sum() < 3153600001.0 && duration(self) <= duration('876000h')","message":"must be a duration such as 30s, 720h or 1h30m, and not longer than 876000h (100 years)"}]}"`,
    );
    expect(words(objectName())).toMatchInlineSnapshot(
      `"{"type":"string","minLength":1,"maxLength":253,"pattern":"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"}"`,
    );
    expect(words(labelName())).toMatchInlineSnapshot(`"{"type":"string","minLength":1,"maxLength":63,"pattern":"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}"`);
    expect(words(embeddedObject())).toMatchInlineSnapshot(
      `"{"type":"object","x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-embedded-resource":true}"`,
    );
  });
});

describe("wrappers", () => {
  test("optional, default and readonly", () => {
    const shape = {
      a: z.string(),
      b: z.string().optional(),
      c: z.int().default(3),
      d: z.enum(["x"]).optional().readonly(),
      f: z.string().optional().nonoptional(),
    };
    expect(words(z.object(shape))).toMatchInlineSnapshot(
      `"{"type":"object","required":["a","f"],"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"integer","format":"int64","default":3},"d":{"type":"string","enum":["x"]},"f":{"type":"string"}}}"`,
    );
  });

  test("nested defaults materialise", () => {
    const probe = z.object({ path: z.string().default("/healthz"), retries: z.object({ count: z.int32().default(3) }).prefault({}) });
    expect(words(probe.prefault({}))).toMatchInlineSnapshot(
      `"{"type":"object","default":{"path":"/healthz","retries":{"count":3}},"properties":{"path":{"type":"string","default":"/healthz"},"retries":{"type":"object","default":{"count":3},"properties":{"count":{"type":"integer","format":"int32","default":3,"minimum":-2147483648,"maximum":2147483647}}}}}"`,
    );
    expect(of(z.object({ probe: probe.prefault({ path: "/" }) })).properties?.probe?.default).toEqual({ path: "/", retries: { count: 3 } });
  });

  test("descriptions and rules of wrappers and of what they wrap", () => {
    const inner = z
      .string()
      .describe("inner")
      .meta({ cel: [{ rule: "self != 'a'" }] });
    expect(words(inner)).toMatchInlineSnapshot(`"{"description":"inner","type":"string","x-kubernetes-validations":[{"rule":"self != 'a'"}]}"`);
    expect(
      words(inner.optional().meta({ description: "outer", title: "T", cel: [{ rule: "self != 'b'", message: "not b" }] })),
    ).toMatchInlineSnapshot(
      `"{"title":"T","description":"outer","type":"string","x-kubernetes-validations":[{"rule":"self != 'a'"},{"rule":"self != 'b'","message":"not b"}]}"`,
    );
    expect(of(z.lazy(() => inner).optional())).toEqual(of(inner));
    expect(words(z.lazy(() => z.string().describe("later")))).toMatchInlineSnapshot(`"{"description":"later","type":"string"}"`);
  });
});

describe("containers", () => {
  test("objects", () => {
    expect(words(z.object({}))).toMatchInlineSnapshot(`"{"type":"object"}"`);
    expect(words(z.looseObject({ a: z.string() }))).toMatchInlineSnapshot(
      `"{"type":"object","required":["a"],"properties":{"a":{"type":"string"}},"x-kubernetes-preserve-unknown-fields":true}"`,
    );
    expect(words(z.object({ a: z.string() }).meta({ mapType: "atomic", preserveUnknownFields: true }))).toMatchInlineSnapshot(
      `"{"type":"object","required":["a"],"properties":{"a":{"type":"string"}},"x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-map-type":"atomic"}"`,
    );
  });

  test("records", () => {
    expect(words(z.record(z.string(), z.int32()).meta({ maxProperties: 8 }))).toMatchInlineSnapshot(
      `"{"type":"object","maxProperties":8,"additionalProperties":{"type":"integer","format":"int32","minimum":-2147483648,"maximum":2147483647}}"`,
    );
    expect(words(z.record(z.enum(["cpu", "memory"]), quantity()))).toMatchInlineSnapshot(
      `"{"type":"object","required":["cpu","memory"],"properties":{"cpu":{"pattern":"^(\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))))?$","x-kubernetes-int-or-string":true},"memory":{"pattern":"^(\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))))?$","x-kubernetes-int-or-string":true}}}"`,
    );
    expect(words(z.partialRecord(z.enum(["cpu"]), z.string()))).toMatchInlineSnapshot(`"{"type":"object","properties":{"cpu":{"type":"string"}}}"`);
    expect(words(z.record(z.string(), z.unknown()).meta({ preserveUnknownFields: true }))).toMatchInlineSnapshot(
      `"{"type":"object","x-kubernetes-preserve-unknown-fields":true}"`,
    );
    expect(words(z.record(z.string().max(9), z.string()).meta({ cel: [{ rule: "self.all(key, size(key) < 10)" }] }))).toMatchInlineSnapshot(
      `"{"type":"object","additionalProperties":{"type":"string"},"x-kubernetes-validations":[{"rule":"self.all(key, size(key) < 10)"}]}"`,
    );
  });

  test("arrays", () => {
    expect(words(z.array(z.string()).min(1).max(4).meta({ listType: "set" }))).toMatchInlineSnapshot(
      `"{"type":"array","minItems":1,"maxItems":4,"items":{"type":"string"},"x-kubernetes-list-type":"set"}"`,
    );
    expect(
      words(z.array(z.object({ name: z.string(), port: z.int32().default(80) })).meta({ listType: "map", listMapKeys: ["name", "port"] })),
    ).toMatchInlineSnapshot(
      `"{"type":"array","items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"port":{"type":"integer","format":"int32","default":80,"minimum":-2147483648,"maximum":2147483647}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name","port"]}"`,
    );
  });

  test("anything, when it is to be kept", () => {
    expect(words(z.unknown().optional().meta({ preserveUnknownFields: true }))).toMatchInlineSnapshot(
      `"{"x-kubernetes-preserve-unknown-fields":true}"`,
    );
  });
});

describe("what has no structural form is an error that says where and why", () => {
  test.each([
    ["plain union", z.union([z.string(), z.int()])],
    ["discriminated union", z.discriminatedUnion("t", [z.object({ t: z.literal("a") }), z.object({ t: z.literal("b") })])],
    ["nullable", z.string().nullable()],
    ["null among literals", z.literal(["a", null])],
    ["optional union", z.union([z.string(), z.int()]).optional().describe("either")],
    ["tuple", z.tuple([z.string()])],
    ["transform", z.string().transform((text) => text.length)],
    ["pipe", z.string().pipe(z.string())],
    ["trim", z.string().trim()],
    ["any", z.any()],
    ["unknown", z.unknown()],
    ["intersection", z.intersection(z.object({}), z.object({}))],
    ["date", z.date()],
    ["bigint", z.bigint()],
    ["null", z.null()],
    ["catch", z.string().catch("x")],
    ["coercion", z.coerce.number()],
    ["strict object", z.strictObject({})],
    ["catchall", z.object({}).catchall(z.string())],
    ["refinement", z.string().refine((text) => text !== "x")],
    ["mixed literals", z.literal(["a", 1])],
    ["record of unknown", z.record(z.string(), z.unknown())],
    ["constrained record keys", z.record(z.string().max(3), z.string())],
    ["number keys", z.record(z.number(), z.string())],
    ["regex flags", z.string().regex(/a/i)],
    ["look-ahead", z.string().regex(/^(?!x)/)],
    ["back reference", z.string().regex(/(a)\1/)],
    ["unicode escape", z.string().regex(/\u00e9/)],
    ["long repetition", z.string().regex(/a{1,1001}/)],
    ["local time", z.iso.datetime({ local: true })],
    ["two divisors", z.number().multipleOf(2).multipleOf(3)],
    ["bad default", z.string().max(1).prefault("long")],
    ["list type on a string", z.string().meta({ listType: "set" })],
    ["map keys without map", z.array(z.string()).meta({ listType: "map" })],
    ["optional map key", z.array(z.object({ a: z.string().optional() })).meta({ listType: "map", listMapKeys: ["a"] })],
    ["absent map key", z.array(z.object({})).meta({ listType: "map", listMapKeys: ["a"] })],
    ["map type on a string", z.string().meta({ mapType: "atomic" })],
    ["empty rule", z.string().meta({ cel: [{ rule: " " }] })],
    ["long rule without message", z.string().meta({ cel: [{ rule: "self\n!= ''" }] })],
    ["message of two lines", z.string().meta({ cel: [{ rule: "true", message: "a\nb" }] })],
  ])("%s", (_name, schema) => {
    expect(words(z.object({ outer: z.array(z.object({ field: schema })) }))).toMatch(/^spec\.outer\[\]\.field(?:\{\})?: /);
  });

  test("recursion", () => {
    const tree: z.ZodType = z.lazy(() => z.object({ children: z.array(tree) }));
    expect(words(tree)).toMatchInlineSnapshot(
      `"spec.children[]: the schema contains itself, and a structural schema cannot; end it with preserveUnknownFields"`,
    );
  });

  test("an escaped backslash is no back reference", () => {
    expect(of(z.string().regex(/^\\1$/))).toEqual({ type: "string", pattern: String.raw`^\\1$` });
  });
});
