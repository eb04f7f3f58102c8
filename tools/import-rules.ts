// Which folder may import which, by resolved path; that what is exported is imported; that a file is a whole idea. `node tools/import-rules.ts` is a part of `make lint`.
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { fileURLToPath } from "node:url";

/** Files below `of` import only what is below one of `may`, and nothing below one of `except`. The first rule that fits a file counts. */
interface ImportRule {
  readonly of: string;
  readonly may: readonly string[];
  /** Taken away from `may`; tests are free of it. Default none. */
  readonly except?: readonly string[];
  readonly why: string;
}

const root = fileURLToPath(new URL("..", import.meta.url));
const runtime = "packages/runtime/src/";
const testing = "packages/runtime/src/testing/";
const product = "packages/keyturn/src/";
const contract = "packages/dashboard/src/contract/";

/** The runtime as its users have it, and its test kit. */
const api = `${runtime}index.ts`;
const kit = [`${testing}index.ts`, `${testing}vitest/index.ts`];
/** Kubernetes' own kinds, a file for each group and version. */
const kinds = `${runtime}kubernetes/generated/`;

/** Small things that every folder of the product may use. */
const certificate = `${product}certificate.ts`;
const publicKey = `${product}public-key.ts`;
const limits = `${product}limits.ts`;
const keyPublication = `${product}key-publication.ts`;
const leaves = [certificate, limits, `${product}semaphore.ts`, `${product}text.ts`];
const base = [api, contract, ...leaves, publicKey, keyPublication, `${product}feature/`];
const workloads = `${product}workloads/`;
const controllers = globSync(`${product}controllers/*/`, { cwd: root }).map((folder) => `${folder.replace(/\/$/, "")}/`);
const operatorFlags = `${product}operator-flags.ts`;

/** What a test may import besides what its source may: the test kit, stand-ins of what is outside, and the rights as they are printed. */
const forTests = [...kit, "packages/keyturn/test/", `${product}dev/stand-ins/`, `${product}cli/manifests.ts`];

/** What users import, and what vitest starts by its path. */
const entryPoints: ReadonlySet<string> = new Set([api, ...kit, `${testing}vitest/global-setup.ts`, "test/support/bundle-setup.ts"]);

const layers = "dependencies point one way: runtime ← feature ← workloads ← controllers ← registry ← what people see ← command line";
const entries = "outside of its package the runtime is reached through its entry points";

/** What people look at: each is built on the registry, and on these others. */
const views: Readonly<Record<string, readonly string[]>> = {
  status: [],
  doctor: [],
  notify: [],
  diagnostics: [],
  dashboard: ["status"],
  dev: ["dashboard"],
};

export const importRules: readonly ImportRule[] = [
  { of: testing, may: [runtime], why: "the runtime knows nothing of the product" },
  { of: runtime, may: [runtime], except: [testing], why: "the runtime knows nothing of the product, and runs without its test kit" },
  { of: "packages/runtime/test/", may: ["packages/runtime/"], why: "the runtime is tested without the product" },
  { of: "packages/runtime/examples/", may: [api, kinds], why: entries },
  { of: "packages/runtime/create-operator/", may: ["packages/runtime/create-operator/", api, kinds, ...kit], why: entries },
  { of: contract, may: [contract], why: "the contract is types and paths; it needs nothing" },
  { of: "packages/dashboard/", may: ["packages/dashboard/"], why: "the page knows the server by its contract alone" },
  { of: `${product}public-key.`, may: [api, certificate, limits, publicKey], why: layers },
  { of: `${product}key-publication.`, may: [api, keyPublication], why: layers },
  ...leaves.map((of) => ({ of: of.replace(/ts$/, ""), may: [api, limits, of], why: layers })),
  { of: `${product}feature/`, may: base, why: layers },
  { of: workloads, may: [...base, workloads], why: layers },
  ...controllers.map((of) => ({ of, may: [...base, workloads, of], why: "controllers import neither each other nor what is built on them" })),
  {
    of: `${product}agent/`,
    may: [...base, operatorFlags, `${product}agent/`, `${product}controllers/checksum/`],
    why: "the agent is checksum's data plane and knows no other controller",
  },
  { of: `${product}registry.ts`, may: [...base, workloads, `${product}controllers/`], why: layers },
  { of: operatorFlags, may: [...base, `${product}notify/`, `${product}diagnostics/`], why: layers },
  ...Object.entries(views).map(([view, others]) => ({
    of: `${product}${view}/`,
    may: [
      ...base,
      `${product}registry.ts`,
      workloads,
      `${product}controllers/`,
      `${product}agent/`,
      ...[view, ...others].map((folder) => `${product}${folder}/`),
      ...(view === "dev" ? kit : []),
    ],
    why: "what people see is built on the registry, not on the command line nor on each other",
  })),
  ...["cli/", "main.ts"].map((of) => ({ of: product + of, may: [product, api, ...kit, contract, "packages/keyturn/package.json"], why: entries })),
  { of: "packages/keyturn/test/", may: ["packages/keyturn/", api, ...kit], why: entries },
  ...["test/", "bench/"].map((of) => ({ of, may: ["test/", "bench/", "tools/", "packages/keyturn/", contract, api, kinds, ...kit], why: entries })),
  { of: "tools/", may: ["tools/", "packages/"], why: "tools build and describe the packages, and know no test" },
];

