// The alerts and the Grafana dashboard: Prometheus understands every rule, each fires when it should and not otherwise, and no metric in them is made up.
import { readFile } from "node:fs/promises";
import { stringify } from "yaml";
import { expect, test } from "vitest";
import * as z from "zod";
import { controllersOf, features } from "../../packages/keyturn/src/registry.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { type ChartValues, renderChart } from "../../tools/chart-rendering.ts";
import { camelCase } from "../../tools/generate/chart-values.ts";
import { promtool } from "../support/promtool.ts";
import { foreignLabels, metricsIn, unknownMetrics } from "./metric-vocabulary.ts";
import { type AlertStory, alertStories, healthy, storyMinutes } from "./alert-stories.ts";
import { grafanaDashboard, dashboardLines } from "../../tools/generate/grafana-dashboard.ts";

const ruleSchema = z.object({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.looseObject({ severity: z.enum(["critical", "warning", "info"]) }),
  annotations: z.looseObject({ summary: z.string(), description: z.string(), runbook_url: z.string() }),
});
const prometheusRuleSchema = z.object({ spec: z.object({ groups: z.array(z.object({ name: z.string(), rules: z.array(ruleSchema) })) }) });

type Groups = z.infer<typeof prometheusRuleSchema>["spec"]["groups"];

/** The groups of the PrometheusRule with every controller on. */
async function alertGroups(prometheusRule: ChartValues = {}, controllers: ChartValues = {}): Promise<Groups> {
  const on = Object.fromEntries(features.map(({ name }) => [camelCase(name), { enabled: true }]));
  const objects = await renderChart({ controllers: { ...on, ...controllers }, metrics: { prometheusRule: { enabled: true, ...prometheusRule } } });
  return prometheusRuleSchema.parse(objects.find(({ kind }) => kind === "PrometheusRule")).spec.groups;
}

test("promtool finds nothing wrong with the rules", async () => {
  const groups = await alertGroups();
  const count = groups.flatMap(({ rules }) => rules).length;
  const said = await promtool(["check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"], { "rules.yaml": stringify({ groups }) });
  expect(said).toContain(`SUCCESS: ${count} rules found`);
});

test("every alert fires in its story and no other does, and none when all is well", async () => {
  // Of the annotations only the summary, which shows that the labels it names are there.
  const groups = (await alertGroups()).map(({ name, rules }) => ({
    name,
    rules: rules.map(({ annotations: { summary }, ...rule }) => ({ ...rule, annotations: { summary } })),
  }));
  const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
  expect([...new Set(alertStories.map(({ alert }) => alert))].toSorted()).toEqual(alerts.toSorted());
  const storyOf = (title: string, differing: AlertStory["series"], firing?: AlertStory): object => ({
    name: title,
    interval: "1m",
    input_series: Object.entries({ ...healthy, ...differing }).map(([series, values]) => ({ series, values })),
    alert_rule_test: alerts.map((alertname) => ({
      alertname,
      eval_time: `${storyMinutes}m`,
      exp_alerts: firing?.alert === alertname ? [{ exp_labels: firing.labels, exp_annotations: { summary: firing.summary } }] : [],
    })),
  });
  const stories = {
    rule_files: ["rules.yaml"],
    // Coarser than in life, where a rule is looked at each minute: it is a fifth of the work.
    evaluation_interval: "5m",
    tests: [storyOf("all is well", {}), ...alertStories.map((story) => storyOf(story.alert, story.series, story))],
  };
  expect(await promtool(["test", "rules", "stories.yaml"], { "rules.yaml": stringify({ groups }), "stories.yaml": stringify(stories) })).toContain(
    "SUCCESS",
  );
});

