// Each way in which rotation goes wrong when it is built naively, or goes wrong in tools that copy Secrets, and the test that shows that users do not meet it here.
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

type Proof = { readonly file: string; readonly test: string };

const here = "test/rotation";

const defects: readonly { readonly defect: string; readonly proofs: readonly Proof[] }[] = [
  {
    defect: "of two changes in a row the second becomes live before its delay is over",
    proofs: [
      { file: `${here}/questions.test.ts`, test: "what did not stay is never live, and the last one is; what was live is the fallback" },
      { file: `${here}/churn.test.ts`, test: "nothing unsettled is ever live" },
    ],
  },
  {
    defect: "the fallback always equals live, because its delay is the longer one",
    proofs: [{ file: `${here}/questions.test.ts`, test: "a lower order with the smaller delay: the displaced content is kept" }],
  },
  {
    defect: "the second target sticks when a content returns",
    proofs: [{ file: `${here}/model.test.ts`, test: "A, B and A again are three commits" }],
  },
  {
    defect: "the old value is gone the moment the new one is there",
    proofs: [{ file: `${here}/document.test.ts`, test: "the guide's example" }],
  },
  {
    defect: "copies stay, or go, whatever was wanted, when the source is deleted",
    proofs: [
      { file: `${here}/questions.test.ts`, test: "keep keeps, cascade deletes after its delay and not before" },
      { file: `${here}/questions.test.ts`, test: "and is back in time: with the same content nothing happened" },
    ],
  },
  {
    defect: "a restart in the middle of a deletion leaves orphans",
    proofs: [{ file: `${here}/questions.test.ts`, test: "while the operator is down: it is made up for" }],
  },
  {
    defect: "objects that are not the operator's are overwritten or deleted",
    proofs: [
      { file: `${here}/self-healing.test.ts`, test: "of somebody else is left alone" },
      { file: `${here}/bad-input.test.ts`, test: "a target's own object as the source: it is not written to" },
    ],
  },
  {
    defect: "a copy that was deleted by hand does not come back",
    proofs: [{ file: `${here}/self-healing.test.ts`, test: "that was edited or deleted is put back as it was" }],
  },
  {
    defect: "a watch dies silently, and nothing is copied any more",
    proofs: [
      { file: `${here}/churn.test.ts`, test: "a minute of churn with cut connections" },
      { file: `${here}/rotation.sim.test.ts`, test: "every target is right at every moment, and the last content is live" },
    ],
  },
  {
    defect: "keys that left the source stay in its copies",
    proofs: [{ file: `${here}/questions.test.ts`, test: "keys that left the source leave its copies" }],
  },
  {
    defect: "a Secret whose type changed cannot be copied any more",
    proofs: [
      { file: `${here}/kinds.test.ts`, test: "a Secret's type goes with it" },
      { file: `${here}/kinds.test.ts`, test: "an immutable source makes immutable targets" },
    ],
  },
  {
    defect: "copies carry the source's tracking labels, and are pruned or shown as out of sync",
    proofs: [{ file: `${here}/document.test.ts`, test: "has none of its labels, annotations and owners" }],
  },
  {
    defect: "a crash between two writes loses a version or writes one twice",
    proofs: [{ file: `${here}/crashes.test.ts`, test: "a crash %s every single write of a rotation" }],
  },
];

test.each(defects)("$defect: not here", async ({ proofs }) => {
  expect(proofs).not.toHaveLength(0);
  for (const proof of proofs) {
    const text = await readFile(new URL(`../../${proof.file}`, import.meta.url), "utf8");
    expect(titlesIn(text).some((title) => title.includes(proof.test))).toBe(true);
  }
});

/** The first argument of whatever looks like a test, so that a title in a table proves nothing. */
function titlesIn(text: string): readonly string[] {
  return Array.from(text.matchAll(/(?:\btest|\bdescribe|\]\)|\bconst\))\(\s*"((?:[^"\\]|\\.)*)"/g), ([, title = ""]) => title);
}
