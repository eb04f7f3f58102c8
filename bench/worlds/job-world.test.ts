// When the common job counts as done, and whether a contestant's work is checked in full.
import { hash } from "node:crypto";
import type { ConfigMap, Secret, Stored } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { jobMistakes, JobProgress } from "./job-world.ts";

test("an object is done once both its ConfigMap and its annotation say what is wanted", async () => {
  const progress = new JobProgress();
  progress.want("a", "1");
  progress.published("a", "1");
  expect(progress.undone).toBe(1);
  progress.told("a", "1");
  expect(progress.undone).toBe(0);
  await progress.whenDone(1);
});

test("whoever waits is told when the last object is done, and a later change opens it again", async () => {
  const progress = new JobProgress();
  for (const name of ["a", "b"]) progress.want(name, "1");
  const done = progress.whenDone(60_000);
  for (const name of ["a", "b"]) {
    progress.told(name, "1");
    progress.published(name, "1");
  }
  await done;
  progress.want("a", "2");
  progress.published("a", "1");
  expect(progress.undone).toBe(1);
});

test("an effect is the ConfigMap's, whatever the annotation says; an old digest is none", async () => {
  const progress = new JobProgress();
  progress.want("a", "2");
  const effect = progress.whenPublished("a", 60_000);
  progress.published("a", "1");
  const beforeMs = performance.now();
  progress.published("a", "2");
  expect(await effect).toBeGreaterThanOrEqual(beforeMs);
});

test("waiting ends with an error that says how much is missing", async () => {
  const progress = new JobProgress();
  progress.want("a", "1");
  expect(await progress.isDoneWithin(1)).toBe(false);
  await expect(progress.whenDone(1)).rejects.toThrow("1 of 1 objects are not done");
  await expect(progress.whenPublished("a", 1)).rejects.toThrow("the change of a had no effect");
});

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
