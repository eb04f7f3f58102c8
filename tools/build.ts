// Bundles the program into one file, dist/keyturn.mjs, for the image. The same input gives the same bytes.
import { chmod, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const outfile = `${root}dist/keyturn.mjs`;

await build({
  absWorkingDir: root,
  entryPoints: ["packages/keyturn/src/main.ts"],
  outfile,
  bundle: true,
  platform: "node",
  target: "node24",
  format: "esm",
  minifySyntax: true,
  legalComments: "none",
  // CommonJS dependencies ask for Node's built-in modules through `require`, which ES modules lack.
  banner: {
    js: '#!/usr/bin/env -S node --max-semi-space-size=2\nimport { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  },
});
await chmod(outfile, 0o755);
console.log(`dist/keyturn.mjs: ${Math.round((await stat(outfile)).size / 1024)} kB`);
