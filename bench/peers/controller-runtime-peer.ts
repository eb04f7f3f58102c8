// Builds the Go contestant, once per content.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runBuild } from "./build-progress.ts";
import { cachedPeer } from "./peer-cache.ts";

const folder = join(import.meta.dirname, "controller-runtime");
const goMod = readFileSync(join(folder, "go.mod"), "utf8");

/** The version that go.mod pins, without its `v`. */
export const controllerRuntimeVersion = /sigs\.k8s\.io\/controller-runtime v(\S+)/.exec(goMod)?.[1] ?? "unknown";

/** The path of the built program. */
export async function controllerRuntimePeer(say: (text: string) => void): Promise<string> {
  const source = { name: "controller-runtime", folder, files: ["go.mod", "go.sum", "job.go", "main.go", "react.go", "start.go", "sync.go"] };
  const built = await cachedPeer(source, async (draft) => {
    say("building the controller-runtime peer (once; a few minutes)");
    await runBuild({ file: "go", args: ["build", "-v", "-mod=readonly", "-trimpath", "-o", join(draft, "peer"), "."], cwd: folder, say });
  });
  return join(built, "peer");
}
