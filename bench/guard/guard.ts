// The regression guard: this run's ratios next to the baseline's.
import { markdownTable } from "../report/markdown-table.ts";
import type { Baseline, GuardedRatio } from "./baseline.ts";
import { type Comparison, compareRounds } from "./comparison.ts";

/** What became of one ratio. */
export type Finding =
  | { readonly type: "compared"; readonly ratio: GuardedRatio; readonly comparison: Comparison }
  /** Measured, and not in the baseline. */
  | { readonly type: "new"; readonly ratio: GuardedRatio }
  /** In the baseline, and not measured. */
  | { readonly type: "gone"; readonly key: string };

/** Compares every ratio of the run and of the baseline. */
export function guard(ratios: readonly GuardedRatio[], baseline: Pick<Baseline, "ratios">): readonly Finding[] {
  const measured = new Set(ratios.map(({ key }) => key));
  const gone = Object.keys(baseline.ratios).filter((key) => !measured.has(key));
  return [
    ...ratios.map((ratio): Finding => {
      const before = baseline.ratios[ratio.key];
      return before ? { type: "compared", ratio, comparison: compareRounds(before, ratio.rounds) } : { type: "new", ratio };
    }),
    ...gone.map((key): Finding => ({ type: "gone", key })),
  ];
}

/** The findings that fail a run. A ratio that nobody has put into the baseline fails it too: it would never be guarded. */
export function failuresIn(findings: readonly Finding[]): readonly Finding[] {
  return findings.filter((finding) => finding.type !== "compared" || finding.comparison.worse);
}

/** The scenarios with a ratio that is worse: to be looked at a second time. */
export function suspectsIn(findings: readonly Finding[]): ReadonlySet<string> {
  return new Set(findings.flatMap((finding) => (finding.type === "compared" && finding.comparison.worse ? [finding.ratio.scenario] : [])));
}

/** The findings of two looks: what was worse the first time is as the second look says; one look is enough for the rest. */
export function afterSecondLook(first: readonly Finding[], second: readonly Finding[]): readonly Finding[] {
  const again = new Map(second.flatMap((finding) => (finding.type === "compared" ? [[finding.ratio.key, finding]] : [])));
  return first.map((finding) => (finding.type === "compared" && finding.comparison.worse ? (again.get(finding.ratio.key) ?? finding) : finding));
}

/** The findings as a table. */
export function guardTable(findings: readonly Finding[]): string {
  return markdownTable(["ratio", "baseline", "now", "at most", ""], findings.map(rowOf));
}

function rowOf(finding: Finding): readonly string[] {
  if (finding.type === "gone") return [finding.key, "", "", "", "**not measured**"];
  const name = `${finding.ratio.scenario}: ${finding.ratio.text}`;
  if (finding.type === "new") return [name, "", "", "", "**not in the baseline**"];
  const { before, now, allowed, worse } = finding.comparison;
  return [name, `${inDigits(before)}×`, `${inDigits(now)}×`, `${inDigits(before * allowed)}×`, worse ? "**worse**" : "as before"];
}

function inDigits(ratio: number): string {
  return ratio < 0.1 ? ratio.toPrecision(2) : ratio.toFixed(2);
}
