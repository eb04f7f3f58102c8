// What `keyturn doctor` finds: one sentence each, and what to do about it.
import type { Paint, Tone } from "../text.ts";

/** How bad it is. `fail` keeps something from working; `warn` may, or could not be checked. */
type Level = "ok" | "warn" | "fail";

/** One thing that was checked. */
export interface Finding {
  /** What was checked, such as `rights`. */
  readonly check: string;
  readonly level: Level;
  /** One sentence. Never secret. */
  readonly message: string;
  /** What to do about it; absent if nothing needs to be done. */
  readonly todo?: string;
}

/** As it should be. */
export function ok(check: string, message: string): Finding {
  return { check, level: "ok", message };
}

/** May be wrong, or could not be checked. */
export function warn(check: string, message: string, todo: string): Finding {
  return { check, level: "warn", message, todo };
}

/** Is wrong. */
export function fail(check: string, message: string, todo: string): Finding {
  return { check, level: "fail", message, todo };
}

// Findings as a text for people.

const tones: Readonly<Record<Level, Tone>> = { ok: "good", warn: "doubtful", fail: "bad" };

/** One line for each finding, with what to do below it, and the count at the end. What is to be done about several is said once. */
export function findingsText(findings: readonly Finding[], paint: Paint): string {
  const widest = Math.max(0, ...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, level, message, todo }, index) => [
    `${paint(tones[level], level.padEnd(4))}  ${check.padEnd(widest)}  ${message}`,
    ...(todo === undefined || findings[index + 1]?.todo === todo ? [] : [`${" ".repeat(widest + 8)}${paint("faint", `→ ${todo}`)}`]),
  ]);
  const count = (level: Level, word: string): string => {
    const { length } = findings.filter((finding) => finding.level === level);
    return `${length} ${word}${length === 1 || level === "ok" ? "" : "s"}`;
  };
  return [...lines, "", `${count("ok", "ok")}, ${count("warn", "warning")}, ${count("fail", "failure")}`].join("\n");
}
