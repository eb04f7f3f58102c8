// TypeScript for Kubernetes' own kinds: a file for each group and version, with a type for each definition and a value for each kind.
import { docComment, grouped } from "../../packages/runtime/src/schema/crd-types.ts";
import type { Definition, Property, PublishedSchema, ServedKind } from "./published-schema.ts";

/** Where the files are; outside they are `@keyturn/runtime/kubernetes/<group>/<version>`. */
export const typesFolder = "packages/runtime/src/kubernetes/generated";

/** Types that JSON has, or that the runtime has. */
const plainTypes: Readonly<Record<string, string>> = {
  "io.k8s.apimachinery.pkg.api.resource.Quantity": "string",
  "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "Readonly<Record<string, unknown>>",
  "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "string",
  "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": "ObjectMeta",
  "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "string",
  "io.k8s.apimachinery.pkg.runtime.RawExtension": "unknown",
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "number | string",
};

const metadata = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/** Each file's text by its path in the repository. */
export function renderTypes(schema: PublishedSchema): Readonly<Record<string, string>> {
  const places = placesOf(schema);
  const files = Object.groupBy(Object.entries(schema.definitions), ([name]) => places.get(prefixOf(name)) ?? "");
  const texts = Object.entries(files).filter(([place]) => place !== "");
  return Object.fromEntries(texts.map(([place, named = []]) => [`${typesFolder}/${place}.ts`, renderFile(place, named, { schema, places })]));
}

/** What is known beyond one file. */
interface Surroundings {
  readonly schema: PublishedSchema;
  /** The file, as `apps/v1`, by what the names of its definitions begin with. */
  readonly places: ReadonlyMap<string, string>;
}

/** The group and the version stand beside the definitions of kinds; what is between kinds has names that begin like theirs. */
function placesOf({ definitions }: PublishedSchema): ReadonlyMap<string, string> {
  const places = new Map([["io.k8s.apimachinery.pkg.apis.meta.v1", "meta/v1"]]);
  for (const [name, { "x-kubernetes-group-version-kind": names }] of Object.entries(definitions)) {
    const [only, ...others] = names;
    if (only && others.length === 0 && !places.has(prefixOf(name))) places.set(prefixOf(name), `${only.group || "core"}/${only.version}`);
  }
  return places;
}

function renderFile(place: string, named: readonly (readonly [string, Definition])[], surroundings: Surroundings): string {
  const used = new Set<string>();
  const kinds = surroundings.schema.kinds.filter(({ group, version }) => `${group || "core"}/${version}` === place);
  const body = named
    .filter(([name, definition]) => !(name in plainTypes) && !isList(definition))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, definition]) => {
      const short = name.slice(prefixOf(name).length + 1);
      const kind = kinds.find((each) => each.kind === short);
      return renderDefinition(short, definition, (type) => typeOf(type, { place, used, surroundings })) + (kind ? renderKind(kind) : "");
    });
  const words = new Set(withoutComments(body.join("")).split(/\W+/));
  const fromKind = ["defineKind", "type KubeObject", "type ObjectMeta"].filter((word) => words.has(word.replace("type ", "")));
  const depth = "../".repeat(place.split("/").length + 1);
  return [
    `// ${place} as Kubernetes publishes it. Written by \`node tools/kubernetes-types.ts\`: do not edit.`,
    ...(fromKind.length > 0 ? [`import { ${fromKind.join(", ")} } from "${depth}client/kind.ts";`] : []),
    ...[...used].sort().map((other) => `import type * as ${aliasOf(other)} from "${"../".repeat(place.split("/").length - 1)}${other}.ts";`),
    "",
    ...body,
  ].join("\n");
}

function renderDefinition(name: string, definition: Definition, typeOf: (type: Property) => string): string {
  const { properties, required } = definition;
  const isObject = properties?.["metadata"]?.$ref === metadata && "kind" in properties && "apiVersion" in properties;
  if (!properties) return `${docComment(definition.description, "")}export type ${name} = ${typeOf(definition)};\n`;
  const fields = Object.entries(properties).filter(([field]) => !(isObject && ["apiVersion", "kind", "metadata"].includes(field)));
  const lines = fields.map(([field, property]) => {
    const written = /^[\w]+$/.test(field) ? field : JSON.stringify(field);
    return `${docComment(property.description, "  ")}  readonly ${written}${required.includes(field) ? "" : "?"}: ${typeOf(property)};\n`;
  });
  return `${docComment(definition.description, "")}export interface ${name}${isObject ? " extends KubeObject" : ""} {\n${lines.join("")}}\n`;
}

function renderKind({ group, version, kind, plural, namespaced }: ServedKind): string {
  const where = JSON.stringify({ group, version, kind, plural, namespaced })
    .replaceAll(/"(\w+)":/g, " $1: ")
    .replace(/\}$/, " }");
  return `/** Names ${plural} of ${group === "" ? version : `${group}/${version}`}. */\nexport const ${kind} = /* @__PURE__ */ defineKind<${kind}>(${where});\n`;
}

/** What a type is made of stands for itself; a name leads to its file. */
function typeOf(type: Property, from: { readonly place: string; readonly used: Set<string>; readonly surroundings: Surroundings }): string {
  const { $ref, items, additionalProperties } = type;
  if ($ref !== undefined) {
    const name = $ref.replace("#/definitions/", "");
    const plain = plainTypes[name];
    if (plain !== undefined) return plain;
    const place = from.surroundings.places.get(prefixOf(name));
    if (place === undefined) throw new Error(`rendering types: ${name} belongs to no group`);
    const short = name.slice(prefixOf(name).length + 1);
    if (place === from.place) return short;
    from.used.add(place);
    return `${aliasOf(place)}.${short}`;
  }
  if (type.type === "array" && items) return `readonly ${grouped(typeOf(items, from))}[]`;
  if (type.type === "object") return `Readonly<Record<string, ${additionalProperties ? typeOf(additionalProperties, from) : "unknown"}>>`;
  if (type.type === "string" || type.type === "boolean") return type.type;
  return type.type === "integer" || type.type === "number" ? "number" : "unknown";
}

/** `networking.k8s.io/v1beta1` is `networkingV1beta1`. */
function aliasOf(place: string): string {
  const [group = "", version = ""] = place.split("/");
  return `${group.split(".")[0]}${version.slice(0, 1).toUpperCase()}${version.slice(1)}`;
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*\*[^]*?\*\//g, "");
}

function isList({ properties }: Definition): boolean {
  return properties?.["metadata"]?.$ref === "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta" && "items" in properties;
}

/** `io.k8s.api.apps.v1.Deployment` without its last part. */
function prefixOf(name: string): string {
  return name.slice(0, name.lastIndexOf("."));
}
