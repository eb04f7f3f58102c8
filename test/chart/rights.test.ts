// The chart gives exactly the rights that `keyturn rbac` prints for the same choice, whatever is chosen.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { rbacCommand } from "../../packages/keyturn/src/cli/manifests.ts";
import { controllersOf, features } from "../../packages/keyturn/src/registry.ts";
import type { RightsFlag } from "../../packages/keyturn/src/feature/feature.ts";
import type { Flag } from "../../packages/keyturn/src/feature/flag.ts";
import { chartFolder, readObjects, renderChart } from "../../tools/chart-rendering.ts";
import { camelCase } from "../../tools/generate/chart-values.ts";
import { rightsOf } from "./rights.ts";

const serviceAccount = { namespace: "keyturn-system", name: "keyturn" };

/** Values of the flags that change rights, by flag; the rest of the choice are the chart's own values. */
interface Choice {
  readonly controllers: readonly string[];
  readonly namespaces: readonly string[];
  readonly leaderElect: boolean;
  readonly dashboard: boolean;
  readonly secureMetrics: boolean;
  readonly flags: Readonly<Record<string, FlagValue>>;
}

type FlagValue = string | boolean | readonly string[];

/** What a flag on which rights depend may be. */
function valuesFor(dependence: RightsFlag): fc.Arbitrary<FlagValue> {
  const { takes, default: usual = "" } = dependence.flag;
  if ("has" in dependence) return fc.subarray([...dependence.has]);
  if ("is" in dependence) return takes.type === "switch" ? fc.boolean() : fc.constantFrom(usual, dependence.is);
  if (dependence.as === "namespace") return fc.constantFrom(usual, "vault");
  return dependence.as === "namespaces"
    ? fc.subarray(["shop", "istio-system", "gateway", "keyturn-system"])
    : fc.subarray(["certificates.v1.cert-manager.io", "services.v1", "secrets.v1", "widgets.v1alpha1.a.b.example"]);
}

/** Every flag of a controller on which its rights depend, and what it may be. */
const flagsWithRights: Readonly<Record<string, fc.Arbitrary<FlagValue>>> = Object.fromEntries(
  features.flatMap(({ rightsFlags = [] }) => rightsFlags.map((dependence) => [dependence.flag.name, valuesFor(dependence)])),
);

const choices: fc.Arbitrary<Choice> = fc.record({
  controllers: fc.subarray(
    features.map(({ name }) => name),
    { minLength: 1 },
  ),
  namespaces: fc.subarray(["shop", "default", "keyturn-system"]),
  leaderElect: fc.boolean(),
  dashboard: fc.boolean(),
  secureMetrics: fc.boolean(),
  flags: fc.record<Record<string, FlagValue>>(flagsWithRights),
});

function valuesOf({ controllers, namespaces, leaderElect, dashboard, secureMetrics, flags }: Choice): Readonly<Record<string, unknown>> {
  const values: Record<string, Record<string, unknown>> = Object.fromEntries(
    features.map(({ name }) => [camelCase(name), { enabled: controllers.includes(name) }]),
  );
  for (const [flag, value] of Object.entries(flags)) {
    const [feature = "", name = ""] = flag.split(".").map(camelCase);
    Object.assign(values[feature] ?? {}, { [name]: value });
  }
  const others = { dashboard: { enabled: dashboard }, metrics: { secure: secureMetrics } };
  return { controllers: values, namespaces, leaderElect, ...others, crds: { enabled: false }, rbac: { clusterRoles: true } };
}

/** What `keyturn rbac` prints, as the rights of a ServiceAccount. */
function printedRights(flags: Readonly<Record<string, string>>, owner: typeof serviceAccount = serviceAccount): readonly string[] {
  let text = "";
  const console = {
    environment: {},
    out: (part: string) => void (text += part),
    err: () => {},
    height: () => undefined,
    signal: AbortSignal.abort(),
  };
  rbacCommand({ namespace: owner.namespace, "service-account": owner.name, ...flags }, console, features);
  return rightsOf(readObjects(text), owner);
}

function flagsOf({ controllers, namespaces, leaderElect, dashboard, secureMetrics, flags }: Choice): Readonly<Record<string, string>> {
  const given = Object.fromEntries(Object.entries(flags).map(([flag, value]) => [flag, String(value)]));
  return {
    ...given,
    // One that is limited needs no look at labels of namespaces.
    "checksum.namespaces": given["checksum.namespaces"] || namespaces.join(","),
    controllers: controllers.join(","),
    namespaces: namespaces.join(","),
    "leader-elect": String(leaderElect),
    "metrics-secure": String(secureMetrics),
    ...(dashboard && { "dashboard-bind-address": ":8082" }),
  };
}

