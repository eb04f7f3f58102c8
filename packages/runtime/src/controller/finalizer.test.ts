import { describe, expect, it } from "vitest";
import { addFinalizerPatch, dropFinalizerPatch } from "./finalizer.ts";

const ours = "demo.example/cleanup";
const objectWith = (finalizers?: readonly string[]) => ({
  metadata: { name: "a", uid: "u1", resourceVersion: "7", ...(finalizers ? { finalizers } : {}) },
});

describe("addFinalizerPatch", () => {
  it("begins the list only on the very version that had none, so that nobody's finalizer is overwritten", () => {
    expect(addFinalizerPatch(objectWith(), ours)).toEqual([
      { op: "test", path: "/metadata/uid", value: "u1" },
      { op: "test", path: "/metadata/resourceVersion", value: "7" },
      { op: "add", path: "/metadata/finalizers", value: [ours] },
    ]);
  });

  it("adds to a list that others began", () => {
    expect(addFinalizerPatch(objectWith(["x/y"]), ours)?.at(-1)).toEqual({ op: "add", path: "/metadata/finalizers/-", value: ours });
  });

  it("asks for nothing when it is there", () => {
    expect(addFinalizerPatch(objectWith([ours]), ours)).toBeUndefined();
  });
});

describe("dropFinalizerPatch", () => {
  it("removes ours by its place, after proving that the place still holds it", () => {
    expect(dropFinalizerPatch(objectWith(["x/y", ours, "z/z"]), ours)?.slice(1)).toEqual([
      { op: "test", path: "/metadata/finalizers/1", value: ours },
      { op: "remove", path: "/metadata/finalizers/1" },
    ]);
  });

  it("asks for nothing when it is not there", () => {
    expect(dropFinalizerPatch(objectWith(["x/y"]), ours)).toBeUndefined();
  });
});
