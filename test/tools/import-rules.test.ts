// The rules about imports and exports find what they forbid, wherever it is planted, and nothing that is there today.
import { expect, test } from "vitest";
import { forbiddenImports, idleExports, importProblems, importRules, tooSmall } from "../../tools/import-rules.ts";

const product = "packages/keyturn/src";
const runtime = "packages/runtime/src";

/** A file, what it would import, and the rule that forbids it by the start of its reason. */
const planted: readonly (readonly [from: string, imported: string, why: string])[] = [
  [`${runtime}/cache/store.ts`, "../../../keyturn/src/text.ts", "the runtime knows nothing of the product"],
  [`${runtime}/cache/store.ts`, "keyturn/src/text.ts", "the runtime knows nothing of the product"],
  [`${runtime}/cache/store.ts`, "../testing/virtual-clock.ts", "the runtime knows nothing of the product, and runs without"],
  [`${runtime}/testing/virtual-clock.ts`, "../../../keyturn/src/text.ts", "the runtime knows nothing of the product"],
  [`${runtime}/cache/store.test.ts`, "../../../keyturn/src/registry.ts", "the runtime knows nothing of the product"],
  ["packages/runtime/test/watch/faults.test.ts", "../../../keyturn/src/text.ts", "the runtime is tested without"],
  ["packages/runtime/test/watch/faults.test.ts", "../../../../test/support/program.ts", "the runtime is tested without"],
  ["packages/runtime/examples/fingerprints.ts", "../src/clock.ts", "outside of its package"],
  ["packages/runtime/create-operator/template/src/main.ts", "../../../src/clock.ts", "outside of its package"],
  ["packages/dashboard/src/page/main.tsx", "../../../keyturn/src/dashboard/dashboard.ts", "the page knows the server"],
  ["packages/dashboard/src/page/main.tsx", "@keyturn/runtime", "the page knows the server"],
  ["packages/dashboard/src/contract/index.ts", "../page/main.tsx", "the contract is types"],
  [`${product}/text.ts`, "./feature/flag.ts", "dependencies point one way"],
  [`${product}/public-key.ts`, "./text.ts", "dependencies point one way"],
  [`${product}/limits.ts`, "./text.ts", "dependencies point one way"],
  [`${product}/public-key.ts`, "./controllers/jwks/api.ts", "dependencies point one way"],
  [`${product}/key-publication.ts`, "./public-key.ts", "dependencies point one way"],
  [`${product}/feature/flag.ts`, "../controllers/jwks/api.ts", "dependencies point one way"],
  [`${product}/feature/flag.ts`, "../registry.ts", "dependencies point one way"],
  [`${product}/feature/flag.ts`, "../../../runtime/src/clock.ts", "dependencies point one way"],
  [`${product}/feature/flag.ts`, "../workloads/fleet.ts", "dependencies point one way"],
  [`${product}/workloads/fleet.ts`, "../controllers/sidecars/inspect.ts", "dependencies point one way"],
  [`${product}/controllers/jwks/plan.ts`, "../rotation/api.ts", "controllers import neither"],
  [`${product}/controllers/sidecars/injection/webhook.ts`, "../../rotation/api.ts", "controllers import neither"],
  [`${product}/controllers/sidecars/injection/webhook.ts`, "../../../controllers/jwks/api.ts", "controllers import neither"],
  [`${product}/controllers/sidecars/injection/webhook.test.ts`, "../../rotation/api.ts", "controllers import neither"],
  [`${product}/controllers/jwks/plan.ts`, "../../cli/program.ts", "controllers import neither"],
  [`${product}/controllers/jwks/plan.ts`, "../../registry.ts", "controllers import neither"],
  [`${product}/controllers/jwks/plan.ts`, "../../agent/run-agent.ts", "controllers import neither"],
  [`${product}/controllers/jwks/plan.ts`, "@keyturn/runtime/testing", "controllers import neither"],
  [`${product}/controllers/jwks/plan.test.ts`, "../../../../runtime/src/clock.ts", "controllers import neither"],
  [`${product}/agent/run-agent.ts`, "../controllers/rotation/api.ts", "the agent is checksum's data plane"],
  [`${product}/agent/run-agent.ts`, "../registry.ts", "the agent is checksum's data plane"],
  [`${product}/registry.ts`, "./status/status-watches.ts", "dependencies point one way"],
  [`${product}/operator-flags.ts`, "./registry.ts", "dependencies point one way"],
  ...["status", "doctor", "notify", "diagnostics", "dashboard", "dev"].map(
    (view) => [`${product}/${view}/any.ts`, "../cli/program.ts", "what people see"] as const,
  ),
  [`${product}/status/any.ts`, "../dashboard/dashboard.ts", "what people see"],
  [`${product}/cli/run.ts`, "../../../runtime/src/clock.ts", "outside of its package"],
  [`${product}/main.ts`, "../../../test/support/program.ts", "outside of its package"],
  ["packages/keyturn/test/certificates.ts", "../../runtime/src/x509.ts", "outside of its package"],
  ["test/jwks/space.test.ts", "../../packages/runtime/src/clock.ts", "outside of its package"],
  ["test/jwks/space.test.ts", "../../packages/runtime/src/testing/simulation/index.ts", "outside of its package"],
  ["test/jwks/space.test.ts", "../../packages/runtime/test/leases/fleet.ts", "outside of its package"],
  ["test/jwks/space.test.ts", "@keyturn/runtime/src/clock.ts", "outside of its package"],
  ["bench/main.ts", "../packages/runtime/src/clock.ts", "outside of its package"],
  ["tools/build.ts", "../test/support/program.ts", "tools build and describe"],
];

