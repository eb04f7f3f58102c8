// No regular expression of the product takes more than linear time, whatever text it is given. Every literal and every expression that is put
// together is checked by recheck. A check takes up to ten seconds, so the verdicts are kept beside this file; an expression without one is checked now.
// To keep the verdicts of new ones: RECHECK=new npx vitest run test/tenants/regular-expressions.test.ts; to check all of them again, RECHECK=all.
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkSync } from "recheck";
import { parseSync } from "vite";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const recorded = fileURLToPath(new URL("regular-expressions.json", import.meta.url));
const isProduct = (file: string): boolean => !/\.(?:test|fixture)\.|\/testing\//.test(file);

/** Expressions of which recheck does not say that they are linear, by how they begin, each with the reason why it may stay. */
const justified: Readonly<Record<string, string>> = {
  "/^-+|-+$/g": "the name of an Event: cut to 200 characters before",
  "/^[.-]+|[.-]+$/g": "the flag of whoever runs the agent, or its host's name",
  '/User "[^"\\n]{1,256}" cannot':
    "no verdict in 20 s. It reads 10,000 characters at most; of 11,700 hostile texts of that length the slowest took 20 ms",
};
const justifies = (text: string): boolean => Object.keys(justified).some((start) => text.startsWith(start));

/** Written out in the source, by their text such as `/a+/g`: where. */
function literals(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const visit = (file: string, node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    if ("regex" in node && "raw" in node && typeof node.raw === "string") found.set(node.raw, file);
    for (const [name, value] of Object.entries(node)) if (name !== "regex") visit(file, value);
  };
  for (const file of globSync("packages/*/src/**/*.{ts,tsx}", { cwd: root }).filter(isProduct)) {
    visit(file, parseSync(file, readFileSync(join(root, file), "utf8")).program);
  }
  return found;
}

/** Put together while the product is loaded: by the product's own call of `new RegExp`, not by a dependency's. */
async function composed(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const original = globalThis.RegExp;
  globalThis.RegExp = new Proxy(original, {
    construct(target, given: [string | RegExp, string?], newTarget) {
      const made: unknown = Reflect.construct(target, given, newTarget);
      const caller = new Error("where").stack?.split("\n").find((line, index) => index > 1 && !line.includes(import.meta.url)) ?? "";
      const file = /packages\/\w+\/src\/[^:)?]+/.exec(caller)?.[0];
      if (file !== undefined) found.set(String(made), file);
      return Object(made) as RegExp;
    },
  });
  try {
    await import("../../packages/keyturn/src/cli/program.ts");
  } finally {
    globalThis.RegExp = original;
  }
  return found;
}

function verdictOf(expression: string): string {
  const { pattern = "", flags = "" } = /^\/(?<pattern>.*)\/(?<flags>[a-z]*)$/s.exec(expression)?.groups ?? {};
  const result = checkSync(pattern, flags, { timeout: 120_000 });
  if (result.status === "vulnerable") return `${result.complexity.summary}, such as for ${result.attack.pattern}`;
  return result.status === "safe" ? "linear" : `unknown: ${result.error.kind}`;
}

test("every regular expression takes linear time", async () => {
  const expressions = new Map([...(await composed()), ...literals()]);
  // As many as there were when this was written, or the search finds nothing.
  expect(expressions.size).toBeGreaterThan(150);
  const known = process.env["RECHECK"] === "all" ? {} : (JSON.parse(readFileSync(recorded, "utf8")) as Readonly<Record<string, string>>);
  const verdicts = Object.fromEntries([...expressions.keys()].toSorted().map((text) => [text, known[text] ?? verdictOf(text)]));
  if (process.env["RECHECK"]) writeFileSync(recorded, `${JSON.stringify(verdicts, null, 1)}\n`);
  const slow = Object.entries(verdicts).filter(([text, verdict]) => verdict !== "linear" && !justifies(text));
  expect(slow.map(([text, verdict]) => `${expressions.get(text)}: ${text} is ${verdict}`)).toEqual([]);
  const needed = Object.keys(justified).filter((start) =>
    Object.entries(verdicts).some(([text, verdict]) => text.startsWith(start) && verdict !== "linear"),
  );
  expect(needed).toEqual(Object.keys(justified));
});

test("an expression that is not linear is found", () => {
  expect(verdictOf("/^(a+)+$/")).not.toBe("linear");
  expect(verdictOf(String.raw`/\s*\n\s*/g`)).not.toBe("linear");
  expect(verdictOf("/^a+$/")).toBe("linear");
});
