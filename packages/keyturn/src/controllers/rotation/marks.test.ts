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

const applied = { [`${prefix}/version`]: "3", [`${prefix}/digest`]: "d3", [`${prefix}/applied-at`]: "2026-01-01T00:00:00.123Z" };
const labels = { "app.kubernetes.io/managed-by": "keyturn" };

test("a target's object is known by our mark alone, and what it holds by its annotations", () => {
  const owner = { "keyturn.io/owner": "rotationtargets.rotator.k8s.telekom.com/shop/live" };
  expect(keepMarks(object({ annotations: { ...owner, ...applied } })).target).toBeUndefined();
  expect(keepMarks(object({ labels, annotations: { ...owner, ...applied } })).target).toEqual({
    owner: "shop/live",
    applied: { seq: 3, digest: "d3", atMs: Date.parse("2026-01-01T00:00:00.123Z") },
    ownerUids: [],
  });
  expect(keepMarks(object({ labels, annotations: { ...owner, ...applied, [`${prefix}/version`]: "three" } })).target?.applied).toBeUndefined();
});

test("a mark says nothing about a target in another namespace", () => {
  const mark = (owner: string): KubeObject =>
    object({ labels, annotations: { "keyturn.io/owner": `rotationtargets.rotator.k8s.telekom.com/${owner}`, ...applied } });
  for (const owner of ["bank/live", "live", "/live", "shop-2/live"]) expect(keepMarks(mark(owner))).toEqual({});
  expect(keepMarks(mark("shop/live")).target?.owner).toBe("shop/live");
});

test.each(["0", "-1", "1.5", "1e3", "0x10", " 3", "", "03", "1000000000", "9007199254740991", "9".repeat(400)])("%j is no version", (version) => {
  const annotations = { "keyturn.io/owner": "rotationtargets.rotator.k8s.telekom.com/shop/live", ...applied };
  expect(keepMarks(object({ labels, annotations: { ...annotations, [`${prefix}/version`]: version } })).target?.applied).toBeUndefined();
});

test("a time that no clock shows is no mark", () => {
  const annotations = { "keyturn.io/owner": "rotationtargets.rotator.k8s.telekom.com/shop/live", ...applied };
  for (const time of ["+275760-09-13T00:00:00Z", "-000001-01-01T00:00:00Z", "soon"])
    expect(keepMarks(object({ labels, annotations: { ...annotations, [`${prefix}/applied-at`]: time } })).target?.applied).toBeUndefined();
});