async function chartRights(choice: Choice): Promise<readonly string[]> {
  return rightsOf(await renderChart(valuesOf(choice)), serviceAccount);
}

test("the chart gives the rights that keyturn rbac prints, for any choice of controllers, namespaces and flags", { timeout: 600_000 }, async () => {
  const all: Choice = {
    controllers: features.map(({ name }) => name),
    namespaces: [],
    leaderElect: true,
    dashboard: true,
    secureMetrics: true,
    flags: {},
  };
  await fc.assert(
    fc.asyncProperty(choices, async (choice) => {
      expect(await chartRights(choice)).toEqual(printedRights(flagsOf(choice)));
    }),
    {
      numRuns: 30,
      seed: 10,
      examples: [[all], [{ ...all, namespaces: ["shop"] }], [{ ...all, namespaces: ["shop"], dashboard: false }]],
      endOnFailure: true,
    },
  );
});

test("with split, each controller has a Deployment and a ServiceAccount of its own, with the rights that keyturn rbac prints for it alone", async () => {
  const names = features.map(({ name }) => name);
  // Helm goes through its values in another order each time, and nothing may depend on it.
  for (const namespaces of [[], ["shop"], ["shop"], ["shop"], ["shop"]]) {
    const choice: Choice = { controllers: names, namespaces, leaderElect: true, dashboard: false, secureMetrics: true, flags: {} };
    const objects = await renderChart({ ...valuesOf(choice), split: true });
    const named = (wanted: string): readonly string[] => objects.filter(({ kind }) => kind === wanted).map(({ metadata }) => metadata.name);
    // Those that restart workloads are one process.
    const own = names
      .filter((name) => name !== "consumers")
      .map((name) => `keyturn-${name}`)
      .toSorted();
    expect(named("Deployment").toSorted()).toEqual(own);
    expect(named("ServiceAccount").toSorted()).toEqual(own);
    for (const name of names.filter((each) => each !== "consumers")) {
      const owner = { namespace: "keyturn-system", name: `keyturn-${name}` };
      const controllers = name === "sidecars" ? ["sidecars", "consumers"] : [name];
      expect(rightsOf(objects, owner)).toEqual(printedRights(flagsOf({ ...choice, controllers }), owner));
    }
  }
});

test("the same values give the same rights each time: no template depends on the order of keys, which is another one each time", async () => {
  const templates = globSync("templates/**/*", { cwd: chartFolder, withFileTypes: true }).filter((entry) => entry.isFile());
  const unordered = templates.flatMap(({ parentPath, name }) =>
    readFileSync(join(parentPath, name), "utf8")
      .split("\n")
      .filter((line) => /\bkeys [$.]/.test(line) && !line.includes("sortAlpha")),
  );
  expect(templates.length).toBeGreaterThan(10);
  expect(unordered).toEqual([]);
  const controllers = Object.fromEntries(features.map(({ name }) => [camelCase(name), { enabled: name !== "sidecars" }]));
  const rendered = await Promise.all(
    Array.from({ length: 8 }, () => renderChart({ controllers, split: true, namespaces: ["shop"], metrics: { secure: false } })),
  );
  expect(new Set(rendered.map((objects) => JSON.stringify(objects))).size).toBe(1);
});

test("the agent gets what keyturn rbac prints for it, wherever the namespaces of its scope are", async () => {
  const owner = { namespace: "gateways", name: "keyturn-agent" };
  const scopes: readonly Readonly<Record<"scope" | "namespaces", string>>[] = [
    { scope: "namespace", namespaces: "" },
    { scope: "all", namespaces: "bank,gateways,shop" },
    { scope: "all", namespaces: "" },
    { scope: "example.com/fleet", namespaces: "" },
  ];
  for (const { scope, namespaces } of scopes) {
    const checksum = { scope, namespaces: namespaces === "" ? [] : namespaces.split(","), publishIn: owner.namespace };
    const values = { controllers: { checksum }, agent: { enabled: true, namespace: owner.namespace }, crds: { enabled: false } };
    const rights = rightsOf(await renderChart(values), owner);
    expect(rights).toEqual(printedRights({ agent: "true", "checksum.scope": scope, "checksum.namespaces": namespaces }, owner));
    const seesAll = rights.includes("* /secrets[] list") && rights.includes("* /namespaces[] watch");
    const seesNamed = ["bank", "gateways", "shop"].every((namespace) => rights.includes(`${namespace} /secrets[] list`));
    expect({ scope, seesAll, seesNamed }).toEqual({ scope, seesAll: scope !== "namespace" && namespaces === "", seesNamed: namespaces !== "" });
  }
  const limited = {
    controllers: { checksum: { scope: "all", publishIn: "gateways" } },
    agent: { enabled: true },
    namespaces: ["gateways"],
    metrics: { secure: false },
  };
  await expect(renderChart(limited)).rejects.toThrow("rbac.clusterRoles: true");
});

