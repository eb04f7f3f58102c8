// Numbers and versions, as Tengine's reader takes them from names and annotations.
import { describe, expect, test } from "vitest";
import { memberFlags } from "./flags.ts";
import { defaultVersionAnnotation, objectIdOf } from "./object-id.ts";

const rules = { versionAnnotations: [defaultVersionAnnotation] };
const idOf = (name: string, version?: string): string => {
  const result = objectIdOf({ name, ...(version !== undefined && { annotations: { [defaultVersionAnnotation]: version } }) }, rules);
  return result.ok ? result.id : result.reason;
};

describe("the number at the end of the name", () => {
  test.each([
    ["alibaba-taobao-com-27555", "27555-1"],
    ["a-7", "7-1"],
    ["a-007", "7-1"],
    ["a--7", "7-1"],
    ["a.b-7", "7-1"],
    ["a-9223372036854775807", "9223372036854775807-1"],
    ["a-9223372036854775808", "NumberMissing"],
    ["a-7b", "NumberMissing"],
    ["a-7.b", "NumberMissing"],
    ["7", "NumberMissing"],
    ["shop", "NumberMissing"],
    ["", "NumberMissing"],
  ])("%s: %s", (name, expected) => {
    expect(idOf(name, "1")).toBe(expected);
  });
});

describe("the version", () => {
  test.each([
    ["1", "7-1"],
    ["+5", "7-5"],
    ["007", "7-7"],
    ["-1", "7--1"],
    ["-9223372036854775808", "7--9223372036854775808"],
    ["9223372036854775808", "VersionInvalid"],
    ["0", "VersionInvalid"],
    ["-0", "VersionInvalid"],
    ["", "VersionInvalid"],
    [" 1", "VersionInvalid"],
    ["1.0", "VersionInvalid"],
    ["v1", "VersionInvalid"],
    ["１", "VersionInvalid"],
    [undefined, "VersionMissing"],
  ])("%j: %s", (version, expected) => {
    expect(idOf("a-7", version)).toBe(expected);
  });

  test("is that of the first annotation, of those that may hold it, that is there", () => {
    const versionAnnotations = ["fs.ingress.alibaba/version", defaultVersionAnnotation];
    const of = (annotations: Record<string, string>): unknown => objectIdOf({ name: "alibaba-com-ecc-118", annotations }, { versionAnnotations });
    expect(of({ "fs.ingress.alibaba/version": "5792" })).toEqual({ ok: true, id: "118-5792" });
    expect(of({ [defaultVersionAnnotation]: "3" })).toEqual({ ok: true, id: "118-3" });
    expect(of({ [defaultVersionAnnotation]: "3", "fs.ingress.alibaba/version": "5792" })).toEqual({ ok: true, id: "118-5792" });
    expect(of({ [defaultVersionAnnotation]: "3", "fs.ingress.alibaba/version": "x" })).toEqual({ ok: false, reason: "VersionInvalid" });
  });

  test("is found by default where the document's sample Secrets have it, and where Tengine reads it if it is there too", () => {
    const byDefault = { versionAnnotations: memberFlags.versionAnnotations.parse(undefined) };
    const of = (name: string, annotations: Record<string, string>): unknown => objectIdOf({ name, annotations }, byDefault);
    expect(of("alibaba-com-ecc-118", { "fs.ingress.alibaba/version": "5792" })).toEqual({ ok: true, id: "118-5792" });
    expect(of("alibaba-com-rsa-119", { "fs.ingress.alibaba/version": "5793" })).toEqual({ ok: true, id: "119-5793" });
    expect(of("alibaba-taobao-com-27555", { "nginx.ingress.kubernetes.io/version": "1" })).toEqual({ ok: true, id: "27555-1" });
    const both = { "fs.ingress.alibaba/version": "5792", "nginx.ingress.kubernetes.io/version": "1" };
    expect(of("alibaba-com-ecc-118", both)).toEqual({ ok: true, id: "118-1" });
  });
});
