// A twin is started like the contestant it belongs to, and nothing but its hold counts.
import { expect, test } from "vitest";
import { holdGoal, holdSample, isProbed, probedTwin, probingCommand } from "./probed-twin.ts";

const contestant = { id: "job", label: "Keyturn", settings: "", command: { file: "node", args: ["job.mjs"] } };
const twin = probedTwin(contestant);

test("only the twin is asked to look at its event loop, behind all other arguments", () => {
  expect(probingCommand(contestant, ["20"])).toEqual({ file: "node", args: ["job.mjs", "20"] });
  expect(probingCommand(twin, ["20"])).toEqual({ file: "node", args: ["job.mjs", "20", "probe"] });
  expect([contestant, twin].map(isProbed)).toEqual([false, true]);
});

test("it has a name of its own, which its goal knows", () => {
  expect(twin.label).toBe("Keyturn, probed");
  expect(holdGoal("1,000 objects", "job").contestant).toBe(twin.id);
});

test("a twin that tells of no hold was not probed", () => {
  expect(holdSample(twin, { wallMs: 12, cpuMs: 7 })).toEqual({ hold: 12, holdCpu: 7 });
  expect(() => holdSample(twin, undefined)).toThrow("measuring job-probed");
});
