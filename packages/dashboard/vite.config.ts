// How the page is built: static files with hashed names, nothing inline, nothing from elsewhere.
import { defineConfig } from "vite";

export default defineConfig({
  // Relative, so that the page also works behind a path of an ingress or `kubectl proxy`.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2023",
    // The policy of the server allows no data: or inline sources, so every asset is a file of its own.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
