// Rights in words.
import { expect, test } from "vitest";
import { rightInWords, singleRights } from "./missing-access.ts";

const why = "for the test";

test("every verb in every place is a right of its own, in words", () => {
  const rights = singleRights(
    [
      { kind: { group: "", plural: "configmaps", namespaced: true }, verbs: ["get", "patch"], why },
      { kind: { group: "example.com", plural: "widgets", namespaced: true }, verbs: ["patch"], subresource: "status", why },
      { kind: { group: "", plural: "nodes", namespaced: false }, verbs: ["get"], resourceNames: ["a", "b"], why },
      { kind: { group: "", plural: "secrets", namespaced: true }, verbs: ["list"], namespace: "vault", why },
    ],
    ["shop", "web"],
  );
  expect(rights.map(rightInWords)).toEqual([
    "get configmaps in namespace shop",
    "patch configmaps in namespace shop",
    "get configmaps in namespace web",
    "patch configmaps in namespace web",
    "patch widgets.example.com/status in namespace shop",
    "patch widgets.example.com/status in namespace web",
    "get nodes named a in the cluster",
    "get nodes named b in the cluster",
    "list secrets in namespace vault",
  ]);
});

test("a right that two rules ask for is asked for once", () => {
  const kind = { group: "", plural: "secrets", namespaced: true };
  const rights = singleRights([
    { kind, verbs: ["list", "watch"], why: "for the first" },
    { kind, verbs: ["get", "list"], why: "for the second" },
  ]);
  expect(rights.map((right) => `${rightInWords(right)} ${right.rule.why}`)).toEqual([
    "list secrets in the cluster for the first",
    "watch secrets in the cluster for the first",
    "get secrets in the cluster for the second",
  ]);
});
