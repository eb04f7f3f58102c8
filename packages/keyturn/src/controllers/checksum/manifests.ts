// Secrets and Ingresses as they stand in manifests, and what becomes of a live object when one is applied.
import { Buffer } from "node:buffer";
import type { Ingress, Secret } from "@keyturn/runtime";
import { parseAllDocuments } from "yaml";
import * as z from "zod";
import { servedEntries } from "./ids.ts";

const texts = z.record(z.string(), z.string().nullable());
const metadata = z.object({ name: z.string().min(1), namespace: z.string().optional(), labels: texts.optional(), annotations: texts.optional() });
const secretSchema = z.object({
  kind: z.literal("Secret"),
  metadata,
  type: z.string().optional(),
  data: texts.optional(),
  stringData: texts.optional(),
});
const ingressSchema = z.object({ kind: z.literal("Ingress"), metadata, spec: z.object({ ingressClassName: z.string().optional() }).optional() });
const listSchema = z.object({ kind: z.string().endsWith("List"), items: z.array(z.unknown()) });
const kindSchema = z.object({ kind: z.string() });

/** An object that is going to be written. */
export type Manifest = z.infer<typeof secretSchema> | z.infer<typeof ingressSchema>;
export type SecretManifest = Extract<Manifest, { kind: "Secret" }>;
export type IngressManifest = Extract<Manifest, { kind: "Ingress" }>;

/** Reads the Secrets and Ingresses in YAML or JSON text; other kinds are passed over. Throws, without quoting the text, if it cannot be read. */
export function parseManifests(text: string, source: string): readonly Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors;
    // The parser's own message quotes the text, which may be a private key.
    if (error) throw new Error(`cannot read ${source}: it is not valid YAML at line ${error.linePos?.[0].line ?? "?"} (${error.code})`);
    return manifestsIn(document.toJS(), source);
  });
}

function manifestsIn(value: unknown, source: string): readonly Manifest[] {
  const list = listSchema.safeParse(value);
  if (list.success) return list.data.items.flatMap((item) => manifestsIn(item, source));
  const kind = kindSchema.safeParse(value).data?.kind;
  if (kind !== "Secret" && kind !== "Ingress") return [];
  const result = z.discriminatedUnion("kind", [secretSchema, ingressSchema]).safeParse(value);
  if (result.success) return [result.data];
  const places = result.error.issues.map(({ path }) => path.join(".")).join(", ");
  throw new Error(`cannot read ${source}: a ${kind} in it has no valid ${places}`);
}

/** The Secret as it will be: what the manifest does not mention stays as it is. */
export function appliedSecret({ metadata: { name, labels, annotations }, type, data, stringData }: SecretManifest, live: Secret | undefined): Secret {
  const encoded = Object.entries(stringData ?? {}).map(
    ([key, value]) => [key, value === null ? null : Buffer.from(value).toString("base64")] as const,
  );
  // As the API server sends it: without line breaks.
  const canonical = Object.entries(data ?? {}).map(
    ([key, value]) => [key, value === null ? null : Buffer.from(value, "base64").toString("base64")] as const,
  );
  const resultingType = live?.type ?? type;
  return {
    metadata: { name, labels: merged(live?.metadata.labels, labels), annotations: merged(live?.metadata.annotations, annotations) },
    ...(resultingType !== undefined && { type: resultingType }),
    data: merged(live?.data, Object.fromEntries([...canonical, ...encoded])),
  };
}

/** What gateways serve of the Secret as it is and the manifest does not mention, so that it stays: whoever wrote that meant it, and not the manifest. */
export function unsaidEntries({ data = {}, stringData = {} }: SecretManifest, live: Secret | undefined): readonly string[] {
  return servedEntries.filter((entry) => live?.data?.[entry] !== undefined && !Object.hasOwn(data, entry) && !Object.hasOwn(stringData, entry));
}

/** The Ingress as it will be, as far as a checksum looks at it. */
export function appliedIngress({ metadata: { name, labels, annotations }, spec }: IngressManifest, live: Ingress | undefined): Ingress {
  const ingressClassName = spec?.ingressClassName ?? live?.spec?.ingressClassName;
  return {
    metadata: { name, labels: merged(live?.metadata.labels, labels), annotations: merged(live?.metadata.annotations, annotations) },
    ...(ingressClassName !== undefined && { spec: { ingressClassName } }),
  };
}

/** `null` takes an entry out. */
function merged(
  live: Readonly<Record<string, string>> = {},
  changes: Readonly<Record<string, string | null>> = {},
): Readonly<Record<string, string>> {
  const entries = Object.entries({ ...live, ...changes });
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== null));
}
