// What is read from the Deployments of an installation.
import type { Deployment, Stored } from "@keyturn/runtime";
import { expect, it } from "vitest";
import { installedFindings, installedFlags, installedOperators } from "./installed.ts";

function deployment(
  args: readonly string[],
  { name = "keyturn", namespace = "keyturn-system", replicas = 2, readyReplicas = 2 } = {},
): Stored<Deployment> {
  return {
    metadata: { namespace, name, uid: "u", resourceVersion: "1" },
    spec: { replicas, selector: {}, template: { spec: { containers: [{ name: "proxy" }, { name: "keyturn", args: [...args] }] } } },
    status: { readyReplicas },
  };
}

const said = (...deployments: readonly Stored<Deployment>[]): readonly string[] =>
  installedFindings(installedOperators(deployments)).map(({ level, message }) => `${level}: ${message}`);

it("knows an operator by its arguments, and its flags", () => {
  const found = installedOperators([
    deployment(["run", "--controllers=jwks,rotation", "--selector=a=b", "--dry-run"]),
    deployment(["agent", "--dir=/x"]),
  ]);
  expect(found.map(({ flags }) => flags)).toEqual([{ controllers: "jwks,rotation", selector: "a=b", "dry-run": "true" }]);
});

it("takes the controllers of one installation together, and means none of several", () => {
  const split = [
    deployment(["run", "--controllers=jwks", "--selector=a"], { name: "a" }),
    deployment(["run", "--controllers=rotation"], { name: "b" }),
  ];
  expect(installedFlags(installedOperators(split))).toEqual({ controllers: "jwks,rotation", selector: "a" });
  expect(installedFlags(installedOperators([...split, deployment(["run"], { name: "c" })]))).toMatchObject({ controllers: "all" });
  expect(installedFlags(installedOperators([...split, deployment(["run"], { namespace: "other" })]))).toEqual({});
  expect(installedFlags([])).toEqual({});
});

it("says whether the pods are ready", () => {
  expect(said(deployment(["run", "--controllers=jwks"]))).toEqual([
    "ok: Deployment keyturn-system/keyturn: 2 of 2 pods ready, with --controllers=jwks",
  ]);
  expect(said(deployment(["run"], { readyReplicas: 1 }))).toEqual(["warn: Deployment keyturn-system/keyturn: 1 of 2 pods ready"]);
  expect(said(deployment(["run"], { readyReplicas: 0 }))).toEqual(["fail: Deployment keyturn-system/keyturn: 0 of 2 pods ready"]);
  expect(said(deployment(["run"], { replicas: 0, readyReplicas: 0 }))).toEqual(["fail: Deployment keyturn-system/keyturn is scaled to 0"]);
});
