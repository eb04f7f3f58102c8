// Everything that is known about a feature reaches everything that is made of features: the loops run over a registry with a toy in it.
import { cp, mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createLogger, createMetrics, type Deployment, type Event, seededRandom, systemClock } from "@keyturn/runtime";
import { objectPath } from "@keyturn/dashboard/contract";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test, vi } from "vitest";
import { commandsOf, runProgram } from "../../packages/keyturn/src/cli/program.ts";
import { startDashboard } from "../../packages/keyturn/src/dashboard/dashboard.ts";
import { secretAccess } from "../../packages/keyturn/src/dashboard/viewer-rights.ts";
import { Notifier } from "../../packages/keyturn/src/notify/notifier.ts";
import { stageControllers, features } from "../../packages/keyturn/src/registry.ts";
import { chartFolder, helmWithValues, readObjects } from "../../tools/chart-rendering.ts";
import { camelCase } from "../../tools/generate/chart-values.ts";
import { sourceFiles } from "../../tools/generate/generated-files.ts";
import { toyFeature } from "./toy-feature.ts";

const registry = [...features, toyFeature];
const cluster = useSharedCluster();

/** Types a command line of a program that has the toy: its exit code, and what it says. */
async function typed(...words: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  let text = "";
  const say = (more: string): void => void (text += more);
  const console = { environment: {}, out: say, err: say, height: () => undefined, signal: new AbortController().signal };
  return { code: await runProgram(words, console, commandsOf(registry), registry), text };
}

const onCluster = (): string => `--kubeconfig=${cluster().adminKubeconfig}`;

describe("the command line", () => {
  test.each(["run", "rbac", "doctor"])("keyturn %s takes the feature's flags", async (command) => {
    expect((await typed(command, "--help")).text).toMatch(/--toys\.colour <TEXT> +the colour of all toys/);
  });

  test("crds and rbac print its kinds and rights", async () => {
    expect((await typed("crds")).text).toContain("name: toys.toys.example");
    const { text } = await typed("rbac", "--controllers=toys", "--toys.wind", "--toys.shelves=attic");
    expect(text).toContain("toys/wind");
    expect(text).toContain("namespace: attic");
  });

  test("a controller that is not there is answered with all that are", async () => {
    expect(await typed("rbac", "--controllers=toy")).toEqual({
      code: 2,
      text: 'keyturn: --controllers: there is no controller "toy"; there are eventing-auth, rotation, jwks, checksum, sidecars, consumers, toys (or all)\n',
    });
  });

  test("its query is described, asked and printed", async () => {
    expect((await typed("plan", "--help")).text.replaceAll(/\s+/g, " ")).toContain("with toys, which of them are wound up next");
    expect(await typed("plan", "toys", "--toys.colour=blue", onCluster())).toEqual({ code: 0, text: "a blue toy\n" });
  });

  test("its name, flags and subjects are completed", async () => {
    expect((await typed("__complete", "run", "--controllers", "to")).text).toMatch(/^toys\t/);
    expect((await typed("__complete", "run", "--toys.c")).text).toBe("--toys.colour\tthe colour of all toys\n:4\n");
    await expect
      .poll(async () => (await typed("__complete", "plan", onCluster(), "to")).text, {
        timeout: 300_000,
        message: "the completion of subjects forgets the toy",
      })
      .toBe("toys\tsubjects\n:4\n");
  });

  test("status shows its stage, and takes the flags that this depends on", async () => {
    expect((await typed("status", "--help")).text).toMatch(/--toys\.wind/);
    const { code, text } = await typed("status", onCluster());
    expect(code).toBe(0);
    expect(text).toMatch(/^play +/m);
  });

  test("doctor looks for its kinds, its predecessor and what it checks itself", async () => {
    const namespace = await cluster().namespace("toys");
    const labels = { app: "toy-operator" };
    const beside: Deployment = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { namespace, name: "beside" },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "it", image: "x/toy-operator:v1" }] } },
      },
    };
    await cluster().apply(beside);
    const { code, text } = await typed("doctor", "--controllers=toys", onCluster());
    expect(code).toBe(1);
    expect(text).toContain("toys.toys.example is not installed");
    expect(text).toContain("no leader elected for toys");
    expect(text).toContain(`toy-operator still runs as Deployment ${namespace}/beside, over the same objects as toys`);
    expect(text).toMatch(/^warn +toys +a toy is broken$/m);
  });
});

