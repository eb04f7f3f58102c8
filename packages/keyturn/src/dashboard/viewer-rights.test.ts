// Who is let in by their rights, and what is asked of the API server to find out. On a real one: test/dashboard/access.test.ts.
import { Buffer } from "node:buffer";
import { createClient, createLogger } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, it } from "vitest";
import * as z from "zod";
import { rbacCommand } from "../cli/manifests.ts";
import { rightsOf, TokenAccess, unlimitedRights, viewerNamespaces } from "./viewer-rights.ts";
import { features } from "../registry.ts";

const reviewSchema = z.object({
  spec: z.object({ resourceAttributes: z.object({ resource: z.string(), verb: z.string(), namespace: z.string().default("") }).optional() }),
});

/** An API server that knows one viewer. `rights` are `verb resource namespace`, the last empty for the whole cluster. */
function check(rights: readonly string[], { limitedTo = [], namespaces = [] }: { limitedTo?: string[]; namespaces?: string[] | 403 | 400 } = {}) {
  const asked: string[] = [];
  const warnings: string[] = [];
  const clock = new VirtualClock();
  const answer = (path: string, body = "{}"): object | number => {
    if (path.startsWith("/api/v1/namespaces")) {
      asked.push("namespaces");
      if (typeof namespaces === "number") return namespaces;
      return { metadata: { resourceVersion: "1" }, items: namespaces.map((name) => ({ metadata: { name, uid: name, resourceVersion: "1" } })) };
    }
    const { resourceAttributes } = reviewSchema.parse(JSON.parse(body)).spec;
    if (!resourceAttributes) return { metadata: {}, status: { authenticated: true, user: { username: "early" } } };
    const right = `${resourceAttributes.verb} ${resourceAttributes.resource} ${resourceAttributes.namespace}`;
    asked.push(right);
    return { metadata: {}, status: { allowed: rights.includes(right) } };
  };
  const client = createClient({
    send: async ({ path, body }) => {
      const said = answer(path, body);
      const content = typeof said === "number" ? { kind: "Status", code: said, reason: said === 403 ? "Forbidden" : "BadRequest" } : said;
      async function* bytes(): AsyncGenerator<Uint8Array> {
        yield Buffer.from(JSON.stringify(content));
      }
      return { status: typeof said === "number" ? said : 200, headers: { "content-type": "application/json" }, body: bytes() };
    },
    close() {},
  });
  const log = createLogger({ level: "warn", destination: { write: (line: string) => void warnings.push(line) } });
  const shown = { resources: () => ["things.a", "others.b"], namespacesOf: (resource: string) => new Set(resource === "things.a" ? ["full"] : []) };
  const access = new TokenAccess({ client, clock, log, shown, namespaces: viewerNamespaces({ client, clock, log, limitedTo }) });
  return { asked, warnings, clock, decision: (bearer = "token") => access.check(bearer) };
}

const seen = (resource: string, namespace: string): readonly string[] => [`list ${resource} ${namespace}`, `watch ${resource} ${namespace}`];
const things = (namespace: string) => ({ resource: "things.a", namespace });

it("who may see something of what there is is asked no further", async () => {
  const { asked, decision } = check(seen("things", "full"), { namespaces: ["empty", "full"] });
  const found = await decision();
  expect(found.type === "allowed" && [found.viewer.rights.allows(things("full")), found.viewer.rights.hides("others.b")]).toEqual([true, true]);
  expect(asked).not.toContain("namespaces");
});

it.each([
  ["all namespaces", { namespaces: ["zoo", "full", "empty"] }],
  ["those that the operator is limited to, without listing any", { limitedTo: ["zoo", "empty"], namespaces: 403 as const }],
])("who may look only where there is nothing yet is let in, by %s", async (_name, where) => {
  const { asked, decision, warnings } = check([...seen("things", "empty"), ...seen("others", "empty"), ...seen("things", "zoo")], where);
  const found = await decision();
  if (found.type !== "allowed") throw new Error(`the decision is ${found.type}`);
  const { rights } = found.viewer;
  expect([rights.allows(things("empty")), rights.allows(things("full")), rights.hides("others.b")]).toEqual([true, false, false]);
  // The first one is enough.
  expect(asked.filter((right) => right.endsWith("zoo"))).toEqual([]);
  expect(asked.includes("namespaces")).toBe(!("limitedTo" in where));
  expect(warnings).toEqual([]);
});

