// Our built-in kinds are what a real API server serves under those names.
import { expect, it } from "vitest";
import { useSharedApiServer } from "@keyturn/runtime/testing/vitest";
import * as z from "zod";
import * as builtinKinds from "../../src/client/builtin-kinds.ts";
import { apiVersionOf, resourceOf } from "../../src/client/kind.ts";

const discoverySchema = z.object({ resources: z.array(z.object({ name: z.string(), kind: z.string(), namespaced: z.boolean() })) });

const cluster = useSharedApiServer();

it("serves every one of them, in the scope that we say", async () => {
  const kinds = Object.values(builtinKinds);
  expect(kinds.length).toBeGreaterThan(20);
  const served = new Map<string, object>();
  for (const apiVersion of new Set(kinds.map(apiVersionOf))) {
    const path = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const { resources } = discoverySchema.parse(await cluster().client.request({ method: "GET", path }));
    for (const { name, kind, namespaced } of resources) served.set(`${apiVersion} ${name}`, { kind, namespaced });
  }
  for (const kind of kinds) {
    expect([resourceOf(kind), served.get(`${apiVersionOf(kind)} ${kind.plural}`)]).toEqual([
      resourceOf(kind),
      { kind: kind.kind, namespaced: kind.namespaced },
    ]);
  }
});
