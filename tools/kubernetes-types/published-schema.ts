// What Kubernetes publishes about its own kinds (OpenAPI 2), as far as types are made of it.
import * as z from "zod";

const propertySchema = z.object({
  description: z.string().default(""),
  $ref: z.string().optional(),
  type: z.string().optional(),
  format: z.string().optional(),
  get items(): z.ZodOptional<typeof propertySchema> {
    return propertySchema.optional();
  },
  get additionalProperties(): z.ZodOptional<typeof propertySchema> {
    return propertySchema.optional();
  },
});

/** A field, or what a list or a map is made of. */
export type Property = z.infer<typeof propertySchema>;

const kindNameSchema = z.object({ group: z.string(), version: z.string(), kind: z.string() });

const definitionSchema = propertySchema.extend({
  properties: z.record(z.string(), propertySchema).optional(),
  required: z.array(z.string()).default([]),
  "x-kubernetes-group-version-kind": z.array(kindNameSchema).default([]),
});

/** A type that has a name. */
export type Definition = z.infer<typeof definitionSchema>;

const operationSchema = z.object({ "x-kubernetes-action": z.string().optional(), "x-kubernetes-group-version-kind": kindNameSchema.optional() });

const documentSchema = z.object({
  definitions: z.record(z.string(), definitionSchema),
  paths: z.record(z.string(), z.object({ get: operationSchema.optional(), post: operationSchema.optional() })),
});

/** A kind that the API server has a resource for. */
export interface ServedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/** The schema of one version of Kubernetes. */
export interface PublishedSchema {
  readonly definitions: Readonly<Record<string, Definition>>;
  readonly kinds: readonly ServedKind[];
}

/** Reads the document that an API server serves at `/openapi/v2`, and that Kubernetes keeps as `api/openapi-spec/swagger.json`. */
export function parsePublishedSchema(document: unknown): PublishedSchema {
  const { definitions, paths } = documentSchema.parse(document);
  const kinds = new Map<string, ServedKind>();
  for (const [path, { get, post }] of Object.entries(paths)) {
    const [, scope, plural] = /^\/apis?\/[\w./-]*?v\d\w*\/(namespaces\/\{namespace\}\/)?([a-z]+)$/.exec(path) ?? [];
    const name = post?.["x-kubernetes-group-version-kind"] ?? get?.["x-kubernetes-group-version-kind"];
    if (plural === undefined || !name) continue;
    const key = `${name.group}/${name.version}/${plural}`;
    // A namespaced kind is listed at both paths.
    kinds.set(key, { ...name, plural, namespaced: scope !== undefined || (kinds.get(key)?.namespaced ?? false) });
  }
  return { definitions, kinds: [...kinds.values()] };
}

/** A schema that has everything that one of these has; what several have is as the last has it. */
export function mergeSchemas(schemas: readonly PublishedSchema[]): PublishedSchema {
  const kinds = new Map(schemas.flatMap(({ kinds }) => kinds.map((kind) => [`${kind.group}/${kind.version}/${kind.plural}`, kind] as const)));
  return {
    definitions: Object.assign({}, ...schemas.map(({ definitions }) => definitions)) as PublishedSchema["definitions"],
    kinds: [...kinds.values()],
  };
}