it("who may list and not watch, or nothing at all, is refused, and not asked about more namespaces than anybody has time for", async () => {
  const namespaces = Array.from({ length: 300 }, (_, index) => `n${index}`);
  const { asked, decision } = check(["list things n0", "list things "], { namespaces });
  expect(await decision()).toMatchObject({
    type: "forbidden",
    message: expect.stringMatching(/^early may list and watch none of things.a, others.b,/),
  });
  expect(new Set(asked.map((right) => right.split(" ")[2]).filter((name) => name?.startsWith("n"))).size).toBe(200);
});

it("namespaces are listed once for many viewers, and again after a while", async () => {
  const { asked, clock, decision } = check([], { namespaces: ["empty"] });
  const lists = (): number => asked.filter((question) => question === "namespaces").length;
  await Promise.all(["a", "b", "c"].map((bearer) => decision(bearer)));
  expect(lists()).toBe(1);
  await clock.advance(11_000);
  await decision("d");
  expect(lists()).toBe(2);
});

it("without the right to list namespaces it is as if there were no others, and the log says what is missing", async () => {
  const { decision, warnings } = check(seen("things", "empty"), { namespaces: 403 });
  expect((await decision()).type).toBe("forbidden");
  expect(warnings).toMatchObject([expect.stringContaining("lacks the right to list namespaces")]);
});

it("nobody is refused because the API server could not be asked", async () => {
  expect((await check([], { namespaces: 400 }).decision()).type).toBe("unavailable");
});

// What rights allow.

it("allows what is granted, and is the same for the same grants", () => {
  const rights = rightsOf(
    new Map<string, "everywhere" | ReadonlySet<string>>([
      ["secrets", new Set(["b", "a"])],
      ["pods", "everywhere"],
    ]),
  );
  const same = rightsOf(
    new Map<string, "everywhere" | ReadonlySet<string>>([
      ["pods", "everywhere"],
      ["secrets", new Set(["a", "b"])],
    ]),
  );
  expect(rights.signature).toBe(same.signature);
  expect(rights.signature).not.toBe(rightsOf(new Map()).signature);
  const places = ["secrets a", "secrets c", "pods c", "leases a"].map((text) => ({
    resource: text.split(" ")[0] ?? "",
    namespace: text.split(" ")[1] ?? "",
  }));
  expect(places.map((place) => rights.allows(place))).toEqual([true, false, true, false]);
  expect(["secrets", "pods", "leases"].map((resource) => rights.hides(resource))).toEqual([false, false, true]);
  expect(unlimitedRights.allows({ resource: "x", namespace: "y" })).toBe(true);
});

// The operator asks for the dashboard's rights only where it serves one.

function printed(given: Readonly<Record<string, string>>): string {
  let out = "";
  const console = {
    environment: {},
    out: (text: string) => void (out += text),
    err: () => {},
    height: () => undefined,
    signal: new AbortController().signal,
  };
  rbacCommand({ controllers: "jwks", "metrics-secure": "false", ...given }, console, features);
  return out;
}

it("are printed with the flag, and not without", () => {
  const rights = ["tokenreviews", "subjectaccessreviews"];
  expect(rights.filter((right) => printed({}).includes(right))).toEqual([]);
  expect(rights.filter((right) => printed({ "dashboard-bind-address": "0" }).includes(right))).toEqual([]);
  expect(rights.filter((right) => printed({ "dashboard-bind-address": ":8082" }).includes(right))).toEqual(rights);
  // Reviews belong to no namespace, wherever the operator works.
  expect(printed({ "dashboard-bind-address": ":8082", namespaces: "shop" })).toMatch(/kind: ClusterRole\n[^]*tokenreviews/);
});

it("let it list namespaces only where it does not know which ones there are", () => {
  const right = /^ +- namespaces$/m;
  expect(printed({ "dashboard-bind-address": ":8082" })).toMatch(right);
  expect(printed({ "dashboard-bind-address": ":8082", namespaces: "shop" })).not.toMatch(right);
  expect(printed({})).not.toMatch(right);
});
