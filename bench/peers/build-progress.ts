// Runs what builds a peer, and says now and then how far it has come: a silent minute looks like a broken one.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** What to run. */
export interface Build {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Says a line. */
  readonly say: (text: string) => void;
  /** Between two lines; default 15 s. */
  readonly everyMs?: number;
}

/** Runs it to its end. The builder's own lines are counted and the latest is said; if it fails, its last lines are the error. */
export async function runBuild({ file, args, cwd, say, everyMs = 15_000 }: Build): Promise<void> {
  const child = spawn(file, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "close");
  const last: string[] = [];
  let lines = 0;
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on("line", (line) => {
      lines += 1;
      last.push(line.trim());
      if (last.length > 20) last.shift();
    });
  }
  const timer = setInterval(() => say(`  ${file}: ${lines} steps so far, now at: ${(last.at(-1) ?? "its beginning").slice(0, 100)}`), everyMs);
  try {
    const [code] = await exited;
    if (code !== 0) throw new Error(`${file} ${args.join(" ")} in ${cwd} ended with ${code}:\n${last.join("\n")}`);
  } finally {
    clearInterval(timer);
  }
}
