// Whether a contestant's work is checked in full.
import { hash } from "node:crypto";
import type { ConfigMap, Secret, Stored } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { jobMistakes } from "./job-mistakes.ts";

const certificate = Buffer.from("a certificate");
const sha256 = hash("sha256", certificate, "hex");
const identity = { namespace: "n", name: "tls", uid: "u1", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
const secret: Stored<Secret> = {
  metadata: { ...identity, annotations: { "bench/digest": sha256 } },
  data: { "tls.crt": certificate.toString("base64") },
};
const configMap: Stored<ConfigMap> = {
  metadata: { ...identity, uid: "u2", ownerReferences: [{ apiVersion: "v1", kind: "Secret", name: "tls", uid: "u1", controller: true }] },
  data: { sha256 },
};

test("work that was done has no mistakes", () => {
  expect(jobMistakes([secret], [configMap])).toEqual([]);
});

test("each part of the job is looked at", () => {
  expect(jobMistakes([secret], [])).toEqual(["tls has no ConfigMap"]);
  expect(jobMistakes([], [configMap])).toEqual(["there is a ConfigMap tls without a Secret"]);
  expect(jobMistakes([{ ...secret, metadata: identity }], [configMap])).toEqual(["tls does not say what was published"]);
  expect(jobMistakes([secret], [{ ...configMap, data: { sha256, more: "" } }])).toHaveLength(1);
  expect(jobMistakes([secret], [{ ...configMap, metadata: { ...identity, uid: "u2" } }])).toEqual([
    "the ConfigMap of tls is not owned by its Secret",
  ]);
});
