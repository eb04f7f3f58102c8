// How the page is built: static files with hashed names, nothing inline, nothing from elsewhere.
import { defineConfig } from "vite";

export default defineConfig({
  // Relative, so that the page also works below a path, such as that of an ingress.
  base: "./",
  // Never the development form, which has the paths of source files in it: tests build the page too, with NODE_ENV=test.
  oxc: { jsx: { runtime: "automatic", importSource: "preact", development: false } },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2023",
    // The server's policy allows nothing inline, so every asset is a file of its own.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
