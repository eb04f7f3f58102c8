// Diagnostics as a part of the operator's process: on a signal, which only those can send who may do anything to the process anyway.
import { type Clock, type Runnable, type RunnableHost, type Logger, sleep } from "@keyturn/runtime";
import { textFlag } from "../feature/flag.ts";

/** What the runnable is made from. */
interface DiagnosticsOptions {
  /** Undefined or empty: the signal is answered by a line in the log, and nothing is written. */
  readonly folder: string | undefined;
  /** Calls `take` whenever diagnostics are asked for, until what it returns is called. */
  readonly onRequest: (take: () => void) => () => void;
  /** Default 10,000. */
  readonly profileMs?: number;
}

/** SIGUSR2: Node keeps SIGUSR1 for its debugger. Without a listener it would end the process. */
export function onDiagnosticsSignal(take: () => void): () => void {
  process.on("SIGUSR2", take);
  return () => void process.off("SIGUSR2", take);
}

/** A runnable that needs no more than this of its host. */
interface DiagnosticsRunnable extends Runnable {
  start(host: Pick<RunnableHost, "clock" | "log">): Promise<AsyncDisposable>;
}

/** Takes one capture at a time. */
export function diagnosticsRunnable({ folder, onRequest, profileMs = 10_000 }: DiagnosticsOptions): DiagnosticsRunnable {
  return {
    start({ clock, log }) {
      const ended = new AbortController();
      let running: Promise<void> | undefined;
      const stop = onRequest(() => {
        if (!folder) return log.warn({}, "diagnostics were asked for, but --diagnostics-dir says nowhere to write them to");
        if (running) return log.warn({}, "diagnostics were asked for, but are being taken already");
        running = takeCapture(folder, { clock, log, profileMs, signal: ended.signal }).finally(() => (running = undefined));
      });
      return Promise.resolve({
        async [Symbol.asyncDispose]() {
          stop();
          ended.abort();
          await running;
        },
      });
    },
  };
}

interface CaptureScope {
  readonly clock: Clock;
  readonly log: Logger;
  readonly profileMs: number;
  readonly signal: AbortSignal;
}

/** Never rejects: what goes wrong is no reason for the operator to end. */
async function takeCapture(folder: string, { clock, log, profileMs, signal }: CaptureScope): Promise<void> {
  log.info({ folder, profileMs }, "taking diagnostics: a CPU profile, and then a heap snapshot, during which the process stands still");
  const name = `keyturn-${new Date(clock.now()).toISOString().replaceAll(":", "-")}-${process.pid}`;
  try {
    // Node's inspector is loaded only for those who ask.
    const { capture } = await import("./capture.ts");
    const files = await capture({ folder, name, profiled: () => sleep(clock, profileMs, signal) });
    log.info({ files }, "diagnostics are written; the heap snapshot has secrets in it and must be kept as one");
  } catch (err) {
    if (!signal.aborted) log.error({ err }, "diagnostics could not be written");
  }
}

// Where a look into the process is written to, as a flag of `keyturn run`.

export const diagnosticsFlags = {
  diagnosticsDir: textFlag({
    name: "diagnostics-dir",
    group: "Logging",
    placeholder: "FOLDER",
    help: "on SIGUSR2, write a CPU profile of 10 s and a heap snapshot into this folder; a heap snapshot has secrets in it; otherwise nothing is written",
  }),
};
