// Whatever is made of features is made of the registry that it is given: nobody else takes the build's own, and nobody names a controller by hand.
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { features } from "../../packages/keyturn/src/registry.ts";
import { camelCase } from "../../tools/generate/chart-values.ts";

const outside = globSync(["packages/keyturn/src/**/*.ts", "packages/dashboard/src/**/*.{ts,tsx}", "tools/**/*.ts", "charts/keyturn/templates/*.*"])
  .filter((path) => !/\.(?:test|fixture)\.|\/src\/(?:controllers|agent|dev)\/|\/_rights\.tpl$/.test(path))
  .toSorted();

/** Without what is written for those who read the code. */
const code = (path: string): string =>
  readFileSync(path, "utf8")
    .replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, "")
    .replaceAll(/\{\{-? ?\/\*[^]*?\*\/ ?-?\}\}/g, "");

/** Where the program, the generator and `make run` begin: there the registry is the build's. */
const beginnings = ["packages/keyturn/src/cli/dev.ts", "packages/keyturn/src/cli/program.ts", "tools/generate/generated-files.ts"];

test("a loop over features is given them: who takes those of the build forgets all others", () => {
  const takers = outside.filter((path) => /import \{[^}]*\bfeatures\b[^}]*\} from "[^"]*registry\.ts"/.test(code(path)));
  expect(takers).toEqual(beginnings);
});

/** What is said or done for one controller alone, and could not be for another; each with why. */
const byHand: Readonly<Record<string, string>> = {
  'charts/keyturn/templates/NOTES.txt: "checksum"': "where it publishes",
  "charts/keyturn/templates/NOTES.txt: controllers.checksum": "where it publishes",
  'charts/keyturn/templates/NOTES.txt: "eventing-auth"': "what it needs before it can begin",
  "charts/keyturn/templates/NOTES.txt: controllers.eventingAuth": "what it needs before it can begin",
  'charts/keyturn/templates/_choice.tpl: "checksum"': "labels of namespaces, which an installation in some namespaces cannot see",
  "charts/keyturn/templates/agent.yaml: controllers.checksum": "its data plane",
  "charts/keyturn/templates/network-policy.yaml: controllers.eventingAuth": "other clusters and the identity provider",
  "charts/keyturn/templates/network-policy.yaml: controllers.sidecars": "Istio's webhooks",
  "charts/keyturn/templates/prometheus-rule.yaml: controllers.checksum": "the alerts of its data plane",
  'packages/keyturn/src/cli/dev.ts: "jwks.': "the example's keys are served",
  'packages/keyturn/src/workloads/restart.ts: "sidecars"': "the name of a Lease in running clusters",
};

test("a controller is named in its folder, and otherwise only where nothing else could be meant", () => {
  const names = features.map(({ name }) => name);
  const inCode = new RegExp(String.raw`["'\x60](?:${names.join("|")})["'\x60.]`, "g");
  const inChart = new RegExp(String.raw`"(?:${names.join("|")})"|controllers\.(?:${names.map(camelCase).join("|")})\b`, "g");
  const named = outside.flatMap((path) => {
    const found = code(path).match(path.startsWith("charts/") ? inChart : inCode) ?? [];
    return [...new Set(found)].map((name) => `${path}: ${name}`);
  });
  expect(named.toSorted()).toEqual(Object.keys(byHand).toSorted());
});
