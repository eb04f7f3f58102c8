// What every program of ours shares: how it talks to the benchmark, where its API server is, and how long its event loop was held.
import { type ConnectionConfig, loadConfig } from "@keyturn/runtime";

/** Prints one line of JSON. */
export function report(line: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** Ends this process when the benchmark closes its input or dies. */
export function endWithInput(): void {
  process.stdin.resume().on("end", () => process.exit(0));
}

/** The API server of the benchmark. */
export async function benchConnection(): Promise<ConnectionConfig> {
  return await loadConfig({ kubeconfig: process.env["BENCH_KUBECONFIG"] ?? "", env: {} });
}

/** The longest gap so far. */
interface LongestHold {
  /** On the clock. */
  readonly wallMs: number;
  /** Processor time of this thread within one gap: what was not due to other processes. */
  readonly cpuMs: number;
}

/** As `probeLoop`, in a program that was started to be probed; undefined otherwise, because looking costs processor time. */
export function probeLoopIfAsked(): (() => LongestHold) | undefined {
  return process.argv.includes("probe") ? probeLoop() : undefined;
}

/** Starts measuring; the returned function ends it and tells. */
export function probeLoop(): () => LongestHold {
  const cpuNow = (): number => {
    // Linux brings a thread's own figure up to date only with each tick, every 4 ms, and whenever the figure of the whole process is asked for.
    process.cpuUsage();
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let last = { wall: performance.now(), cpu: cpuNow() };
  let longest: LongestHold = { wallMs: 0, cpuMs: 0 };
  const look = (): void => {
    const now = { wall: performance.now(), cpu: cpuNow() };
    longest = { wallMs: Math.max(longest.wallMs, now.wall - last.wall), cpuMs: Math.max(longest.cpuMs, now.cpu - last.cpu) };
    last = now;
  };
  const timer = setInterval(look, 1);
  return () => {
    clearInterval(timer);
    look();
    return longest;
  };
}