test.each(planted)("%s does not import %s", (from, imported, why) => {
  expect(forbiddenImports(from, `import { a } from "${imported}";\n`)).toEqual([expect.stringContaining(`: ${why}`)]);
});

test("every rule has one planted against it", () => {
  const hit = new Set(planted.map(([from]) => importRules.find(({ of }) => from.startsWith(of))?.of));
  const spared = importRules.filter(({ of }) => !hit.has(of)).map(({ of }) => of);
  // One controller and one leaf stand for the others.
  expect(spared.filter((of) => !/\/controllers\/|\/(certificate|semaphore)\.$/.test(of))).toEqual([]);
});

test.each([
  'import type { A } from "../rotation/api.ts";',
  'import "../rotation/api.ts";',
  'export * from "../rotation/api.ts";',
  'export { a } from "../rotation/api.ts";',
  'const a = await import("../rotation/api.ts");',
  'type A = import("../rotation/api.ts").A;',
  'import {\n  a,\n  b,\n} from\n  "../rotation/api.ts";',
])("%j is an import", (text) => {
  expect(forbiddenImports(`${product}/controllers/jwks/plan.ts`, text)).toHaveLength(1);
});

test.each([
  [`${product}/controllers/jwks/plan.ts`, "@keyturn/runtime"],
  [`${product}/controllers/jwks/plan.ts`, "../../feature/flag.ts"],
  [`${product}/controllers/sidecars/inspect.ts`, "../../workloads/fleet.ts"],
  [`${product}/controllers/jwks/plan.test.ts`, "@keyturn/runtime/testing"],
  [`${product}/public-key.ts`, "./certificate.ts"],
  [`${product}/agent/run-agent.ts`, "../controllers/checksum/api.ts"],
  [`${runtime}/cache/store.test.ts`, "../testing/virtual-clock.ts"],
  ["packages/runtime/test/watch/faults.test.ts", "../../src/cache/cache.ts"],
  ["test/jwks/space.test.ts", "@keyturn/runtime/testing/vitest"],
  [`${product}/dashboard/step-leaders.ts`, "../status/status-watches.ts"],
  [`${product}/dashboard/dashboard.ts`, "@keyturn/dashboard/contract"],
  [`${runtime}/schema/crd.ts`, "zod"],
])("%s may import %s", (from, imported) => {
  expect(forbiddenImports(from, `import { a } from "${imported}";\n`)).toEqual([]);
});

test("a folder without a rule is told of", () => {
  expect(forbiddenImports(`${product}/new-folder/a.ts`, "")).toEqual([expect.stringContaining("no rule says what it may import")]);
});

test.each([
  "export const idle = 1;",
  "export function idle(): void {}",
  "export async function idle() {}",
  "export function* idle() {}",
  "export class idle {}",
  "export abstract class idle {}",
  "export interface idle {}",
  "export type idle = 1;",
])("%j is found where nobody imports it", (text) => {
  const files = [
    ["a.ts", text],
    ["b.ts", "export {};"],
  ] as const;
  expect(idleExports(new Map(files))).toEqual(["a.ts exports idle, which nobody imports"]);
  expect(idleExports(new Map([...files, ["c.ts", 'import { idle } from "./a.ts";']]))).toEqual([]);
  expect(idleExports(new Map([...files, ["c.ts", 'import { idle } from "./d.ts";\nconst a = idle;']]))).toHaveLength(1);
});

test.each([
  'import { other, type idle as mine } from "./a.ts";',
  'import type {\n  other,\n  idle,\n} from "./a.ts";',
  'export { idle } from "./a.ts";',
  'export * from "./a.ts";',
  'import * as a from "./a.ts";',
  'const { idle } = await import("./a.ts");',
])("%j uses what it names", (text) => {
  const files = [
    ["a.ts", "export const idle = 1;"],
    ["b.ts", text],
  ] as const;
  expect(idleExports(new Map(files))).toEqual([]);
});

test("a file below 40 lines is told of, unless it is a seam", () => {
  expect(tooSmall(`${product}/text.ts`, "//\n".repeat(39))).toHaveLength(1);
  expect(tooSmall(`${product}/text.ts`, "//\n".repeat(40))).toEqual([]);
  expect(tooSmall(`${product}/controllers/jwks/reasons.ts`, "//\n")).toEqual([]);
});

test("nothing that is there breaks a rule", () => {
  expect(importProblems()).toEqual([]);
});