describe("the page", () => {
  test("keyturn dashboard takes the feature's flags", async () => {
    expect((await typed("dashboard", "--help")).text).toMatch(/--toys\.colour <TEXT> +the colour of all toys/);
  });

  test("lays its stage out, watches for its records, and shows whether it is on and what differs", async () => {
    const { secret, access } = secretAccess();
    await using dashboard = await startDashboard({
      bindAddress: "127.0.0.1:0",
      version: "0.0.0-test",
      registry,
      features: ["toys"],
      viewer: "page",
      watch: () => expect.fail("the toy watches nothing"),
      statusOf: () => expect.fail("nothing is watched"),
      client: cluster().client,
      clock: systemClock,
      log: createLogger({ level: "silent" }),
      metrics: createMetrics(),
      files: new Map(),
      contact: { lastMs: () => Date.now(), silentForMs: () => 0 },
      leaders: { switchedOn: true, of: () => undefined },
      flag: (flag) => flag.parse(undefined),
      shown: { cluster: "the cluster of the test" },
      access: () => access,
    });
    const { body } = await fetch(`${dashboard.url}api/stream`, { headers: { authorization: `Bearer ${secret}` } });
    const wanted = [
      /"id":"step\/toys"/,
      /"step":"toys","verb":"Play","one":"toy","many":"toys","title":"Toys"/,
      /"step":"toys","summary":"winds up toys","resources":\["toys\.toys\.example"\],[^{}]*"state":"on"/,
      /"step":"jwks"[^{}]*"state":"off"/,
    ];
    let text = "";
    for await (const part of (body ?? expect.fail("no stream")).pipeThrough(new TextDecoderStream())) {
      text += part;
      // Ticks come when there is nothing else to say: after the third, nothing more will.
      if (wanted.every((each) => each.test(text)) || text.split("event: tick").length > 3) break;
    }
    for (const each of wanted) expect(text, "the page forgets something of the toy").toMatch(each);
    const bear = objectPath({ resource: "toys.toys.example", namespace: "nursery", name: "bear" });
    expect(await (await fetch(`${dashboard.url}${bear}`, { headers: { authorization: `Bearer ${secret}` } })).json()).toMatchObject({
      differences: [{ name: "bear", message: "the bear is not in its box" }],
    });
  });
});

test("every generated file that a feature is in has it", () => {
  const texts = sourceFiles(registry);
  const named: Readonly<Record<string, readonly string[]>> = {
    "README.md": ["| [play](docs/guides/play.md) | a toy runs down", "[toy-operator](docs/migration/from-toy-operator.md)"],
    "charts/keyturn/README.md": ["`controllers.toys.colour`"],
    "charts/keyturn/files/alerts/toys.yaml": ["alert: KeyturnToysRunDown"],
    "charts/keyturn/files/flags.yaml": ["flag: toys.shelves"],
    "charts/keyturn/files/grafana-dashboard.json": ["Play (toys)", "sum by (colour) (keyturn_toys_wound)"],
    "charts/keyturn/files/kinds.yaml": ["group: toys.example"],
    "charts/keyturn/templates/_rights.tpl": ["keyturn.rights.toys", "if $.wind", "range $.shelves"],
    "charts/keyturn/templates/crds/toys.yaml": ["kind: Toy"],
    "charts/keyturn/values.schema.json": ["The colour of all toys. (`--toys.colour`)"],
    "charts/keyturn/values.yaml": ["  toys:\n    # -- Runs `toys`: winds up toys.\n    enabled: false"],
    "config/crd/keyturn.yaml": ["kind: Toy"],
    "docs/reference/command-line.md": ["`--toys.wind`"],
    "docs/reference/kinds.md": ["## Toy (`toys.example/v1`)"],
    "docs/reference/metrics.md": ["`keyturn_toys_wound`"],
    "docs/reference/reasons.md": ["| `ToyBroken` | A toy cannot be wound up. |"],
    "docs/reference/rights.md": ["to see toys"],
  };
  const without = sourceFiles(features);
  expect(
    Object.keys(texts)
      .filter((path) => texts[path] !== without[path])
      .toSorted(),
  ).toEqual(Object.keys(named).toSorted());
  const missing = Object.entries(named).flatMap(([path, parts]) =>
    parts.filter((part) => !texts[path]?.includes(part)).map((part) => `${path}: ${part}`),
  );
  expect(missing).toEqual([]);
});

