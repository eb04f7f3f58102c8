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
