// A temporary folder and the processes that live in it, all of which go when their owner does, however it ends.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where a program in a sandbox writes down the cgroups that it is going to make, one path a line: they go with it, like its folder. */
export const groupsFile = "cgroups";

/**
 * Waits for the end of its standard input, which only the owner holds open. The kernel closes it even after a SIGKILL.
 * Each process leads a group of its own, so its children end with it. SIGKILL also ends what is stopped (SIGSTOP). A zombie has ended: a machine whose first
 * process reaps no orphans shows them for ever. What a busy machine takes its time to end is waited for; the wait has an end all the same.
 */
const watchdogScript = `
folder=$1
runs() { kill -0 "$1" 2>/dev/null && ! grep -q ') Z ' "/proc/$1/stat" 2>/dev/null; }
while read -r line; do :; done
: > "$folder/closing"
for file in "$folder"/pids/*; do [ -f "$file" ] && kill -s KILL -- "-$(cat "$file")" 2>/dev/null; done
tries=0
for file in "$folder"/pids/*; do
  while [ -f "$file" ] && [ $tries -lt 1200 ] && runs "$(cat "$file")"; do tries=$((tries + 1)); sleep 0.05; done
done
tries=0
[ -f "$folder/${groupsFile}" ] && while read -r group; do
  while [ -d "$group" ] && [ $tries -lt 1200 ]; do
    find "$group" -depth -type d -exec rmdir {} \\; 2>/dev/null
    [ -d "$group" ] && { tries=$((tries + 1)); sleep 0.05; }
  done
done <"$folder/${groupsFile}"
rm -rf "$folder" || { sleep 1; rm -rf "$folder"; }
`;

/** Writes down its process id first and then looks whether the sandbox closes; the watchdog does it the other way round, so one of them sees the other. */
const launcherScript = `
folder=$1; name=$2; shift 2
echo $$ > "$folder/pids/$name" || exit 1
[ -e "$folder/closing" ] && exit 1
exec "$@"
`;

/** A program to run in a sandbox. */
interface Launch {
  /** Names the process within its sandbox. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Gets standard output and error, appended. */
  readonly logFile: string;
  /** Default the sandbox's folder. */
  readonly workingFolder?: string;
  /** Default the owner's. */
  readonly environment?: NodeJS.ProcessEnv;
}

/** Owns a folder and the processes started in it. Does not keep its owner alive. */
export class Sandbox {
  /** For files; only this user can read it. */
  readonly folder: string;
  readonly #watchdog: ChildProcess;
  readonly #watchdogGone: Promise<unknown>;

  constructor(prefix: string) {
    this.folder = realpathSync(mkdtempSync(join(tmpdir(), prefix)));
    mkdirSync(join(this.folder, "pids"));
    // Detached: in a session of its own, so that Ctrl-C on the owner's terminal does not end it before its work is done.
    this.#watchdog = spawn("/bin/sh", ["-c", watchdogScript, "sh", this.folder], { cwd: "/", detached: true, stdio: ["pipe", "ignore", "ignore"] });
    this.#watchdogGone = once(this.#watchdog, "exit");
    this.#watchdog.unref();
    const pipe = this.#watchdog.stdin;
    if (pipe && "unref" in pipe && typeof pipe.unref === "function") pipe.unref();
  }

  /** Starts a program. Its process id is that of the returned child. */
  launch({ name, command, args, logFile, workingFolder = this.folder, environment = process.env }: Launch): ChildProcess {
    const log = openSync(logFile, "a", 0o600);
    const child = spawn("/bin/sh", ["-c", launcherScript, "sh", this.folder, name, command, ...args], {
      cwd: workingFolder,
      env: environment,
      detached: true,
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    child.unref();
    child.once("exit", () => rmSync(join(this.folder, "pids", name), { force: true }));
    return child;
  }

  /** Kills every process and removes the folder; resolves when that is done. */
  async close(): Promise<void> {
    this.#watchdog.ref();
    this.#watchdog.stdin?.end();
    await this.#watchdogGone;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
