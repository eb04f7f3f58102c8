// What `/healthz` and `/readyz` say, from what checks, watches and controllers say.
import type { WatchStatus } from "../cache/caches.ts";
import { redactText } from "./redact.ts";

/** One line of a report. `failed` makes the whole report fail, `waiting` is only shown. */
export interface HealthLine {
  readonly name: string;
  readonly verdict: "ok" | "waiting" | "failed";
  readonly detail?: string;
}

/** Looks at one thing and tells how it is. What it throws counts as failed. */
export type HealthCheck = () => readonly HealthLine[];

/** A check that is a simple yes, or a reason why not. */
export function simpleCheck(name: string, reasonAgainst: () => string | undefined): HealthCheck {
  return () => {
    const detail = reasonAgainst();
    return [detail === undefined ? { name, verdict: "ok" } : { name, verdict: "failed", detail }];
  };
}

/** A controller as `/readyz` shows it. */
export interface ControllerHealth {
  readonly name: string;
  /** In a word or two: `leading`, `standby`, `waiting for its CRD`. */
  readonly state: string;
  readonly ready: boolean;
}

/** One line per controller. */
export function controllerCheck(controllers: () => readonly ControllerHealth[]): HealthCheck {
  return () => controllers().map(({ name, state, ready }) => ({ name: `controller ${name}`, verdict: ready ? "ok" : "failed", detail: state }));
}

/**
 * One line per watch, with its state and age. A watch that is not synced, retries or is refused fails the report;
 * one whose CRD is not installed only waits, since nothing is wrong with this process.
 */
export function watchCheck(statuses: () => readonly WatchStatus[]): HealthCheck {
  return () => statuses().map(watchLine);
}

function watchLine({ resource, namespace, state, synced, objects, quietForMs }: WatchStatus): HealthLine {
  const name = `watch ${resource}${namespace === undefined ? "" : ` in ${namespace}`}`;
  const facts = `${objects} objects, last heard from ${Math.round(quietForMs / 1000)} s ago`;
  if (state.type === "missing") return { name, verdict: "waiting", detail: "the API server does not serve this kind; install its CRD" };
  if (state.type === "forbidden") return { name, verdict: "failed", detail: `the right to ${state.rule} is missing` };
  if (state.type === "retrying") return { name, verdict: "failed", detail: `retrying after: ${state.error}; ${facts}` };
  return { name, verdict: state.type === "live" && synced ? "ok" : "failed", detail: `${state.type}, ${facts}` };
}

/** A finished report. */
export interface HealthReport {
  readonly ok: boolean;
  readonly text: string;
}

const marks = { ok: "[+]", waiting: "[~]", failed: "[-]" } as const;

/** Runs the checks. The text is `ok` alone unless `verbose` or something failed. */
export function healthReport(checks: readonly HealthCheck[], verbose: boolean): HealthReport {
  const lines = checks.flatMap((check): readonly HealthLine[] => {
    try {
      return check();
    } catch (error) {
      return [{ name: "check", verdict: "failed", detail: `a check threw: ${String(error)}` }];
    }
  });
  const ok = lines.every(({ verdict }) => verdict !== "failed");
  if (ok && !verbose) return { ok, text: "ok\n" };
  const body = lines.map(({ name, verdict, detail }) => `${marks[verdict]} ${name}${detail === undefined ? "" : `: ${redactText(detail)}`}\n`);
  return { ok, text: `${body.join("")}${ok ? "ok" : "failed"}\n` };
}
