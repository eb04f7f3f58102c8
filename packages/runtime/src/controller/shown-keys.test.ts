// What a controller shows of its keys comes and goes with its terms, in virtual time.
import { expect, test } from "vitest";
import type { ObjectKey } from "../client/object.ts";
import { type RunnerRig, runnerRig } from "./runner-rig.fixture.ts";
import { type KeyView, ShownKeys } from "./shown-keys.ts";

/** A view that remembers what is shown, and that fails where it is asked to hide what is not. */
function recordingView(): { readonly shown: Map<ObjectKey, number>; readonly view: KeyView<number> } {
  const shown = new Map<ObjectKey, number>();
  const hide = (key: ObjectKey): void => {
    if (!shown.delete(key)) throw new Error(`${key} is not shown`);
  };
  return { shown, view: { show: (key, value) => void shown.set(key, value), hide } };
}

/** A controller that shows the size of each thing. Runs of `test/deaf` do not listen, and end when released. */
function showingRig(): RunnerRig & { readonly shown: ReadonlyMap<ObjectKey, number>; readonly release: () => void } {
  const { shown, view } = recordingView();
  const held = Promise.withResolvers<void>();
  const rig = runnerRig(async ({ key }) => {
    if (key === "test/deaf") await held.promise;
    show?.(key, rig.world.cache.get(key)?.size);
  });
  const show = rig.scope?.show(view);
  return { ...rig, shown, release: () => held.resolve() };
}

test("what a term has shown is hidden when it is stopped, and shown again by the next one as it is then", async () => {
  const { clock, world, lead, shown } = showingRig();
  world.put("a", 1);
  world.put("b", 2);
  const first = lead();
  await clock.advance(10);
  expect([...shown]).toEqual([
    ["test/a", 1],
    ["test/b", 2],
  ]);
  first.stop();
  // At once, not when the last run has ended.
  expect([...shown]).toEqual([]);
  await first.ended;
  world.put("a", 3);
  await clock.advance(10_000);
  expect([...shown]).toEqual([]);
  lead();
  await clock.advance(10);
  expect([...shown]).toEqual([
    ["test/a", 3],
    ["test/b", 2],
  ]);
});

test("while a term is drained its keys are still this process's; when it has ended they are not", async () => {
  const { clock, world, lead, shown, release } = showingRig();
  world.put("a", 1);
  world.put("deaf", 2);
  const term = lead();
  await clock.advance(10);
  term.drain();
  await clock.advance(1_000);
  expect([...shown.keys()]).toEqual(["test/a"]);
  release();
  await term.ended;
  expect([...shown]).toEqual([]);
});

test("a run that outlives its term shows nothing", async () => {
  const { clock, world, lead, shown, release } = showingRig();
  world.put("deaf", 1);
  const term = lead();
  await clock.advance(10);
  term.stop();
  await clock.advance(10_000);
  await term.ended;
  release();
  await clock.advance(10);
  expect([...shown]).toEqual([]);
});

test("nothing is hidden that was not shown", () => {
  const { shown, view } = recordingView();
  let active = false;
  const keys = new ShownKeys(view, () => active);
  keys.set("a", 1);
  active = true;
  keys.set("a", undefined);
  keys.set("a", 1);
  keys.set("a", undefined);
  keys.set("a", undefined);
  keys.sweep();
  expect([...shown]).toEqual([]);
});
