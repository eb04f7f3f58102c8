// Makes the Python environment that tests of relying parties use, and prints its interpreter. It is kept in the cache; pip's own settings say where packages
// come from. What is installed is named here, to the last package, and changes only with this file.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const packages = ["PyJWT==2.15.1", "cryptography==50.0.2", "cffi==2.1.1", "pycparser==3.12"];

const cache = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "keyturn", "python");
const environment = join(
  cache,
  createHash("sha256")
    .update([interpreter(), ...packages].join("\n"))
    .digest("hex")
    .slice(0, 16),
);
const python = join(environment, "bin", "python");

if (!existsSync(environment)) makeEnvironment();
process.stdout.write(`${python}\n`);

/** Which Python this is, and where: another one needs an environment of its own. Refuses one that is too old, or cannot make environments. */
function interpreter(): string {
  const question = "import sys, venv, ensurepip; assert sys.version_info >= (3, 9), sys.version; print(sys.version, sys.base_prefix)";
  try {
    return execFileSync("python3", ["-c", question], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (cause) {
    throw new Error("missing: Python 3.9 or newer with venv (tests need it); Debian's package is python3-venv, Homebrew's python", { cause });
  }
}

/** What has the folder's name is whole: it gets its name last. Nothing but the interpreter is run from it, so it may move. */
function makeEnvironment(): void {
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, "draft-"));
  try {
    process.stderr.write(`installing ${packages.slice(0, 2).join(" and ")} for Python (once)\n`);
    const install = ["-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet", "--only-binary=:all:", ...packages];
    run("python3", ["-m", "venv", draft]);
    run(join(draft, "bin", "python"), install);
    // Somebody else may have been faster.
    if (!existsSync(environment)) renameSync(draft, environment);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** What it says goes where people see it, and not into the result. */
function run(program: string, words: readonly string[]): void {
  execFileSync(program, words, { stdio: ["ignore", process.stderr.fd, process.stderr.fd] });
}
