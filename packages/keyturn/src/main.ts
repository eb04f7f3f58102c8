// The process: arguments in, exit code out.
import { runProgram } from "./cli/program.ts";

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  // The second one ends the process the hard way: nobody should have to reach for SIGKILL.
  process.once(name, () => stop.abort(new Error(`received ${name}`)));
}

process.exitCode = await runProgram(process.argv.slice(2), {
  environment: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  height: () => (process.stdout.isTTY ? process.stdout.rows : undefined),
  signal: stop.signal,
});
