import { defineConfig } from "vitest/config";

// The first start of a real API server may have to build it.
export default defineConfig({ test: { testTimeout: 600_000, hookTimeout: 600_000 } });
