// Lists of defects of other programs, each with the tests that show that users do not meet it here; and the check that those tests exist.
import { readFile } from "node:fs/promises";
import { expect } from "vitest";

/** A test by its file, from the checkout's root, and a part of its title; or why there can be none. */
export type Proof = { readonly file: string; readonly test: string } | { readonly notHere: string };

/** The numbers are those of the project's notes on the original. */
export interface Defect {
  readonly number: number;
  readonly defect: string;
  readonly proofs: readonly Proof[];
}

/** Fails unless there is a proof, and each of them names a test that exists. */
export async function expectProven({ proofs }: Pick<Defect, "proofs">): Promise<void> {
  expect(proofs).not.toHaveLength(0);
  for (const proof of proofs) {
    if ("notHere" in proof) continue;
    const text = await readFile(new URL(`../${proof.file}`, import.meta.url), "utf8");
    // The one after `test`, so that a table of proofs does not prove itself.
    const titles = Array.from(text.matchAll(/(?:test|it|describe|\]\)|\(\w+\))\(\s*"((?:[^"\\]|\\.)*)"/g), ([, title = ""]) => title);
    expect(
      titles.filter((title) => title.includes(proof.test)),
      `${proof.file}: ${proof.test}`,
    ).not.toHaveLength(0);
  }
}
