// The operator asks for the dashboard's rights only where it serves one.
import { expect, it } from "vitest";
import { rbacCommand } from "../cli/rbac.ts";

function printed(given: Readonly<Record<string, string>>): string {
  let out = "";
  const console = {
    environment: {},
    out: (text: string) => void (out += text),
    err: () => {},
    height: () => undefined,
    signal: new AbortController().signal,
  };
  rbacCommand({ controllers: "jwks", ...given }, console);
  return out;
}

it("are printed with the flag, and not without", () => {
  const rights = ["tokenreviews", "subjectaccessreviews"];
  expect(rights.filter((right) => printed({}).includes(right))).toEqual([]);
  expect(rights.filter((right) => printed({ "dashboard-bind-address": "0" }).includes(right))).toEqual([]);
  expect(rights.filter((right) => printed({ "dashboard-bind-address": ":8082" }).includes(right))).toEqual(rights);
  // Reviews belong to no namespace, wherever the operator works.
  expect(printed({ "dashboard-bind-address": ":8082", namespaces: "shop" })).toMatch(/kind: ClusterRole\n[^]*tokenreviews/);
});

it("let it list namespaces only where it is not told which ones there are", () => {
  const right = /^ +- namespaces$/m;
  expect(printed({ "dashboard-bind-address": ":8082" })).toMatch(right);
  expect(printed({ "dashboard-bind-address": ":8082", namespaces: "shop" })).not.toMatch(right);
  expect(printed({})).not.toMatch(right);
});
