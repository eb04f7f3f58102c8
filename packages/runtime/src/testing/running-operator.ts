// An operator in this process, for tests: its log lines, its probes, and its end. And a bare watch, which shows what it does.
import { createLogger, loadConfig, type OperatorOptions, runOperator, type StartedOperator, type Transport } from "../index.ts";

/** An operator that runs until it is stopped. */
export interface RunningOperator extends AsyncDisposable {
  readonly logLines: readonly Readonly<Record<string, unknown>>[];
  readonly started: StartedOperator;
  /** The status and text of `/readyz?verbose`. */
  readyz(): Promise<{ readonly status: number; readonly text: string }>;
  metrics(): Promise<string>;
  /** Ends it as SIGTERM would. */
  stop(): Promise<void>;
}

/** Starts an operator on free ports with what the kubeconfig says. */
export async function startOperator(
  options: Omit<OperatorOptions, "connection" | "operator"> & { readonly kubeconfig: string; readonly operator?: OperatorOptions["operator"] },
): Promise<RunningOperator> {
  const logLines: Record<string, unknown>[] = [];
  const stop = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<StartedOperator>();
  const finished = runOperator(
    {
      operator: { name: "demo", domain: "demo.example" },
      ...options,
      connection: await loadConfig({ kubeconfig: options.kubeconfig, env: {} }),
      env: {},
      log: createLogger({ level: "debug", destination: { write: (line) => logLines.push(JSON.parse(line) as Record<string, unknown>) } }),
      metricsBindAddress: "127.0.0.1:0",
      healthBindAddress: "127.0.0.1:0",
      onStarted: resolve,
    },
    stop.signal,
  );
  finished.catch(reject);
  const started = await promise;
  const end = async (): Promise<void> => {
    stop.abort();
    await finished;
  };
  return {
    logLines,
    started,
    async readyz() {
      const response = await fetch(`${started.healthUrl}/readyz?verbose`);
      return { status: response.status, text: await response.text() };
    },
    metrics: async () => (await fetch(`${started.metricsUrl}/metrics`)).text(),
    stop: end,
    [Symbol.asyncDispose]: end,
  };
}

// A bare watch through a transport: its events as they come, without any of the runtime's own recovery.

/** An event, as far as these tests look. */
export interface Line {
  readonly type: string;
  readonly object: {
    readonly code?: number;
    readonly metadata?: { readonly name?: string; readonly annotations?: Readonly<Record<string, string>> };
  };
}

/** Events of a watch in arrival order; `ended` resolves to how it ended. */
export interface OpenWatch {
  readonly lines: readonly Line[];
  readonly ended: Promise<"end" | Error>;
}

/** Opens the watch and reads on by itself. */
export async function openWatch(transport: Transport, path: string): Promise<OpenWatch> {
  const { status, body } = await transport.send({ method: "GET", path, lane: "watch" });
  if (status !== 200) throw new Error(`watching ${path}: ${status}`);
  const lines: Line[] = [];
  const read = async (): Promise<"end" | Error> => {
    let rest = "";
    try {
      for await (const chunk of body) {
        const parts = (rest + Buffer.from(chunk).toString()).split("\n");
        rest = parts.pop() ?? "";
        lines.push(...parts.map((part) => JSON.parse(part) as Line));
      }
      return "end";
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  };
  return { lines, ended: read() };
}
