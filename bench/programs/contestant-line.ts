// How a contestant talks to the benchmark: lines of JSON on standard output; it ends when its standard input does.

/** Prints one line. */
export function report(line: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** Ends this process when the benchmark closes its input or dies. */
export function endWithInput(): void {
  process.stdin.resume().on("end", () => process.exit(0));
}
