// For `setupFiles` of vitest: properties are tried with the same values in every run. `SEED=42` draws others.
import { configureGlobal } from "fast-check";

configureGlobal({ seed: Number(process.env["SEED"] ?? 1) });
