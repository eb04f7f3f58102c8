// Bundles our programs the way the image's is bundled: the peers are compiled too, and unbuilt TypeScript costs a process some 35 MB and 0.4 s.
import { join } from "node:path";
import { build } from "esbuild";
import { nodeProgram, requireBanner } from "../../tools/build/node-program.ts";

const folder = join(import.meta.dirname, "..", "..", "dist", "bench");

/** Bundles the programs into `dist/bench` and resolves to that folder. */
export async function bundlePrograms(programs: readonly string[]): Promise<string> {
  await build({
    entryPoints: programs.map((program) => join(import.meta.dirname, `${program}.ts`)),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    ...nodeProgram,
    banner: { js: requireBanner },
  });
  return folder;
}
