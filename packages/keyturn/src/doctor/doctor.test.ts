// What the checks say about what they are shown; on real servers they are in test/people.
import { crdOf, type CustomResourceDefinition, type Deployment, type Lease, type Stored } from "@keyturn/runtime";
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { SecretCheckSum } from "../controllers/checksum/api.ts";
import { RotationTarget } from "../controllers/rotation/api.ts";
import type { LeaseSummary } from "../feature/record.ts";
import { agentAnnotations, agentFindings } from "../controllers/checksum/agent-lease.ts";
import { chooseFeatures } from "../registry.ts";
import { plain } from "../text.ts";
import { leaseFindings } from "./lease-check.ts";
import { crdFinding } from "./crd-check.ts";
import { fail, ok, warn } from "../feature/feature.ts";
import { findingsText } from "./doctor.ts";
import { predecessorFindings } from "./predecessor-check.ts";
import { newestTested, oldestTested, parseMinorVersion, priorityFinding, skewFinding, versionFinding } from "./server-check.ts";
import { watchFindings } from "./rights-check.ts";

const nowMs = Date.parse("2026-01-02T03:04:05Z");

describe("the server's version", () => {
  it.each([
    ["v1.36.3", "ok"],
    ["v1.33.0", "ok"],
    ["v1.34.1-gke.100", "ok"],
    ["v1.32.9", "warn"],
    ["v1.37.0-alpha.1", "warn"],
    ["v2.0.0", "warn"],
    ["nonsense", "warn"],
  ])("%s is %s", (version, level) => {
    expect(versionFinding(version).level).toBe(level);
  });

  it.each([
    ["go.mod", newestTested],
    ["oldest.mod", oldestTested],
  ])("the range is what the tests run on: cluster/%s", async (file, tested) => {
    const text = await readFile(new URL(`../../../../cluster/${file}`, import.meta.url), "utf8");
    expect(parseMinorVersion(/k8s\.io\/kubernetes (v\S+)/.exec(text)?.[1] ?? "")).toEqual(tested);
  });
});

it.each([
  [undefined, "warn"],
  [0, "ok"],
  [1999, "ok"],
  [-3000, "warn"],
  [31_000, "fail"],
])("a server whose clock is %s ms ahead is %s", (aheadMs, level) => {
  expect(skewFinding(aheadMs).level).toBe(level);
});

it.each([
  ["3d4f", "ok: API Priority and Fairness is on: a busy neighbour cannot starve the operator"],
  [undefined, "warn: the API server does not say that API Priority and Fairness is on"],
  ["", "warn: the API server does not say that API Priority and Fairness is on"],
])("a server that has put us into flow schema %s", (flowSchema, expected) => {
  const { level, message } = priorityFinding(flowSchema);
  expect(`${level}: ${message}`).toBe(expected);
});

describe("an installed definition", () => {
  const wanted = crdOf(SecretCheckSum);
  const live = (changes: Partial<CustomResourceDefinition>, metadata: object = {}): Stored<CustomResourceDefinition> => ({
    ...wanted,
    ...changes,
    metadata: { name: "secretchecksums.tengine.taobao.org", uid: "u", resourceVersion: "1", ...metadata },
  });
  const judged = (...args: Parameters<typeof live>): string => {
    const { level, message } = crdFinding(SecretCheckSum, live(...args));
    return `${level}: ${message.replace("secretchecksums.tengine.taobao.org ", "")}`;
  };
  const established = [{ type: "Established", status: "True" }] as const;

  it.each([
    ["ok: is installed as this release defines it", { status: { conditions: established, storedVersions: ["v1"] } }, {}],
    ["fail: is being deleted, and all its objects with it", {}, { deletionTimestamp: "2026-01-02T03:04:05Z" }],
    ["fail: is not served: taken", { status: { conditions: [{ type: "NamesAccepted", status: "False", message: "taken" }] } }, {}],
    ["fail: is installed without version v1alpha1", { spec: { ...wanted.spec, versions: wanted.spec.versions.slice(0, 1) } }, {}],
    [
      "warn: objects of may still be stored as v1beta9, which this release does not define",
      { status: { conditions: established, storedVersions: ["v1", "v1beta9"] } },
      {},
    ],
    [
      "warn: is converted between versions by a webhook, which none of ours needs",
      { spec: { ...wanted.spec, conversion: { strategy: "Webhook" } } },
      {},
    ],
    [
      "warn: is installed with another schema than this release's",
      { spec: { ...wanted.spec, versions: crdOf(RotationTarget).spec.versions.flatMap((version) => [version, { ...version, name: "v1alpha1" }]) } },
      {},
    ],
  ] as const)("%s", (expected, changes, metadata) => {
    expect(judged(changes, metadata)).toBe(expected);
  });
});

