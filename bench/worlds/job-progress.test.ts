// When the common job counts as done.
import { expect, test } from "vitest";
import { JobProgress } from "./job-progress.ts";

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
