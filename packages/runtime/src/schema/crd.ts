// The CustomResourceDefinition of a custom kind, and objects as YAML.
import { Document } from "yaml";
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from "../client/builtin-kinds.ts";
import type { KubeObject } from "../client/kind.ts";
import { type CustomKind, type CustomVersion, type PrinterColumn, storedVersion } from "./custom-kind.ts";
import { type JsonSchemaProps, ordered } from "./json-schema-props.ts";
import { SchemaError, structuralSchema } from "./structural-schema.ts";

/** What a CRD may carry beside its definition. */
interface CrdMetadata {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The CRD of a kind. The same declaration gives the same object, key for key. Throws `SchemaError` for a schema that has no structural form. */
export function crdOf(kind: Pick<CustomKind, "definition" | "plural">, { labels, annotations }: CrdMetadata = {}): CustomResourceDefinition {
  const { definition, plural } = kind;
  const stored = storedVersion(definition);
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${definition.group}`, ...(labels && { labels }), ...(annotations && { annotations }) },
    spec: {
      group: definition.group,
      names: {
        kind: definition.kind,
        listKind: `${definition.kind}List`,
        plural,
        singular: definition.singular ?? definition.kind.toLowerCase(),
        ...(definition.shortNames?.length && { shortNames: definition.shortNames }),
        ...(definition.categories?.length && { categories: definition.categories }),
      },
      scope: definition.scope,
      versions: definition.versions.map((version) => crdVersion(version, version === stored)),
    },
  };
}

function crdVersion(
  version: CustomVersion,
  storage: boolean,
): CustomResourceDefinitionVersion & { readonly selectableFields?: readonly { readonly jsonPath: string }[] } {
  const { name, columns = [], selectableFields = [], deprecationWarning } = version;
  for (const { name: column, jsonPath } of columns) {
    if (!jsonPath.startsWith(".")) throw new SchemaError(`column ${column}`, `the JSON path ${jsonPath} must start with a dot`);
  }
  return {
    name,
    served: version.served ?? true,
    storage,
    ...(deprecationWarning !== undefined && { deprecated: true, deprecationWarning }),
    schema: { openAPIV3Schema: rootSchema(version) },
    ...((version.statusSubresource ?? version.status !== undefined) && { subresources: { status: {} } }),
    ...(columns.length > 0 && { additionalPrinterColumns: columns.map(printerColumn) }),
    ...(selectableFields.length > 0 && { selectableFields: selectableFields.map((jsonPath) => ({ jsonPath })) }),
  };
}

/** apiVersion, kind and metadata are left out: the API server adds and checks them itself. */
function rootSchema({ spec, status, rules, description }: CustomVersion): JsonSchemaProps {
  const specField = structuralSchema(spec, "spec");
  return ordered({
    description,
    type: "object",
    required: specField.optional ? undefined : ["spec"],
    properties: { spec: specField.schema, ...(status && { status: structuralSchema(status, "status").schema }) },
    "x-kubernetes-validations": rules && rules.length > 0 ? rules : undefined,
  });
}

function printerColumn({ name, type, jsonPath, description, format, priority }: PrinterColumn): PrinterColumn {
  return {
    name,
    type,
    ...(format !== undefined && { format }),
    ...(description !== undefined && { description }),
    jsonPath,
    ...(priority !== undefined && { priority }),
  };
}

/**
 * Objects as YAML documents. The same objects give the same text: keys in their own order, no line folding, no anchors, and words that
 * YAML 1.1 readers (Go's among them) would take for something else in quotes.
 */
export function yamlDocuments(objects: readonly KubeObject[]): string {
  return objects.map(yamlDocument).join("---\n");
}

function yamlDocument(object: KubeObject): string {
  const document = new Document(object, { aliasDuplicateObjects: false, compat: "yaml-1.1", keepUndefined: false });
  return document.toString({ lineWidth: 0, indentSeq: false });
}
