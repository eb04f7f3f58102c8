// Every flag that is on or off, of every command, through the parser that people use.
import { describe, expect, it } from "vitest";
import { negationOf, readFlags } from "../feature/flag.ts";
import { type CommandEntry, commands, runProgram } from "./program.ts";
import type { Console } from "./command-line.ts";

/** Types a command line: the exit code, what was said, and what the command would have been run with. */
async function typed(...words: readonly string[]) {
  let text = "";
  let ran: { readonly given: Readonly<Record<string, string | undefined>>; readonly args: readonly string[] } | undefined;
  const say = (more: string): void => void (text += more);
  const console: Console = { environment: {}, out: say, err: say, height: () => undefined, signal: new AbortController().signal };
  const entries = commands.map((entry): CommandEntry => ({ ...entry, run: (given, _console, args) => void (ran = { given, args }) }));
  return { code: await runProgram(words, console, entries), text, ran };
}

const named = commands.map(({ usage, flags }) => {
  const [name = "", argument] = usage.split(" ");
  return { name, flags, args: argument === undefined ? [] : ["something"] };
});
const switches = named.flatMap(({ name, flags, args }) => flags.filter(({ standsAlone }) => standsAlone).map((flag) => ({ name, args, flag })));

describe.each(switches)("keyturn $name, $flag.name", ({ name, args, flag }) => {
  const valueAfter = async (...words: readonly string[]): Promise<unknown> => {
    const { code, text, ran } = await typed(name, ...words, ...args);
    expect({ code, text, args: ran?.args }).toEqual({ code: 0, text: "", args });
    return readFlags({ flag }, ran?.given ?? {}, {}).flag;
  };

  it("is on or off as it is said, and never takes the word after it", async () => {
    expect(await valueAfter()).toBe(flag.default === "true");
    expect(await valueAfter(`--${flag.name}`)).toBe(true);
    expect(await valueAfter(`--${negationOf(flag)}`)).toBe(false);
    expect(await valueAfter(`--${flag.name}=true`)).toBe(true);
    expect(await valueAfter(`--${flag.name}=false`)).toBe(false);
    expect(await valueAfter(`--${flag.name}`, `--${negationOf(flag)}`)).toBe(false);
    if (flag.short !== undefined) {
      expect(await valueAfter(`-${flag.short}`)).toBe(true);
      expect(await valueAfter(`-${flag.short}=false`)).toBe(false);
    }
  });

  it("is refused in one line with anything else", async () => {
    const { code, text } = await typed(name, `--${flag.name}=perhaps`, ...args);
    expect({ code, text }).toEqual({ code: 2, text: `keyturn: --${flag.name}: "perhaps" is neither true nor false\n` });
  });
});

it.each(named)("keyturn $name runs as it stands, and its defaults are good", async ({ name, args, flags }) => {
  const { code, ran } = await typed(name, ...args);
  expect(code).toBe(0);
  expect(ran?.given).toEqual({});
  for (const flag of flags) readFlags({ flag }, ran?.given ?? {}, {});
});

it.each([
  [["status", "-A", "signing-key"], { "all-namespaces": "true" }, ["signing-key"]],
  [["status", "-Ao", "json"], { "all-namespaces": "true", output: "json" }, []],
  [["status", "-Aojson", "signing-key"], { "all-namespaces": "true", output: "json" }, ["signing-key"]],
  [["status", "-wA", "signing-key"], { "all-namespaces": "true", watch: "true" }, ["signing-key"]],
  [["plan", "-A", "signing-key"], { "all-namespaces": "true" }, ["signing-key"]],
  [["plan", "--watch", "sidecars", "--no-sidecars.opt-in"], { watch: "true", "sidecars.opt-in": "false" }, ["sidecars"]],
  [["history", "-A", "signing-key"], { "all-namespaces": "true" }, ["signing-key"]],
  [["status", "-n=shop", "signing-key"], { namespace: "shop" }, ["signing-key"]],
  [["status", "-n", "shop", "-o=json"], { namespace: "shop", output: "json" }, []],
  // What stands after a flag with a value is its value, whatever it looks like.
  [["checksum", "--file", "--force=false", "announce"], { file: "--force=false" }, ["announce"]],
  [["history", "--", "--watch=false"], {}, ["--watch=false"]],
])("%o", async (words, given, args) => {
  expect((await typed(...words)).ran).toEqual({ given, args });
});

