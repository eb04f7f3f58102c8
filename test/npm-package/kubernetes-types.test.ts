// The types of Kubernetes' own kinds are what a real API server serves: each kind under its name, in its scope, with the fields of the schema that it publishes.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { useSharedApiServer } from "@keyturn/runtime/testing/vitest";
import { mergeSchemas, parsePublishedSchema } from "../../tools/kubernetes-types/published-schema.ts";
import { renderTypes, typesFolder } from "../../tools/kubernetes-types/render.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

const apiServicesSchema = z.object({ items: z.array(z.object({ spec: z.object({ group: z.string().default(""), version: z.string() }) })) });
const resourcesSchema = z.object({ resources: z.array(z.object({ name: z.string(), kind: z.string(), namespaced: z.boolean() })) });
const kindsSchema = z.record(
  z.string(),
  z.object({ group: z.string(), version: z.string(), kind: z.string(), plural: z.string(), namespaced: z.boolean() }),
);

describe("the types of Kubernetes' own kinds", () => {
  const cluster = useSharedApiServer();

  it("name every kind that the API server serves by itself", async () => {
    // Those that come with a CRD are marked otherwise.
    const path = `/apis/apiregistration.k8s.io/v1/apiservices?labelSelector=${encodeURIComponent("kube-aggregator.kubernetes.io/automanaged=onstart")}`;
    const { items } = apiServicesSchema.parse(await cluster().client.request({ method: "GET", path }));
    expect(items.length).toBeGreaterThan(20);
    for (const { group, version } of items.map(({ spec }) => spec)) {
      const served = await cluster().client.request({ method: "GET", path: group === "" ? `/api/${version}` : `/apis/${group}/${version}` });
      const wanted = resourcesSchema
        .parse(served)
        .resources.filter(({ name }) => !name.includes("/"))
        .map(({ name: plural, kind, namespaced }) => ({ group, version, kind, plural, namespaced }));
      const kinds = kindsSchema.parse({ ...((await import(`${root}${typesFolder}/${group || "core"}/${version}.ts`)) as object) });
      expect(Object.values(kinds)).toEqual(expect.arrayContaining(wanted));
    }
  });

  it("say what the API server publishes, field by field", async () => {
    const document = parsePublishedSchema(await cluster().client.request({ method: "GET", path: "/openapi/v2" }));
    // Definitions of custom kinds come and go while other tests run; names of Kubernetes' own begin alike.
    const own = Object.entries(document.definitions).filter(([name]) => name.startsWith("io.k8s.api") || name.startsWith("io.k8s.kube-aggregator"));
    const files = Object.entries(renderTypes({ definitions: Object.fromEntries(own), kinds: [] }));
    expect(files.length).toBeGreaterThan(20);
    for (const [path, text] of files) {
      expect([path, existsSync(root + path)]).toEqual([path, true]);
      const present = interfacesOf(await readFile(root + path, "utf8"));
      for (const [name, fields] of interfacesOf(text))
        expect([path, name, present.get(name)]).toEqual([path, name, expect.arrayContaining([...fields])]);
    }
  });
});

it("what several versions have is as the last has it, and what one alone has stays", () => {
  const definition = (description: string) => ({ definitions: { "io.k8s.api.apps.v1.A": { description } }, paths: {} });
  const old = parsePublishedSchema({
    ...definition("old"),
    definitions: { ...definition("old").definitions, "io.k8s.api.apps.v1.B": { description: "gone" } },
  });
  const { definitions } = mergeSchemas([old, parsePublishedSchema(definition("new"))]);
  expect(Object.values(definitions).map(({ description }) => description)).toEqual(["new", "gone"]);
});

/** The fields of each interface of a file, without comments: an older server describes some of them in other words. */
function interfacesOf(text: string): ReadonlyMap<string, readonly string[]> {
  const interfaces = text.matchAll(/^export interface (\w+)[^{]*\{\n([^]*?)^\}/gm);
  const fields = (body: string): readonly string[] =>
    Array.from(body.matchAll(/^ {2}readonly ([^:]+):/gm), ([, field = ""]) => field.replace("?", ""));
  return new Map(Array.from(interfaces, ([, name = "", body = ""]) => [name, fields(body)] as const));
}
