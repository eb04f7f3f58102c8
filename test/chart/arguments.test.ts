// Every flag of the program is a value of the chart, and arrives as the argument that it stands for.
import { expect, test } from "vitest";
import { agentCommandFlags } from "../../packages/keyturn/src/cli/agent.ts";
import { runFlags } from "../../packages/keyturn/src/cli/run.ts";
import { features } from "../../packages/keyturn/src/registry.ts";
import type { Flag } from "../../packages/keyturn/src/feature/flag.ts";
import { type ChartValues, renderChart } from "../../tools/chart-rendering.ts";
import { podTemplateOf } from "./pod-template.ts";
import { camelCase, type ChartFlag, chartFlags, valueOf } from "../../tools/generate/chart-values.ts";

/** What the chart decides by itself, or by a value that is no flag, such as a port. */
const decided = {
  run: [
    "controllers",
    "kubeconfig",
    "context",
    "metrics-bind-address",
    "metrics-secure",
    "metrics-cert-path",
    "metrics-cert-name",
    "metrics-cert-key",
    "health-probe-bind-address",
    "dashboard-bind-address",
  ],
  agent: ["namespace", "dir", "kubeconfig", "context", "bind-address"],
};

/** Everything on, so that every flag counts. */
const allOn = Object.fromEntries(features.map(({ name }) => [camelCase(name), { enabled: true }]));

async function argumentsWith(values: ChartValues, workload = "keyturn"): Promise<readonly string[]> {
  const objects = await renderChart(values);
  const deployment = objects.find(({ kind, metadata }) => kind === "Deployment" && metadata.name === workload);
  const [container] = podTemplateOf(deployment).spec.containers;
  return container?.args ?? [];
}

/** Lays values into a tree. */
function treeOf(entries: readonly (readonly [path: readonly string[], value: unknown])[], base: ChartValues): ChartValues {
  const tree = structuredClone(base) as Record<string, unknown>;
  for (const [path, value] of entries) {
    let place = tree;
    for (const step of path.slice(0, -1)) place = (place[step] ??= {}) as Record<string, unknown>;
    place[path.at(-1) ?? ""] = value;
  }
  return tree;
}

/** A value that is not the default, and its text on the command line. */
function otherValue({ flag }: ChartFlag): readonly [value: unknown, text: string] {
  const { takes } = flag;
  switch (takes.type) {
    case "switch":
      return [!valueOf(flag), String(!valueOf(flag))];
    case "number":
      return valueOf(flag) === takes.most ? [takes.least, String(takes.least)] : [takes.most, String(takes.most)];
    case "list":
      return [["one", "two"], "one,two"];
    case "choice": {
      const other = takes.choices.find((choice) => choice !== flag.default) ?? "";
      return [other, other];
    }
    case "duration":
      return ["1h30m", "1h30m"];
    case "text":
    case "address":
      break;
  }
  return [`a "quoted": text, {with} all`, `a "quoted": text, {with} all`];
}

test("every flag of keyturn run and keyturn agent is a value, or is decided by the chart", () => {
  const valued = (of: (flag: ChartFlag) => boolean): readonly string[] =>
    chartFlags(features)
      .filter(of)
      .map(({ flag }) => flag.name);
  const names = (flags: readonly Flag[]): readonly string[] => flags.map(({ name }) => name).toSorted();
  const runDecided = decided.run.filter((name) => runFlags(features).some((flag) => flag.name === name));
  expect([...valued(({ of }) => of !== "agent"), ...runDecided].toSorted()).toEqual(names(runFlags(features)));
  const checksum = ["version-annotations", "secret-selector", "secret-types", "announcement-keys", "max-changing", "max-vanishing"];
  const scope = ["namespace-selector", "namespaces", "scope"];
  const shared = [...[...checksum, ...scope].map((name) => `checksum.${name}`), "log-level", "log-format"];
  expect([...valued(({ of }) => of === "agent"), ...shared, ...decided.agent].toSorted()).toEqual(names(agentCommandFlags));
});

test("with default values there are only the arguments that the chart decides", async () => {
  expect(await argumentsWith({})).toEqual([
    "run",
    "--controllers=checksum,jwks,rotation",
    "--metrics-bind-address=:8443",
    "--health-probe-bind-address=:8081",
  ]);
  expect(await argumentsWith({ agent: { enabled: true } }, "keyturn-agent")).toEqual([
    "agent",
    "--namespace=keyturn-system",
    "--dir=/certificates/agent",
    "--bind-address=:8090",
  ]);
});

test("every value that is not the default arrives as its argument, as it was written", async () => {
  const operatorFlags = chartFlags(features).filter(({ of }) => of !== "agent");
  const entries = operatorFlags.map((flag) => [flag.path, otherValue(flag)[0]] as const);
  const given = await argumentsWith(treeOf(entries, { controllers: allOn, extraArgs: ["--more=1"], rbac: { clusterRoles: true } }));
  const [run, controllers, metrics, health, ...rest] = given;
  expect([run, controllers]).toEqual(["run", "--controllers=checksum,consumers,eventing-auth,jwks,rotation,sidecars"]);
  expect([metrics, health]).toEqual(["--metrics-bind-address=:8443", "--health-probe-bind-address=:8081"]);
  expect(rest.at(-1)).toBe("--more=1");
  expect(rest.slice(0, -1).toSorted()).toEqual(operatorFlags.map((flag) => `--${flag.flag.name}=${otherValue(flag)[1]}`).toSorted());
});

test("the agent gets its own flags, and counts what the control plane counts", async () => {
  const agentFlags = chartFlags(features).filter(({ of }) => of === "agent");
  const entries = agentFlags.map((flag) => [flag.path, otherValue(flag)[0]] as const);
  const checksum = { secretTypes: "all", secretSelector: "a=b", versionAnnotations: ["x/y"] };
  const given = await argumentsWith(treeOf(entries, { agent: { enabled: true }, controllers: { checksum }, logLevel: "debug" }), "keyturn-agent");
  expect(given.slice(4).toSorted()).toEqual(
    [
      ...agentFlags.map((flag) => `--${flag.flag.name}=${otherValue(flag)[1]}`),
      "--checksum.secret-types=all",
      "--checksum.secret-selector=a=b",
      "--checksum.version-annotations=x/y",
      "--log-level=debug",
    ].toSorted(),
  );
});

test("flags of a controller that is off are not given", async () => {
  const given = await argumentsWith({ controllers: { jwks: { enabled: false, reconcileInterval: "1m" }, rotation: { kinds: ["a.v1.b"] } } });
  expect(given).toContain("--rotation.kinds=a.v1.b");
  expect(given.join(" ")).not.toContain("--jwks.");
});

test("ports and metrics follow their values", async () => {
  const given = await argumentsWith({ metrics: { enabled: false }, health: { port: 9001 }, dashboard: { enabled: true, port: 9002 } });
  expect(given).toContain("--metrics-bind-address=0");
  expect(given).toContain("--health-probe-bind-address=:9001");
  expect(given).toContain("--dashboard-bind-address=:9002");
});
