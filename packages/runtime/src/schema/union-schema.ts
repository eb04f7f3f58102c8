// A discriminated union as one flat object, with CEL rules that tie each field to the discriminator.
import { isDeepStrictEqual } from "node:util";
import { celField, celOneOf } from "./cel-expression.ts";
import { isScalar } from "./json-schema-props.ts";
import type { CelRule, JsonSchemaProps, Scalar } from "./json-schema-props.ts";
import { SchemaError } from "./schema-error.ts";

/** Where a field of a union stands: which discriminator values allow it, and which demand it. */
interface FlatField {
  readonly schema: JsonSchemaProps;
  readonly allowedBy: Set<Scalar>;
  readonly requiredBy: Set<Scalar>;
}

/**
 * Merges the object nodes of a union's variants. A field that several variants have must be the same in all of them; a field that only
 * some have must not have a default, since the API server would set it for every variant.
 */
export function flatUnion(variants: readonly JsonSchemaProps[], discriminator: string, path: string): JsonSchemaProps {
  const fields = new Map<string, FlatField>();
  const allValues: Scalar[] = [];
  const tags: JsonSchemaProps[] = [];
  const inner: CelRule[] = [];
  for (const variant of variants) {
    const tag = variant.properties?.[discriminator];
    const values = (tag?.enum ?? []).filter(isScalar);
    if (!tag || values.length === 0)
      throw new SchemaError(`${path}.${discriminator}`, "the discriminator must be a literal or an enum in every variant");
    if (variant["x-kubernetes-preserve-unknown-fields"])
      throw new SchemaError(path, "a variant that keeps unknown keys would keep them for all variants");
    tags.push(tag);
    allValues.push(...values);
    for (const [name, schema] of Object.entries(variant.properties ?? {})) {
      if (name !== discriminator) addField(fields, { name, schema, values, required: variant.required?.includes(name) ?? false, path });
    }
    for (const rule of variant["x-kubernetes-validations"] ?? []) {
      inner.push({ ...rule, rule: `!(${celOneOf(`self.${celField(discriminator)}`, values)}) || (${rule.rule})` });
    }
  }
  const required = [...fields].filter(([, field]) => field.requiredBy.size === allValues.length).map(([name]) => name);
  const rules = [...fields].flatMap(([name, field]) => rulesOf(name, field, { discriminator, allValues, path }));
  const tag = mergedTag(tags, allValues);
  const demanded = tag.default === undefined ? [discriminator, ...required] : required;
  return {
    type: "object",
    ...(demanded.length > 0 && { required: demanded }),
    properties: { [discriminator]: tag, ...Object.fromEntries([...fields].map(([name, field]) => [name, field.schema])) },
    "x-kubernetes-validations": [...rules, ...inner],
  };
}

function mergedTag(tags: readonly JsonSchemaProps[], values: readonly Scalar[]): JsonSchemaProps {
  const fallback = tags.find((tag) => tag.default !== undefined)?.default;
  const descriptions = [...new Set(tags.flatMap(({ description }) => description ?? []))];
  return {
    ...(descriptions.length > 0 ? { description: descriptions.join(" ") } : {}),
    ...(tags[0]?.type ? { type: tags[0].type } : {}),
    ...(fallback === undefined ? {} : { default: fallback }),
    enum: [...new Set(values)],
  };
}

interface FieldOfVariant {
  readonly name: string;
  readonly schema: JsonSchemaProps;
  readonly values: readonly Scalar[];
  readonly required: boolean;
  readonly path: string;
}

function addField(fields: Map<string, FlatField>, { name, schema, values, required, path }: FieldOfVariant): void {
  const field = fields.get(name) ?? { schema, allowedBy: new Set<Scalar>(), requiredBy: new Set<Scalar>() };
  if (!isDeepStrictEqual(field.schema, schema)) {
    throw new SchemaError(
      `${path}.${name}`,
      "variants of a union share one flat set of fields, so a field must have the same schema in each variant that has it",
    );
  }
  for (const value of values) {
    field.allowedBy.add(value);
    if (required) field.requiredBy.add(value);
  }
  fields.set(name, field);
}

interface UnionContext {
  readonly discriminator: string;
  readonly allValues: readonly Scalar[];
  readonly path: string;
}

function rulesOf(name: string, field: FlatField, { discriminator, allValues, path }: UnionContext): readonly CelRule[] {
  const everywhere = field.allowedBy.size === allValues.length;
  if (!everywhere && field.schema.default !== undefined) {
    throw new SchemaError(
      `${path}.${name}`,
      "a default in one variant of a union would be set for every variant; give the field to all variants or drop the default",
    );
  }
  const self = `self.${celField(discriminator)}`;
  const has = `has(self.${celField(name)})`;
  const whenIn = (values: Iterable<Scalar>): string => `${discriminator} is ${[...values].map((value) => JSON.stringify(value)).join(" or ")}`;
  const rules: CelRule[] = [];
  if (!everywhere) {
    const rule = `!${has} || ${celOneOf(self, [...field.allowedBy])}`;
    rules.push({
      rule,
      message: `${name} may be set only when ${whenIn(field.allowedBy)}`,
      reason: "FieldValueForbidden",
      fieldPath: fieldPath(name),
    });
  }
  if (field.requiredBy.size > 0 && field.requiredBy.size < allValues.length) {
    const rule = `${has} || !(${celOneOf(self, [...field.requiredBy])})`;
    rules.push({ rule, message: `${name} is required when ${whenIn(field.requiredBy)}`, reason: "FieldValueRequired", fieldPath: fieldPath(name) });
  }
  return rules;
}

/** A property as `fieldPath` takes it. */
function fieldPath(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `['${name}']`;
}
