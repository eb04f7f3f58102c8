// How the page is built: static files with hashed names, nothing inline, nothing from elsewhere.
import { defineConfig } from "vite";

export default defineConfig({
  // Relative, so that the page also works below a path, such as that of an ingress.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
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
