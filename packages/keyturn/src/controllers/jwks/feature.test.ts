// The feature as a whole: what its controllers are made with.
import { describe, expect, test } from "vitest";
import { backoffDelayMs, policyRules } from "@keyturn/runtime";
import { JWKS, JWKSConfig } from "./api.ts";
import { jwksAccess } from "./controller.ts";
import { jwksFeature } from "./feature.ts";

describe("both controllers", () => {
  const controllers = jwksFeature.controllers((flag) => flag.parse(undefined));

  test.each(controllers)("$name: what may end by itself is tried again after 5 s, 10 s, 20 s … 5 min", ({ backoff }) => {
    if (!backoff) throw new Error("the controller has no delays of its own");
    for (const random of [() => 0, () => 0.999]) {
      const delays = [1, 2, 3, 4, 5, 6, 7, 8, 20].map((failures) => backoffDelayMs(failures, backoff, random) / 1000);
      expect(delays).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
    }
  });
});

test("the operator may neither make nor delete the objects that users make", () => {
  const rules = policyRules(jwksAccess(true)).filter(({ apiGroups }) => apiGroups.some((group) => group === "keyturn.io" || group === "rieset.io"));
  const verbs = new Set(rules.flatMap((rule) => rule.verbs));
  expect([...verbs].toSorted()).toEqual(["get", "list", "patch", "update", "watch"]);
  const updated = rules.filter((rule) => rule.verbs.includes("update")).flatMap(({ resources }) => resources);
  expect(updated).toEqual(["jwksconfigs/finalizers", "jwks/finalizers"]);
  expect(policyRules(jwksAccess(true)).find(({ resources }) => resources.includes("secrets"))?.verbs).toEqual(["list", "watch"]);
});

test("the operator may run nothing unless the installation serves documents", () => {
  const runs = (serves: boolean): readonly string[] =>
    policyRules(jwksAccess(serves)).flatMap(({ resources }) => resources.filter((each) => ["deployments", "services", "pods"].includes(each)));
  expect(runs(false)).toEqual([]);
  expect(runs(true).toSorted()).toEqual(["deployments", "pods", "services"]);
  const access = jwksFeature.controllers((flag) => flag.parse(undefined)).map((controller) => controller.access);
  expect(access).toEqual([jwksAccess(false, [JWKSConfig]), jwksAccess(false, [JWKS])]);
});