test("no other flag of a controller changes its rights: one that does has to be among its rightsFlags", () => {
  // A client secret that is replaced has to go on working for less long than that.
  const overlap = { "eventing-auth.rotation-overlap": "1s" };
  const rightsWith = (given: Readonly<Record<string, string>>): string =>
    JSON.stringify(features.map((feature) => controllersOf([feature], { ...overlap, ...given }, {}).map(({ access }) => access)));
  const byDefault = rightsWith({});
  const changing = features
    .flatMap(({ flags }) => flags)
    .filter((flag) => samplesOf(flag).some((sample) => rightsWith({ [flag.name]: sample }) !== byDefault))
    .map(({ name }) => name);
  expect(changing.toSorted()).toEqual(Object.keys(flagsWithRights).toSorted());
});

/** Texts that the flag takes and that are not its default. */
function samplesOf(flag: Flag): readonly string[] {
  const candidates = [
    "true",
    "false",
    "1",
    "3",
    "7s",
    "7h",
    "sample",
    "sample=yes",
    "cpu=1",
    "whole",
    "secrets",
    "widgets.v1.example.com",
    "Mon 10:00-11:00",
    "Europe/Berlin",
  ];
  const taken = [...candidates, ...(flag.takes.type === "choice" ? flag.takes.choices : [])].filter((text) => {
    try {
      flag.parse(text);
      return text !== flag.default;
    } catch {
      return false;
    }
  });
  if (taken.length === 0) throw new Error(`add something that --${flag.name} takes to the samples`);
  return taken;
}

test("with leaderElectNamespace the Leases are there, and the right to them too", async () => {
  const objects = await renderChart({ leaderElectNamespace: "leases", controllers: { checksum: { enabled: false }, jwks: { enabled: false } } });
  expect(rightsOf(objects, serviceAccount).filter((right) => right.includes("leases"))).toEqual([
    "leases coordination.k8s.io/leases[] create",
    "leases coordination.k8s.io/leases[keyturn-rotation] get",
    "leases coordination.k8s.io/leases[keyturn-rotation] update",
  ]);
});

test("with rbac.create=false there is no role, and with an existing ServiceAccount it is the one that is bound", async () => {
  const none = await renderChart({ rbac: { create: false, aggregateRoles: false } });
  expect(none.filter(({ kind }) => kind.includes("Role"))).toEqual([]);
  const existing = await renderChart({ serviceAccount: { create: false, name: "mine" } });
  expect(existing.filter(({ kind }) => kind === "ServiceAccount")).toEqual([]);
  expect(rightsOf(existing, { namespace: "keyturn-system", name: "mine" })).toEqual(rightsOf(await renderChart(), serviceAccount));
});

test("the agent gets what keyturn rbac --agent prints, in its namespace alone, and no Leases if it keeps none", async () => {
  const agent = { namespace: "gateway", name: "keyturn-agent" };
  const printed = printedRights({ agent: "true" }, agent);
  const withLease = await renderChart({ agent: { enabled: true, namespace: "gateway" } });
  expect(rightsOf(withLease, agent)).toEqual(printed);
  const without = await renderChart({ agent: { enabled: true, namespace: "gateway", lease: false } });
  expect(rightsOf(without, agent)).toEqual(printed.filter((right) => !right.includes("leases")));
});

test(
  "limited to namespaces there is no ClusterRole, whatever is chosen: what needs one is refused until it is asked for",
  { timeout: 600_000 },
  async () => {
    const inCluster = (objects: Awaited<ReturnType<typeof renderChart>>): readonly string[] =>
      objects.filter(({ kind }) => kind.startsWith("Cluster")).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    await fc.assert(
      fc.asyncProperty(choices, async (choice) => {
        const limited = { ...choice, namespaces: ["shop", "keyturn-system"], dashboard: false, secureMetrics: false };
        const controllers = limited.controllers.filter((name) => name !== "sidecars");
        fc.pre(controllers.length > 0);
        const values = { ...valuesOf({ ...limited, controllers }), rbac: {} };
        const objects = [...(await renderChart(values)), ...(await renderChart({ ...values, split: true }))];
        expect(inCluster(objects)).toEqual([]);
        const people = objects.filter(({ kind, metadata }) => kind === "Role" && /-(view|edit)$/.test(metadata.name));
        // One controller has no kinds that people could look at.
        const places = controllers.some((name) => name !== "consumers") ? 2 : 0;
        expect(new Set(people.map(({ metadata }) => metadata.namespace)).size).toBe(places);
      }),
      { numRuns: 10, seed: 4 },
    );
    for (const [values, resource] of [
      [{ controllers: { sidecars: { enabled: true } } }, "mutatingwebhookconfigurations"],
      [{ dashboard: { enabled: true } }, "tokenreviews"],
      [{ controllers: { checksum: { namespaceSelector: "team=a" } } }, "namespaces"],
    ] as const) {
      const limited = { ...values, namespaces: ["shop"] };
      await expect(renderChart(limited)).rejects.toThrow(new RegExp(`namespaces: ${resource} belong to no namespace`));
      expect(inCluster(await renderChart({ ...limited, rbac: { clusterRoles: true } }))).toEqual([
        "ClusterRole keyturn-metrics-reader",
        "ClusterRole keyturn",
        "ClusterRoleBinding keyturn",
      ]);
    }
  },
);

