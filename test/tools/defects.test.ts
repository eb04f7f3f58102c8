// The table of the originals' defects is made only of tests that exist.
import { expect, test } from "vitest";
import { defectTable } from "../../tools/generate/defects.ts";

const data = `
fortsa:
  - defect: it forgets
    shownBy: { test/a.test.ts: [remembers] }
  - defect: it sleeps
    notHere: nothing sleeps
`;
const table = (text: string, files: Readonly<Record<string, string>>): string => defectTable(text, (file) => files[file] ?? "");

test("each defect has its number, and its tests or why there are none", () => {
  const page = table(data, { "test/a.test.ts": 'test("it remembers for ever", () => {});' });
  expect(page).toContain("| 1 | it forgets | [test/a.test.ts](../../test/a.test.ts): remembers |");
  expect(page).toContain("| 2 | it sleeps | nothing sleeps |");
});

test.each([
  ["a file that is gone", {}],
  ["another title", { "test/a.test.ts": 'test("it forgets", () => {});' }],
  ["a title in a comment", { "test/a.test.ts": '// "it remembers"' }],
  ["a title in a table", { "test/a.test.ts": 'const rows = [["it remembers"]];' }],
])("%s fails", (_, files) => {
  expect(() => table(data, files)).toThrow("test/a.test.ts: remembers");
});

test.each(['it("it remembers", f)', 'describe("it remembers", f)', 'test.each([1])("it remembers %i", f)', 'it.for(rows)("it remembers $how", f)'])(
  "%s is a test",
  (text) => {
    expect(() => table(data, { "test/a.test.ts": text })).not.toThrow();
  },
);

test("a defect without a test and without a reason fails", () => {
  expect(() => table("fortsa: [{ defect: it forgets }]", {})).toThrow("a defect needs a test");
});
