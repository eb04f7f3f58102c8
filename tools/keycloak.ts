// Gets the Keycloak that tests of OpenID registration can run against, as a Maven artifact, and prints the folder that it was unpacked to. It is kept in the
// cache: Maven's own settings say where it comes from, and nothing is unpacked whose digest is not the one below.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

const version = "26.5.0";
const sha256 = "76e2cd7c33abfcbb9058ea7ff28fee02f3ae9599633f96855e1734570f44daf0";
const name = `keycloak-quarkus-dist-${version}.tar.gz`;
const plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy";

const cache = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "keyturn", "keycloak");
const home = join(cache, version);

if (!(await exists(home))) await fetchTo(home);
process.stdout.write(`${home}\n`);

/** Fetches the distribution. What is in the folder is whole: it gets its name last. */
async function fetchTo(folder: string): Promise<void> {
  for (const program of ["mvn", "java", "tar"]) assertInstalled(program);
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(join(cache, "draft-"));
  try {
    process.stderr.write(`fetching Keycloak ${version} with Maven (once, 164 MB)\n`);
    run("mvn", ["-q", "-B", plugin, `-Dartifact=org.keycloak:keycloak-quarkus-dist:${version}:tar.gz`, `-DoutputDirectory=${draft}`]);
    const found = await digestOf(join(draft, name));
    if (found !== sha256) throw new Error(`${name} has the digest ${found}, not ${sha256}: it was not unpacked`);
    run("tar", ["-xzf", join(draft, name), "-C", draft]);
    // Once here instead of at every start.
    run(join(draft, `keycloak-${version}`, "bin", "kc.sh"), ["build", "--db=dev-file"]);
    await rename(join(draft, `keycloak-${version}`), folder);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

function assertInstalled(program: string): void {
  try {
    execFileSync("/bin/sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
  } catch (cause) {
    throw new Error(`${program} is missing: Keycloak needs Java 17 or newer, and Maven to be fetched`, { cause });
  }
}

/** What it says goes where people see it, and not into the result. */
function run(program: string, words: readonly string[]): void {
  execFileSync(program, words, { stdio: ["ignore", process.stderr.fd, process.stderr.fd] });
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
