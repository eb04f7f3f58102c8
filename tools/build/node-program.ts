// How a program of ours is bundled for Node: the image's, and the benchmark's contestants, which must be built alike.
import http from "node:http";
import type { BuildOptions, Plugin } from "esbuild";

/** CommonJS dependencies ask for Node's built-in modules through `require`, which ES modules lack. */
export const requireBanner = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

/**
 * An `import` of node:http looks at each of its exports, and three of them are getters that load Node's fetch with all that belongs to it:
 * 8 MB and some 30 ms for every process (measured with Node 24). Asked for in another way, the same module comes without.
 */
const leanHttp: Plugin = {
  name: "lean-http",
  setup(build) {
    build.onResolve({ filter: /^(?:node:)?http$/ }, ({ kind }) => (kind === "import-statement" ? { path: "http", namespace: "lean" } : undefined));
    build.onLoad({ filter: /^http$/, namespace: "lean" }, () => {
      const plain = Object.entries(Object.getOwnPropertyDescriptors(http)).flatMap(([name, property]) => ("value" in property ? [name] : []));
      return {
        contents: `const http = process.getBuiltinModule("node:http");\nexport default http;\nexport const { ${plain.join(", ")} } = http;\n`,
      };
    });
  },
};

/** What all programs have in common. */
export const nodeProgram = {
  bundle: true,
  platform: "node",
  target: "node24",
  format: "esm",
  minifySyntax: true,
  plugins: [leanHttp],
} as const satisfies BuildOptions;