test("with split, no process reads a Secret of the operator's namespace but the one that keeps the key, and that by its name", async () => {
  const choice: Choice = {
    controllers: features.map(({ name }) => name),
    namespaces: ["shop"],
    leaderElect: true,
    dashboard: false,
    secureMetrics: true,
    flags: {},
  };
  const objects = await renderChart({ ...valuesOf(choice), split: true });
  const here = features.map(({ name }) => {
    const rights = rightsOf(objects, { namespace: "keyturn-system", name: `keyturn-${name}` });
    return [name, rights.filter((right) => right.startsWith("keyturn-system /secrets"))] as const;
  });
  const key = "keyturn-system /secrets[keyturn-installation-key] get";
  // Whoever follows what workloads use reads the Secrets of all places that it may look at anyway.
  const keeping = ["keyturn-system /secrets[] create", key];
  expect(here.filter(([, rights]) => rights.length > 0)).toEqual([
    ["rotation", keeping],
    ["sidecars", keeping],
  ]);
});

test("people with view, edit and admin get the kinds of the chosen controllers", async () => {
  const objects = await renderChart({ controllers: { jwks: { enabled: false }, checksum: { enabled: false } } });
  const roles = objects.filter(({ metadata }) => /-(view|edit)$/.test(metadata.name));
  expect(roles.map(({ metadata }) => [metadata.name, Object.keys(metadata.labels ?? {}).filter((label) => label.includes("aggregate"))])).toEqual([
    [
      "keyturn-view",
      ["rbac.authorization.k8s.io/aggregate-to-admin", "rbac.authorization.k8s.io/aggregate-to-edit", "rbac.authorization.k8s.io/aggregate-to-view"],
    ],
    ["keyturn-edit", ["rbac.authorization.k8s.io/aggregate-to-admin", "rbac.authorization.k8s.io/aggregate-to-edit"]],
  ]);
  expect(JSON.stringify(roles)).toContain("rotationtargets");
  expect(JSON.stringify(roles)).not.toMatch(/jwks|checksums|eventingauths/);
});

test("people with edit and admin may change checksums only while each is of one namespace alone", async () => {
  const rulesWith = async (checksum: object): Promise<unknown> => {
    const objects = await renderChart({ controllers: { checksum } });
    const roles = objects.filter(({ metadata }) => /-(view|edit)$/.test(metadata.name));
    return Object.fromEntries(roles.map(({ metadata, ...role }) => [metadata.name, JSON.stringify(role).includes("secretchecksums")]));
  };
  expect(await rulesWith({})).toEqual({ "keyturn-view": true, "keyturn-edit": true });
  expect(await rulesWith({ scope: "team" })).toEqual({ "keyturn-view": true, "keyturn-edit": false });
  expect(await rulesWith({ scope: "all", publishIn: "gateways" })).toEqual({ "keyturn-view": true, "keyturn-edit": false });
});

test("people with edit and admin see EventingAuths and may not change them: each stands for an application and a cluster of its own", async () => {
  const resourcesOf = (objects: Awaited<ReturnType<typeof renderChart>>): unknown =>
    Object.fromEntries(
      objects
        .filter(({ metadata }) => /-(view|edit)$/.test(metadata.name))
        .map(({ metadata, ...role }) => [metadata.name, JSON.stringify(role).includes("eventingauths")]),
    );
  expect(resourcesOf(await renderChart({ controllers: { eventingAuth: { enabled: true } } }))).toEqual({
    "keyturn-view": true,
    "keyturn-edit": false,
  });
  const off = { enabled: false };
  const alone = { eventingAuth: { enabled: true }, jwks: off, checksum: off, rotation: off };
  expect(resourcesOf(await renderChart({ controllers: alone }))).toEqual({ "keyturn-view": true });
});