it.each([
  ["-n=", '""'],
  ["--namespace==shop", '"=shop"'],
  ["--namespace=Shop", '"Shop"'],
  ["--namespace=shop-", '"shop-"'],
])("no namespace is called so: %s", async (word, shown) => {
  const entry = commands.find(({ usage }) => usage.startsWith("status"));
  const { ran } = await typed("status", word);
  const flag = entry?.flags.find(({ name }) => name === "namespace");
  expect(() => flag && readFlags({ flag }, ran?.given ?? {}, {})).toThrow(`--namespace: ${shown} cannot be the name of a namespace`);
});

it.each(named)("the help of keyturn $name shows how to switch off what is on", async ({ name, flags }) => {
  const { text } = await typed(name, "--help");
  expect(text).not.toContain("preset");
  expect(text).not.toContain("true|false");
  for (const flag of flags) expect(text).toContain(flag.standsAlone && flag.default === "true" ? `--[no-]${flag.name}` : `--${flag.name}`);
});

describe("help", () => {
  const entries = commands.map(({ usage, summary, group, examples }) => ({ name: usage.split(" ")[0] ?? "", summary, group, examples }));

  it.each([[[]], [["help"]], [["--help"]], [["-h"]]])("%j lists every command in one line of 80 columns under its heading", async (words) => {
    const { code, text } = await typed(...words);
    expect(code).toBe(0);
    for (const { name, summary, group } of entries) {
      const line = text.split("\n").find((each) => each.startsWith(`  ${name} `)) ?? "";
      expect(line.trimEnd().endsWith(summary)).toBe(true);
      expect(line.length).toBeLessThanOrEqual(80);
      expect(text).toContain(`\n${group}:\n`);
    }
  });

  it.each(entries)("keyturn help $name is keyturn $name --help, with examples that the parser takes", async ({ name, examples }) => {
    const { code, text } = await typed("help", name);
    expect(code).toBe(0);
    expect(await typed(name, "--help")).toMatchObject({ code: 0, text });
    expect(examples.length).toBeGreaterThan(0);
    for (const [does, words] of examples) {
      expect(text).toContain(`  # ${does}\n  keyturn ${words}\n`);
      const [command = ""] = words.split(/ (?:\||\|\||&&|>) /);
      const typedWords = (command.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ""));
      expect(await typed(...typedWords)).toMatchObject({ code: 0, text: "" });
    }
  });

  it("no line of it is wider than the terminal, but for what cannot be broken", async () => {
    for (const { name } of entries) {
      const { text } = await typed("help", name);
      const tooWide = text
        .split("\n")
        .filter((line) => line.length > 100 && line.trim().includes(" ") && !line.startsWith("  keyturn ") && !line.startsWith("  # "));
      expect(tooWide).toEqual([]);
    }
  });

  it("of a command that there is not is refused", async () => {
    expect(await typed("help", "fly")).toMatchObject({ code: 2, text: "keyturn: unknown command 'fly'\n" });
  });

  it("has the flags of run in groups", async () => {
    const { text } = await typed("help", "run");
    for (const group of ["Connection", "Leader election", "Serving", "Logging", "Notifications", "Controller rotation"])
      expect(text).toContain(`\n${group}:\n`);
  });
});

describe("the name of a key that begins with a dash, as one in 64 does", () => {
  const kid = "-nZk1q0J3mB4x_QYc8v7uR2tWsE5dFgHjKlPoIiUyTr";

  it.each([
    ["revoke", kid, "--yes", "-n", "shop"],
    ["revoke", "-n", "shop", kid, "--yes"],
    ["revoke", "-nshop", "--yes", kid],
    ["revoke", "-nshop", "--yes", "--", kid],
  ])("is no flag: %s %s %s %s %s", async (...words) => {
    expect(await typed(...words)).toMatchObject({ code: 0, text: "", ran: { given: { yes: "true", namespace: "shop" }, args: [kid] } });
  });

  it.each(["-Zzzz", `-${"z".repeat(42)}`, `--${"z".repeat(41)}`])("is no other word of that sort: %s", async (word) => {
    expect(await typed("revoke", "x", word)).toMatchObject({ code: 2, ran: undefined });
  });

  it("is no namespace of that length", async () => {
    const namespace = "z".repeat(41);
    expect(await typed("revoke", "x", `-n${namespace}`)).toMatchObject({ code: 0, ran: { given: { namespace }, args: ["x"] } });
  });
});