test("the chart installs it: arguments, rights, kinds, alerts and Grafana", async () => {
  const folder = await mkdtemp(join(tmpdir(), "keyturn-chart-"));
  try {
    await cp(chartFolder, folder, { recursive: true });
    for (const [path, text] of Object.entries(sourceFiles(registry))) {
      if (!path.startsWith("charts/keyturn/")) continue;
      const file = join(folder, path.slice("charts/keyturn/".length));
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    }
    const off = Object.fromEntries(features.map(({ name }) => [camelCase(name), { enabled: false }]));
    const rendered = (toys: object): Promise<string> =>
      helmWithValues(["template", "keyturn", folder, "--namespace", "keyturn-system"], {
        controllers: { ...off, toys },
        metrics: { prometheusRule: { enabled: true }, grafanaDashboard: { enabled: true } },
      });
    await expect(rendered({ enabled: false })).rejects.toThrow("controllers.toys (enabled: true), or agent.enabled");
    const objects = readObjects(await rendered({ enabled: true, colour: "blue", wind: true, shelves: ["attic"] }));
    const partsOf = (kind: string): string => JSON.stringify(objects.filter((object) => object.kind === kind));
    expect(partsOf("Deployment")).toContain('"--controllers=toys"');
    expect(partsOf("Deployment")).toContain('"--toys.colour=blue"');
    expect(partsOf("ClusterRole")).toContain('"toys/wind"');
    expect(partsOf("Role")).toContain('"namespace":"attic"');
    expect(partsOf("CustomResourceDefinition")).toContain('"toys.toys.example"');
    expect(partsOf("PrometheusRule")).toContain('"KeyturnToysRunDown"');
    expect(partsOf("ConfigMap")).toContain("Play (toys)");
  } finally {
    await rm(folder, { recursive: true });
  }
});

test.each([
  ["life", registry, 1],
  ["life", features, 0],
  ["warnings", registry, 0],
] as const)("people who want to know of %s are notified of what it calls notable, if it is in the registry", async (events, known, times) => {
  const post = vi.fn(() => Promise.resolve({ type: "sent" } as const));
  const log = createLogger({ level: "silent" });
  const settings = {
    events,
    registry: known,
    format: "generic",
    clock: systemClock,
    random: seededRandom(1),
    log,
    metrics: createMetrics(),
  } as const;
  const toyWound: Event = {
    metadata: { namespace: "nursery", name: "wound" },
    eventTime: "2026-03-04T12:00:00.000000Z",
    type: "Normal",
    reason: "ToyWound",
    action: "Reconcile",
    note: "it runs",
    reportingController: "keyturn.io/toys",
    reportingInstance: "pod-1",
    regarding: { apiVersion: "toys.example/v1", kind: "Toy", namespace: "nursery", name: "bear", uid: "u" },
  };
  {
    await using notifier = new Notifier({ ...settings, post });
    notifier.notify(toyWound);
  }
  expect(post).toHaveBeenCalledTimes(times);
});

test("its controllers are known by their Leases", () => {
  expect(stageControllers({}, {}, registry)["toys"]).toEqual([{ name: "toys", resources: [] }]);
});
