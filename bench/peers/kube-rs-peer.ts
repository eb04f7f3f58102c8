// Builds the Rust contestant, once per content.
import { copyFileSync, cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runBuild } from "./build-progress.ts";
import { cachedPeer } from "./peer-cache.ts";

const folder = join(import.meta.dirname, "kube-rs");

/** The version that Cargo.toml pins. */
export const kubeRsVersion = /^kube = \{ version = "=([^"]+)"/m.exec(readFileSync(join(folder, "Cargo.toml"), "utf8"))?.[1] ?? "unknown";

/** The path of the built program. */
export async function kubeRsPeer(say: (text: string) => void): Promise<string> {
  const source = { name: "kube-rs", folder, files: ["Cargo.toml", "src/main.rs", "src/job.rs", "src/react.rs", "src/readiness.rs", "src/sync.rs"] };
  const built = await cachedPeer(source, async (draft) => {
    say("building the kube-rs peer (once; a few minutes)");
    const copies = join(draft, "source");
    const target = join(draft, "target");
    // In a copy: Cargo writes its lock file beside the sources.
    cpSync(folder, copies, { recursive: true });
    await runBuild({ file: "cargo", args: ["build", "--release", "--target-dir", target], cwd: copies, say });
    copyFileSync(join(target, "release", "keyturn-bench-kube-rs"), join(draft, "peer"));
    rmSync(target, { recursive: true });
  });
  return join(built, "peer");
}