describe("who leads", () => {
  const everything = { namespaces: [], skipNamespaces: [], selector: "", only: {} };
  const lease = (changes: Partial<LeaseSummary>): LeaseSummary => ({
    controller: "jwks",
    namespace: "ops",
    holder: "keyturn-0",
    state: "held",
    renewedMs: nowMs,
    acquiredMs: nowMs,
    ...changes,
  });
  it.each([
    ["ok: jwks is led by keyturn-0 in ops", [lease({})]],
    ["warn: no leader elected for jwks", [lease({ controller: "rotation" })]],
    ["warn: no leader for jwks: its Lease was released", [lease({ state: "free", holder: undefined })]],
    [
      "fail: no leader for jwks: keyturn-0 in ops is silent, 60s after its last sign of life",
      [lease({ state: "expired", renewedMs: nowMs - 60_000 })],
    ],
    [
      "fail: jwks is led twice, by keyturn-0 in ops and keyturn-1 in other: two operators work on the same objects",
      [lease({}), lease({ namespace: "other", holder: "keyturn-1" })],
    ],
    [
      "fail: jwks is led twice, by keyturn-0 in ops and keyturn-1 in other: two operators work on the same objects",
      [lease({ serves: { ...everything, selector: "a=1" } }), lease({ namespace: "other", holder: "keyturn-1", serves: everything })],
    ],
    [
      "ok: jwks is led by keyturn-0 in ops and keyturn-1 in other, each over other objects",
      [
        lease({ serves: { ...everything, selector: "a=1" } }),
        lease({ namespace: "other", holder: "keyturn-1", serves: { ...everything, selector: "a!=1" } }),
      ],
    ],
    ["ok: jwks is led by keyturn-0 in ops", [lease({}), lease({ namespace: "left-behind", state: "expired" })]],
  ])("%s", (expected, leases) => {
    expect(leaseFindings(["jwks"], leases, nowMs).map(({ level, message }) => `${level}: ${message}`)).toEqual([expected]);
  });
});

describe("agents on gateways", () => {
  const agent = (name: string, annotations: Record<string, string>, silentMs = 0): Stored<Lease> => ({
    metadata: { namespace: "edge", name: `keyturn-agent-${name}`, uid: "u", resourceVersion: "1", annotations },
    spec: { holderIdentity: name, leaseDurationSeconds: 180, renewTime: new Date(nowMs - silentMs).toISOString() },
  });
  const verified = { [agentAnnotations.state]: "verified" };
  const alarmed = { [agentAnnotations.state]: "holding", [agentAnnotations.alarms]: "Mismatch", [agentAnnotations.differences]: "missing=1" };
  const todo = "see `keyturn diff -n edge` and the agent's /status";

  it("need not be there", () => {
    expect(agentFindings([], nowMs)).toEqual([ok("agents", "no agent has shown itself (one that runs with --lease=false does not)")]);
  });

  it("are judged one by one: those that verify or wait are well, those that raise an alarm or are silent are not", () => {
    const leases = [agent("a", verified), agent("b", {}), agent("c", alarmed), agent("d", verified, 179_999), agent("e", verified, 180_000)];
    expect(agentFindings(leases, nowMs)).toEqual([
      ok("agents", "agent a in edge: what it serves is what the checksum says"),
      ok("agents", "agent b in edge: has just started"),
      fail("agents", "agent c in edge: keeps the last verified set: Mismatch (missing=1) (Mismatch)", todo),
      ok("agents", "agent d in edge: what it serves is what the checksum says"),
      fail(
        "agents",
        "agent e in edge: the agent has not been heard of; what it promoted is still served, and nobody verifies it (AgentSilent)",
        todo,
      ),
    ]);
  });
});

describe("originals beside us", () => {
  const deployment = (image: string, replicas = 1): Stored<Deployment> => ({
    metadata: { namespace: "there", name: "it", uid: "u", resourceVersion: "1" },
    spec: { replicas, selector: {}, template: { spec: { containers: [{ name: "manager", image }] } } },
  });
  const judged = (...deployments: readonly Stored<Deployment>[]) =>
    predecessorFindings(deployments, chooseFeatures("jwks,sidecars")).map(({ level, message }) => `${level}: ${message}`);
  const none = ["ok: none of the operators that Keyturn takes the place of runs beside it"];

  it("are known by their image, wherever that was copied to", () => {
    const expected = ["fail: Fortsa still runs as Deployment there/it, over the same objects as sidecars"];
    for (const image of ["ghcr.io/x/fortsa:v1", "registry:5000/fortsa@sha256:abc", "fortsa"]) expect(judged(deployment(image))).toEqual(expected);
    expect(judged(deployment("docker.io/rieset/jwks-operator:1.0"))).toEqual([
      "fail: jwks-operator still runs as Deployment there/it, over the same objects as jwks",
    ]);
  });

  it("do not matter when they are scaled down, do another step, or are something else", () => {
    expect(judged(deployment("fortsa", 0), deployment("k8s-rotator"), deployment("not-fortsa"), deployment("fortsa/web"))).toEqual(none);
  });
});

it("counts the watches that could be opened, and names the others", () => {
  const attempt = (resource: string, status: number) => ({ resource, status });
  const findings = watchFindings([attempt("secrets", 200), attempt("pods", 403), attempt("jwks.rieset.io", 404), attempt("leases", 500)]);
  expect(findings.map(({ level, message }) => `${level}: ${message}`)).toEqual([
    "ok: 1 of 4 watches were opened",
    "warn: you may not watch pods, so it was not tried",
    "warn: the API server does not serve jwks.rieset.io",
    "fail: a watch of leases was answered with 500",
  ]);
});

it("prints one line each, and what to do once", () => {
  const findings = [
    ok("server", "is there"),
    fail("rights", "a is missing", "grant it"),
    fail("rights", "b is missing", "grant it"),
    warn("x", "odd", "look"),
  ];
  expect(findingsText(findings, plain)).toMatchInlineSnapshot(`
    "ok    server  is there
    fail  rights  a is missing
    fail  rights  b is missing
                  → grant it
    warn  x       odd
                  → look

    1 ok, 1 warning, 2 failures"
  `);
});
