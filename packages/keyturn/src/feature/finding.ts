// What `keyturn doctor` finds: one sentence each, and what to do about it.

/** How bad it is. `fail` keeps something from working; `warn` may, or could not be checked. */
type Level = "ok" | "warn" | "fail";

/** One thing that was checked. */
export interface Finding {
  /** What was checked, such as `rights`. */
  readonly check: string;
  readonly level: Level;
  /** One sentence. Never secret. */
  readonly message: string;
  /** What to do about it; absent if nothing needs to be done. */
  readonly todo?: string;
}

/** As it should be. */
export function ok(check: string, message: string): Finding {
  return { check, level: "ok", message };
}

/** May be wrong, or could not be checked. */
export function warn(check: string, message: string, todo: string): Finding {
  return { check, level: "warn", message, todo };
}

/** Is wrong. */
export function fail(check: string, message: string, todo: string): Finding {
  return { check, level: "fail", message, todo };
}
