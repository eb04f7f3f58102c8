// Values that are wrong are refused, with words that name them.
import { expect, test } from "vitest";
import manifest from "../../packages/keyturn/package.json" with { type: "json" };
import { parse } from "yaml";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chartFolder, type ChartValues, helm, helmWithValues, renderChart } from "../../tools/chart-rendering.ts";
import { readChartValues } from "../../tools/generate/chart-values.ts";

test("helm lint --strict has nothing to say, with everything off and with everything on", async () => {
  const everything: ChartValues = {
    controllers: { eventingAuth: { enabled: true }, sidecars: { enabled: true } },
    agent: { enabled: true },
    dashboard: { enabled: true },
    networkPolicy: { limitEgress: true },
    verticalPodAutoscaler: { enabled: true },
    metrics: {
      podMonitor: { enabled: true, authorization: { credentials: { name: "scraper", key: "token" } } },
      prometheusRule: { enabled: true },
      grafanaDashboard: { enabled: true },
    },
  };
  for (const values of [{}, everything]) {
    const report = await helmWithValues(["lint", "--strict", chartFolder], values);
    expect(report).toContain("1 chart(s) linted, 0 chart(s) failed");
    expect(report).not.toMatch(/WARNING|ERROR/);
  }
});

test.each<readonly [string, ChartValues, RegExp]>([
  ["a name that is not there", { replicas: 3 }, /replicas/],
  ["a flag that is not there", { controllers: { jwks: { reconcileIntervall: "5s" } } }, /reconcileIntervall/],
  ["a controller that is not there", { controllers: { jwk: { enabled: true } } }, /jwk/],
  ["a duration without a unit", { controllers: { jwks: { reconcileInterval: "5" } } }, /reconcileInterval/],
  ["a word that is no choice", { logLevel: "verbose" }, /logLevel/],
  ["a number that is too large", { controllers: { checksum: { keep: 101 } } }, /keep/],
  ["text for a list", { namespaces: "shop" }, /namespaces/],
  ["a comma in an item of a list", { namespaces: ["shop,gateway"] }, /namespaces/],
  ["text for a switch", { controllers: { jwks: { enabled: "yes" } } }, /enabled/],
  ["a digest that is none", { image: { digest: "latest" } }, /digest/],
  ["a port that is none", { metrics: { port: 70_000 } }, /port/],
  ["a label that is no text", { podLabels: { team: 3 } }, /team/],
])("%s is refused, by its name", async (_what, values, message) => {
  await expect(renderChart(values)).rejects.toThrow(message);
});

test.each<readonly [string, ChartValues, string]>([
  [
    "nothing switched on",
    { controllers: { rotation: { enabled: false }, jwks: { enabled: false }, checksum: { enabled: false } } },
    "nothing to install: switch on at least one of",
  ],
  ["two places for certificates", { trustedCertificates: { configMap: "a", secret: "b" } }, "name a configMap or a secret, not both"],
  [
    "two monitors",
    { metrics: { serviceMonitor: { enabled: true }, podMonitor: { enabled: true } } },
    "switch on serviceMonitor or podMonitor, not both",
  ],
  ["a PodMonitor without a token", { metrics: { podMonitor: { enabled: true } } }, "a PodMonitor cannot use Prometheus' own token"],
  ["metrics by HTTPS without a ClusterRole", { namespaces: ["shop"] }, "metrics.secure: false"],
  [
    "a page without an operator",
    {
      agent: { enabled: true },
      dashboard: { enabled: true },
      controllers: { rotation: { enabled: false }, jwks: { enabled: false }, checksum: { enabled: false } },
    },
    "no controller is switched on",
  ],
])("%s is refused, and it is said what to do", async (_what, values, message) => {
  await expect(renderChart(values)).rejects.toThrow(message);
});

test("0 is a duration, written as a number or as text", async () => {
  for (const annotationCooldown of [0, "0"]) {
    const objects = await renderChart({ controllers: { sidecars: { enabled: true, annotationCooldown } } });
    expect(JSON.stringify(objects)).toContain("--sidecars.annotation-cooldown=0");
  }
});

test("the chart may be a part of another, which shares global values", async () => {
  expect((await renderChart({ global: { storageClass: "fast" } })).length).toBeGreaterThan(0);
});

test("every value is explained, and the README lists it", async () => {
  const [text, readme] = await Promise.all([readFile(`${chartFolder}/values.yaml`, "utf8"), readFile(`${chartFolder}/README.md`, "utf8")]);
  const leaves = (values: ReturnType<typeof readChartValues>): readonly string[] =>
    values.flatMap(({ path, fields }) => (fields.length > 0 ? leaves(fields) : [path.join(".")]));
  for (const name of leaves(readChartValues(text))) expect(readme).toContain(`| \`${name}\` |`);
  expect(() => readChartValues("a: 1\n")).toThrow('say in a comment "# -- …" what a is for');
});

test("every example of values in the README and the docs is taken", async () => {
  const docs = fileURLToPath(new URL("../../docs", import.meta.url));
  const pages = (await readdir(docs, { recursive: true })).filter((path) => path.endsWith(".md")).map((path) => join(docs, path));
  const [readme = "", ...others] = await Promise.all([join(chartFolder, "README.md"), ...pages].map((path) => readFile(path, "utf8")));
  const blocksOf = (text: string): readonly string[] => [...text.matchAll(/```yaml\n([^]*?)```/g)].map(([, block = ""]) => block);
  const examples = [...blocksOf(readme), ...others.flatMap(blocksOf).filter((block) => block.startsWith("# values of the chart"))];
  expect(examples.length).toBeGreaterThan(8);
  for (const example of examples) expect((await renderChart(parse(example) as ChartValues)).length).toBeGreaterThan(5);
});

test("the chart installs the version of the program that it comes with", async () => {
  const chart: unknown = parse(await helm(["show", "chart", chartFolder]));
  expect(chart).toMatchObject({ appVersion: manifest.version, version: manifest.version });
});