test("every metric in an alert exists, and has the labels that the alert goes by and speaks of", async () => {
  const alerts = (await alertGroups()).flatMap(({ rules }) => rules);
  const expressions = alerts.map(({ expr }) => expr);
  expect(expressions.filter((expression) => metricsIn(expression).length === 0)).toEqual([]);
  expect(unknownMetrics(expressions)).toEqual([]);
  expect(alerts.flatMap(({ expr, annotations: { summary, description } }) => foreignLabels(expr, [summary, description]))).toEqual([]);
});

test("every Lease in an alert is one of ours", async () => {
  const leases = controllersOf(features, {}, {}).map(({ name }) => `${keyturn.name}-${name}`);
  const patterns = (await alertGroups()).flatMap(({ rules }) =>
    rules.flatMap(({ expr }) => [...expr.matchAll(/leader_election_master_status\{name=~?"(.*?)"\}/g)].map(([, pattern = ""]) => pattern)),
  );
  expect(patterns.length).toBeGreaterThan(3);
  expect(patterns.filter((pattern) => !leases.some((lease) => new RegExp(`^(?:${pattern})$`).test(lease)))).toEqual([]);
});

test("every metric on the Grafana dashboard exists, every expression is understood, and every feature has its place", async () => {
  const lines = dashboardLines(features);
  const expressions = lines.map(([expression]) => expression);
  expect(unknownMetrics(expressions)).toEqual([]);
  expect(lines.flatMap(([expression, legend]) => foreignLabels(expression, [legend]))).toEqual([]);
  const prefixes = [...features.map(({ name }) => name), "agent"].map((name) => `keyturn_${name.replaceAll("-", "_")}_`);
  expect(prefixes.filter((prefix) => !expressions.some((expression) => expression.includes(prefix)))).toEqual([]);
  // Grafana fills in its variables; Prometheus reads the rest.
  const rules = expressions.map((expression, index) => ({ record: `panel:${index}`, expr: expression.replaceAll("$__rate_interval", "5m") }));
  await promtool(["check", "rules", "--lint=none", "rules.yaml"], { "rules.yaml": stringify({ groups: [{ name: "dashboard", rules }] }) });
  const objects = await renderChart({ metrics: { grafanaDashboard: { enabled: true } } });
  const configMap = z.object({ data: z.record(z.string(), z.string()) }).parse(objects.find(({ kind }) => kind === "ConfigMap"));
  expect(configMap.data["keyturn.json"]?.trim()).toBe(grafanaDashboard(features).trim());
});

test("every alert has a heading in the runbook that it names", async () => {
  const rules = (await alertGroups()).flatMap((group) => group.rules);
  const runbook = await readFile(new URL("../../docs/operations/troubleshooting.md", import.meta.url), "utf8");
  const headings = new Set([...runbook.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading.trim().toLowerCase()));
  for (const { annotations } of rules) expect(annotations.runbook_url).toMatch(/\/docs\/operations\/troubleshooting\.md#[a-z]+$/);
  expect(rules.filter(({ annotations }) => !headings.has(annotations.runbook_url.split("#").at(-1) ?? "")).map(({ alert }) => alert)).toEqual([]);
});

test("alerts follow the choice of controllers, can be left out, and get labels and a runbook of one's own", async () => {
  const groups = await alertGroups(
    { disabledAlerts: ["KeyturnDown"], alertLabels: { team: "platform" }, runbookUrl: "https://example.com/runbook" },
    { sidecars: { enabled: false }, consumers: { enabled: false }, jwks: { enabled: false } },
  );
  expect(groups.map(({ name }) => name)).toEqual([
    "keyturn-runtime",
    "keyturn-checksum",
    "keyturn-eventing-auth",
    "keyturn-rotation",
    "keyturn-agent",
  ]);
  for (const { alert, labels, annotations } of groups.flatMap(({ rules }) => rules)) {
    expect(alert).not.toBe("KeyturnDown");
    expect(labels).toMatchObject({ team: "platform" });
    expect(annotations.runbook_url).toBe(`https://example.com/runbook#${alert.toLowerCase()}`);
  }
});
