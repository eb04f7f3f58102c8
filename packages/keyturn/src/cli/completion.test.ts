import { describe, expect, it } from "vitest";
import { choiceFlag, negationOf, switchFlag, textFlag } from "../feature/flag.ts";
import { commands } from "./program.ts";
import { type CompletedCommand, completionOf } from "./completion.ts";

const small: readonly CompletedCommand[] = [
  {
    usage: "plan <subject>",
    summary: "show it",
    flags: [
      textFlag({ name: "namespace", short: "n", help: "where" }),
      choiceFlag({ name: "output", short: "o", choices: ["table", "json"], default: "table", help: "how" }),
      switchFlag({ name: "watch", short: "w", default: false, help: "go on" }),
      textFlag({ name: "kubeconfig", placeholder: "FILE", help: "which" }),
    ],
  },
  { usage: "crds", summary: "print them", flags: [] },
  { usage: "serve", summary: "serve it", flags: [switchFlag({ name: "elect", default: true, help: "elect" })] },
];

function words(...typed: readonly string[]): readonly string[] | string {
  const completion = completionOf(typed, small, []);
  return completion.type === "words" ? completion.candidates.map(({ word }) => word) : completion.type;
}

describe("what can be typed next", () => {
  it.each([
    [[""], ["plan", "crds", "serve", "help"]],
    [
      ["serve", "--"],
      ["--elect", "--no-elect", "--help"],
    ],
    [["serve", "--no-elect", "--"], ["--help"]],
    [["serve", "--elect", "--"], ["--help"]],
    [["pl"], ["plan"]],
    [
      ["plan", "--"],
      ["--namespace", "--output", "--watch", "--kubeconfig", "--help"],
    ],
    [
      ["plan", "-o", "json", "--watch", "--"],
      ["--namespace", "--kubeconfig", "--help"],
    ],
    [["plan", "--output=json", "--o"], []],
    [["plan", "-o", "j"], ["json"]],
    [["plan", "--output=j"], ["--output=json"]],
    [["plan", "--watch=t"], ["--watch=true"]],
    [["plan", "--watch", "x"], "names"],
    [["plan", "--no-watch", "x"], "names"],
    [["plan", "--no-watch", "--w"], []],
    [["plan", "-wo", "j"], ["json"]],
    [["plan", "-wo", "json", ""], "names"],
    [["plan", "-n", ""], "names"],
    [["plan", "--namespace=x"], "names"],
    [["plan", "--kubeconfig", ""], "files"],
    [["plan", ""], "names"],
    [["plan", "-n", "shop", ""], "names"],
    [["plan", "signing", ""], []],
    [["crds", ""], []],
    [["help", "p"], ["plan"]],
    [["help", "plan", ""], []],
    [["nothing", ""], []],
    [["plan", "--nothing=x"], []],
  ])("%o", (typed, expected) => {
    expect(words(...typed)).toEqual(expected);
  });
});

it("every command and every flag of the program can be completed", () => {
  for (const { usage, flags } of commands) {
    const [name = ""] = usage.split(" ");
    const offered = completionOf([name, "--"], commands, []);
    expect(offered.type === "words" && offered.candidates.map(({ word }) => word)).toEqual([
      ...flags.flatMap((flag) => (flag.default === "true" && flag.standsAlone ? [`--${flag.name}`, `--${negationOf(flag)}`] : [`--${flag.name}`])),
      "--help",
    ]);
  }
});
