// For `setupFiles` of vitest, or to be imported: every property test draws the same values in each run, so that a change fails or does not, and nobody's run by chance.
import * as fc from "fast-check";

/** `SEED=7 npx vitest run --project unit` plays others. A test that names a seed itself keeps it. */
fc.configureGlobal({ seed: Number(process.env["SEED"] ?? 1) });