/** The imports of a file that no rule allows, as lines for people. */
export function forbiddenImports(from: string, text: string): readonly string[] {
  const rule = importRules.find(({ of }) => from.startsWith(of));
  if (!rule) return [`${from}: no rule says what it may import; add one to tools/import-rules.ts`];
  const isTest = /\.(test|fixture)\.tsx?$/.test(from);
  const may = isTest && from.startsWith("packages/") ? [...rule.may, ...forTests] : rule.may;
  const except = isTest ? [] : (rule.except ?? []);
  const below = (file: string, places: readonly string[]): boolean => places.some((place) => file.startsWith(place));
  return importedFiles(from, text)
    .filter((file) => !below(file, may) || below(file, except))
    .map((file) => `${from} imports ${file}: ${rule.why}`);
}

/** Static and dynamic imports and re-exports, of types too; files of the repository alone. */
function importedFiles(from: string, text: string): readonly string[] {
  const specifiers = Array.from(text.matchAll(/\b(?:from|import)\s*\(?\s*"([^"]+)"/g), ([, specifier = ""]) => specifier);
  return specifiers.flatMap((specifier) => filesOf(from, specifier));
}

function filesOf(from: string, specifier: string): readonly string[] {
  return specifier.startsWith(".") ? [join(dirname(from), specifier)] : workspaceFile(specifier);
}

/** What is imported or exported anew, as `store.ts Store`; `store.ts *` where that may be anything. */
function importedNames(from: string, text: string): readonly string[] {
  const statements = text.matchAll(
    /\b(?:import|export)\s+(?:type\s+)?(?:\{(?<names>[^}]*)\}|\*[\w\s]*)\s*from\s+"(?<specifier>[^"]+)"|\bimport\(\s*"(?<whole>[^"]+)"/g,
  );
  return Array.from(statements).flatMap(({ groups = {} }) => {
    const { names = "*", specifier, whole } = groups as Readonly<Partial<Record<string, string>>>;
    const each = Array.from(names.matchAll(/(?:^|,)\s*(?:type\s+)?([\w$]+|\*)/g), ([, name = ""]) => name);
    return filesOf(from, specifier ?? whole ?? "").flatMap((file) => each.map((name) => `${file} ${name}`));
  });
}

interface Workspace {
  readonly folder: string;
  readonly name: string;
  readonly exports: Readonly<Record<string, string>>;
}

const workspaces: readonly Workspace[] = globSync("packages/*/package.json", { cwd: root }).map((path) => {
  const { name, exports = {} } = JSON.parse(readFileSync(join(root, path), "utf8")) as Pick<Workspace, "name"> & Partial<Workspace>;
  return { folder: dirname(path), name, exports };
});

/** The file that a package of this repository means by a name; of other packages none. */
function workspaceFile(specifier: string): readonly string[] {
  const workspace = workspaces.find(({ name }) => specifier === name || specifier.startsWith(`${name}/`));
  if (!workspace) return [];
  const path = `.${specifier.slice(workspace.name.length)}`;
  const family = Object.keys(workspace.exports).find((name) => name.endsWith("/*") && path.startsWith(name.slice(0, -1)));
  const file = workspace.exports[path] ?? (family && workspace.exports[family]?.replace("*", path.slice(family.length - 1)));
  return [join(workspace.folder, file ?? path)];
}

/** Every import of the checkout that no rule allows, every export that nobody imports, and every file that is too small for one. */
export function importProblems(): readonly string[] {
  const paths = globSync("{packages,test,bench,tools}/**/*.{ts,tsx}", { cwd: root, exclude: ["**/node_modules", "**/dist", "**/generated"] });
  const files = new Map(paths.sort().map((path) => [path, readFileSync(join(root, path), "utf8")] as const));
  return [...Array.from(files).flatMap(([path, text]) => forbiddenImports(path, text).concat(tooSmall(path, text))), ...idleExports(files)];
}

/** Files of any length: what others begin with, what a build replaces, and what every controller has under the same name. */
const seams = /\/(index|main|page-files|limits|monitoring|reasons|records)\.tsx?$|\.(test|fixture)\.tsx?$/;

/** Below 40 lines a file is usually a function that lost its file. */
export function tooSmall(path: string, text: string): readonly string[] {
  const lines = text.split("\n").length - 1;
  return /^packages\/\w+\/src\//.test(path) && !seams.test(path) && lines < 40 ? [`${path} has ${lines} lines: put it where it is used`] : [];
}

/** The exports that no other file imports by name, as lines for people. */
export function idleExports(files: ReadonlyMap<string, string>): readonly string[] {
  const imported = new Set(Array.from(files).flatMap(([path, text]) => importedNames(path, text)));
  return Array.from(files)
    .filter(([path]) => !imported.has(`${path} *`) && !entryPoints.has(path))
    .flatMap(([path, text]) =>
      Array.from(text.matchAll(/^export (?:async )?(?:const|function\*?|(?:abstract )?class|interface|type) ([\w$]+)/gm), ([, name = ""]) => name)
        .filter((name) => !imported.has(`${path} ${name}`))
        .map((name) => `${path} exports ${name}, which nobody imports`),
    );
}

if (import.meta.main) {
  const found = importProblems();
  for (const line of found) console.error(line);
  process.exitCode = found.length > 0 ? 1 : 0;
}
