// What `keyturn doctor` found, as a text for people.
import type { Finding } from "../feature/finding.ts";
import type { Paint, Tone } from "../text.ts";

const tones: Readonly<Record<Finding["level"], Tone>> = { ok: "good", warn: "doubtful", fail: "bad" };

/** One line for each finding, with what to do below it, and the count at the end. What is to be done about several is said once. */
export function findingsText(findings: readonly Finding[], paint: Paint): string {
  const widest = Math.max(0, ...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, level, message, todo }, index) => [
    `${paint(tones[level], level.padEnd(4))}  ${check.padEnd(widest)}  ${message}`,
    ...(todo === undefined || findings[index + 1]?.todo === todo ? [] : [`${" ".repeat(widest + 8)}${paint("faint", `→ ${todo}`)}`]),
  ]);
  const count = (level: Finding["level"], word: string): string => {
    const { length } = findings.filter((finding) => finding.level === level);
    return `${length} ${word}${length === 1 || level === "ok" ? "" : "s"}`;
  };
  return [...lines, "", `${count("ok", "ok")}, ${count("warn", "warning")}, ${count("fail", "failure")}`].join("\n");
}
