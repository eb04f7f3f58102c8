// What the page knows about its connection, and what it does when that changes: one state machine, no timers of its own.

/** The states. `login` waits for a person; the others go on by themselves. */
export type Connection =
  | { readonly state: "connecting"; readonly attempt: number; readonly cutAtMs: number | undefined }
  /** `attempt` is how many tries it took. */
  | { readonly state: "live"; readonly sinceMs: number; readonly attempt: number }
  | { readonly state: "cut"; readonly attempt: number; readonly cutAtMs: number; readonly retryAtMs: number; readonly why: string }
  | { readonly state: "login"; readonly why: LoginReason; readonly message?: string };

/** Why somebody is asked for a token. */
export type LoginReason = "needed" | "wrong" | "refused" | "ended";

/** What can happen. */
export type ConnectionInput =
  | { readonly type: "opened"; readonly nowMs: number }
  /** `spread` is a number from 0 to 1, so that a thousand pages do not come back at once. */
  | { readonly type: "failed"; readonly nowMs: number; readonly why: string; readonly spread: number }
  | { readonly type: "unauthorized"; readonly hadToken: boolean }
  /** With what the server says about it. */
  | { readonly type: "forbidden"; readonly message: string }
  | { readonly type: "sessionEnded" }
  /** The time for another try has come, somebody asked for it, or gave a token. */
  | { readonly type: "retry" };

export const firstConnection: Connection = { state: "connecting", attempt: 0, cutAtMs: undefined };

const firstPauseMs = 500;
const longestPauseMs = 15_000;
const steadyMs = 10_000;

/** How long to wait before try number `attempt`, counted from 0: doubling up to a quarter of a minute, spread by half. */
export function pauseMs(attempt: number, spread: number): number {
  const most = Math.min(longestPauseMs, firstPauseMs * 2 ** attempt);
  return most / 2 + (most / 2) * spread;
}

/** The state after an input. */
export function stepConnection(connection: Connection, input: ConnectionInput): Connection {
  switch (input.type) {
    case "opened":
      return { state: "live", sinceMs: input.nowMs, attempt: connection.state === "connecting" ? connection.attempt : 0 };
    case "failed":
      return cut(connection, input);
    case "unauthorized":
      return { state: "login", why: input.hadToken ? "wrong" : "needed" };
    case "forbidden":
      return { state: "login", why: "refused", message: input.message };
    case "sessionEnded":
      return { state: "login", why: "ended" };
    case "retry":
    default:
      return retry(connection);
  }
}

function cut(connection: Connection, { nowMs, why, spread }: Extract<ConnectionInput, { type: "failed" }>): Connection {
  const cutAtMs = connection.state === "connecting" ? (connection.cutAtMs ?? nowMs) : nowMs;
  const attempt = attemptAfter(connection, nowMs);
  return { state: "cut", attempt, cutAtMs, retryAtMs: nowMs + pauseMs(attempt, spread), why };
}

/** A connection that held for a while was a good one. One that breaks at once counts as another failed try, or a server that is unwell would never be left alone. */
function attemptAfter(connection: Connection, nowMs: number): number {
  if (connection.state === "live") return nowMs - connection.sinceMs < steadyMs ? connection.attempt + 1 : 0;
  return connection.state === "connecting" ? connection.attempt : 0;
}

function retry(connection: Connection): Connection {
  switch (connection.state) {
    case "cut":
      return { state: "connecting", attempt: connection.attempt + 1, cutAtMs: connection.cutAtMs };
    case "login":
      return firstConnection;
    case "connecting":
    case "live":
    default:
      return connection;
  }
}
