// How sources and targets are known by their metadata.
import type { KubeObject } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { keepMarks } from "./marks.ts";

const prefix = "rotator.k8s.telekom.com";
const set = { [`${prefix}/rotation-set`]: "my-key" };
const source = { ...set, [`${prefix}/source`]: "true" };
const object = (metadata: KubeObject["metadata"]): KubeObject => ({ metadata: { name: "x", namespace: "shop", ...metadata } });

test("an object without marks keeps nothing, and all of them share it", () => {
  const kept = keepMarks(object({ labels: { app: "shop" }, annotations: { note: "long ".repeat(1000) } }));
  expect(kept).toEqual({});
  expect(keepMarks(object({}))).toBe(kept);
});

test.each([
  ["annotations", { annotations: source }],
  ["labels", { labels: source }],
  ["both", { labels: set, annotations: { [`${prefix}/source`]: "true" } }],
])("a source is known by its %s", (_, metadata) => {
  expect(keepMarks(object(metadata)).source).toEqual({ set: "my-key", watchPath: undefined, rotatePath: undefined });
});

test("a source must say that it is one", () => {
  for (const value of ["false", "True", ""])
    expect(keepMarks(object({ annotations: { ...source, [`${prefix}/source`]: value } })).source).toBeUndefined();
});

test("a target's object is known by our mark alone, and what it holds by its annotations", () => {
  const owner = { "keyturn.io/owner": "rotationtargets.rotator.k8s.telekom.com/shop/live" };
  const applied = { [`${prefix}/version`]: "3", [`${prefix}/digest`]: "d3", [`${prefix}/applied-at`]: "2026-01-01T00:00:00.123Z" };
  const labels = { "app.kubernetes.io/managed-by": "keyturn" };
  expect(keepMarks(object({ annotations: { ...owner, ...applied } })).target).toBeUndefined();
  expect(keepMarks(object({ labels, annotations: { ...owner, ...applied } })).target).toEqual({
    owner: "shop/live",
    applied: { seq: 3, digest: "d3", atMs: Date.parse("2026-01-01T00:00:00.123Z") },
    ownerUids: [],
  });
  expect(keepMarks(object({ labels, annotations: { ...owner, ...applied, [`${prefix}/version`]: "three" } })).target?.applied).toBeUndefined();
});
