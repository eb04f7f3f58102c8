// The Dockerfile and the release workflow, as far as they can be checked without a container engine and without GitHub.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { parse } from "yaml";
import { execForm, lastStage, parseDockerfile } from "../../tools/image/dockerfile.ts";
import { dockerfileProblems } from "./dockerfile-lint.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const dockerfile = read("Dockerfile");

/** What tools/build.ts writes into dist/. */
const built = ["keyturn.mjs", "keyturn.cdx.json", "THIRD-PARTY-LICENSES.txt"].map((name) => `/source/dist/${name}`);
const ignored = read(".dockerignore")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"));
const sent = ignored.filter((line) => line.startsWith("!")).map((line) => line.slice(1));

const facts = {
  inContext(path: string): boolean {
    const relative = path.replace(/^\/source\//, "");
    if (relative === ".") return true;
    return sent.includes(relative.split("/")[0] ?? "") && existsSync(join(root, relative));
  },
  isBuilt: (path: string): boolean => built.includes(path),
};

describe("the Dockerfile", () => {
  it("has nothing wrong with it", () => {
    expect(dockerfileProblems(dockerfile, facts)).toEqual([]);
  });

  it("starts the file that the build makes, with the same V8 options as a checkout does", () => {
    const image = lastStage(parseDockerfile(dockerfile));
    const entrypoint = execForm(image.find(({ name }) => name === "ENTRYPOINT")?.rest ?? "") ?? [];
    expect(entrypoint[0]).toBe("/nodejs/bin/node");
    expect(entrypoint.at(-1)).toBe("/app/keyturn.mjs");
    expect(image.some(({ name, rest }) => name === "COPY" && rest.includes("/source/dist/keyturn.mjs") && rest.endsWith(" /app/"))).toBe(true);
    expect(read("bin/keyturn")).toContain(` ${entrypoint.slice(1, -1).join(" ")} `);
    for (const path of built) expect(read("tools/build.ts")).toContain(`"${path.replace("/source/dist/", "")}"`);
  });

  it("installs for every package of the workspace", () => {
    const copied = [...dockerfile.matchAll(/^COPY (packages\/\w+)\/package\.json/gm)].map(([, folder]) => folder ?? "");
    const { packages } = z.object({ packages: z.record(z.string(), z.unknown()) }).parse(JSON.parse(read("package-lock.json")));
    expect(copied).toEqual(
      Object.keys(packages)
        .filter((folder) => folder.startsWith("packages/") && !folder.includes("/node_modules/"))
        .sort(),
    );
  });

  it("is built from what is named in .dockerignore and nothing else", () => {
    expect(ignored[0]).toBe("*");
    expect(ignored).toEqual(expect.arrayContaining(["**/node_modules", "**/dist"]));
    expect(sent.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it.each([
    [/@\$\{BASE_DIGEST\}/, "", "is not pinned by digest"],
    [/^ARG BASE_DIGEST$/m, "ARG BASE_DIGEST=sha256:0", "has a default, which ages"],
    [/@\$\{BASE_DIGEST\}/, "@${OTHER}", "there is no ARG OTHER"],
    [/USER .*/, "USER nonroot", "USER is nonroot"],
    [/USER .*/, "USER 0:0", "USER is 0:0"],
    [/USER .*/, "", "USER is not set"],
    [/ENTRYPOINT .*/, "ENTRYPOINT node /app/keyturn.mjs", "not in exec form"],
    [/HEALTHCHECK .*/, "", "HEALTHCHECK is not NONE"],
    [/^ENV .*/m, "ENV NPM_TOKEN=abc", "ENV NPM_TOKEN looks like a secret"],
    [/^ARG VERSION$/m, "ARG REGISTRY_PASSWORD", "ARG REGISTRY_PASSWORD looks like a secret"],
    [/^CMD .*/m, "RUN rm -rf /tmp", "RUN in the last stage"],
    [/dist\/keyturn\.mjs/, "dist/keyturn.js", "COPY /source/dist/keyturn.js: there is no such file"],
    [/^COPY \. \./m, "COPY docs docs", "COPY docs: there is no such file"],
    [/^COPY \. \./m, "ADD https://example.org/x.tgz /", "use COPY"],
    [/org\.opencontainers\.image\.licenses/, "licenses", "there is no label org.opencontainers.image.licenses"],
  ])("with %s changed to %j is found out", (pattern, replacement, problem) => {
    expect(dockerfile).toMatch(pattern);
    expect(
      dockerfileProblems(
        dockerfile.replace(pattern, () => replacement),
        facts,
      ).join("\n"),
    ).toContain(problem);
  });
});

const workflowSchema = z.object({
  permissions: z.record(z.string(), z.string()),
  jobs: z.record(
    z.string(),
    z.object({
      permissions: z.record(z.string(), z.string()).default({}),
      "timeout-minutes": z.number(),
      steps: z.array(z.object({ uses: z.string().optional(), run: z.string().optional(), with: z.record(z.string(), z.unknown()).optional() })),
    }),
  ),
});

describe.each(["ci", "release"])("the workflow %s", (name) => {
  const text = read(`.github/workflows/${name}.yml`);
  const workflow = workflowSchema.parse(parse(text));
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);

  it("may only read, but for what a job asks for", () => {
    expect(workflow.permissions).toEqual({ contents: "read" });
  });

  it("uses actions by commit only, and leaves no credentials in the checkout", () => {
    const uses = steps.map((step) => step.uses).filter((action) => action !== undefined);
    expect(uses.filter((action) => !/@[0-9a-f]{40}$/.test(action))).toEqual([]);
    const checkouts = steps.filter((step) => step.uses?.startsWith("actions/checkout@"));
    expect(checkouts.map((step) => step.with?.["persist-credentials"])).toEqual(checkouts.map(() => false));
  });

  it("puts nothing that others can write into a shell", () => {
    expect(steps.flatMap((step) => step.run ?? []).filter((run) => /\$\{\{\s*(github\.(event|head_ref|ref_name)|inputs)/.test(run))).toEqual([]);
  });
});

describe("the release workflow", () => {
  const { jobs } = workflowSchema.parse(parse(read(".github/workflows/release.yml")));
  /** What runs code that dependencies brought, or that of the repository, which imports it. */
  const runsCode = /\b(?:npm (?:install|ci|exec|run|test|pack)|npx|make|node|go|docker (?:build|run))\b|\btools\//;
  /** They build, or set up what builds. */
  const builders = new Set(["actions/setup-node", "actions/setup-go", "docker/setup-buildx-action", "docker/build-push-action"]);
  const builds = ({ uses = "", run = "" }: { readonly uses?: string | undefined; readonly run?: string | undefined }): boolean =>
    runsCode.test(run.replaceAll(/^\s*#.*$/gm, "")) || builders.has(uses.split("@")[0] ?? "");

  it("gives a right to change anything to no job that runs a dependency's code", () => {
    const building = Object.values(jobs).filter(({ steps }) => steps.some(builds));
    expect(building).toHaveLength(1);
    expect(building.map(({ permissions }) => permissions)).toEqual([{}]);
    const signing = Object.entries(jobs).filter(([, { permissions }]) => permissions["id-token"] === "write");
    expect(signing.map(([name]) => name)).toEqual(["sign"]);
  });

  it("lets no package's script run", () => {
    const runs = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run?.split("\n") ?? []));
    const npm = runs.filter((line) => /^\s*npm /.test(line));
    expect(npm).toHaveLength(2);
    expect(npm.filter((line) => !line.includes("--ignore-scripts"))).toEqual([]);
  });

  it("signs the image that it pushes, the chart that names it, and everything beside the release; npm gets provenance too", () => {
    const text = jobs["sign"]?.steps.map(({ run = "" }) => run).join("\n") ?? "";
    for (const part of ["cosign sign --yes --recursive", 'cosign sign --yes "$CHARTS', "cosign sign-blob", "npm publish", "--provenance"])
      expect(text).toContain(part);
    expect(text.indexOf("skopeo inspect --raw")).toBeLessThan(text.indexOf("skopeo copy"));
  });
});

it("the release workflow finds the image's name and the digest's line where the chart has them", () => {
  const values = read("charts/keyturn/values.yaml");
  for (const key of ["registry", "repository", "digest"]) expect(values.match(new RegExp(`^ {2}${key}: `, "gm"))).toHaveLength(1);
  expect(read("charts/keyturn/Chart.yaml")).toMatch(/^version: \d+\.\d+\.\d+$/m);
  expect(dockerfile.match(/^ARG (BUILDER|BASE)=/gm)).toHaveLength(2);
});
