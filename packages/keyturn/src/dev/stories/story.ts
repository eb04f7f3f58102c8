// A story of `keyturn dev`: what an example needs that no manifest can give, and what happens in it while somebody looks on.
import type { Cluster } from "@keyturn/runtime/testing";

/** What a story has to tell. */
export interface Story {
  /** Flags that the operator is given for it, by name. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Namespaces to show besides those of the examples. */
  readonly namespaces?: readonly string[];
  /** What goes on; ends when the signal aborts. */
  readonly happen?: (signal: AbortSignal) => Promise<void>;
}

/** Prepares the cluster for a story, before the examples are applied. What it starts is added to `stack`, and goes with it. */
export type BeginStory = (cluster: Cluster, stack: AsyncDisposableStack) => Promise<Story>;

/** Does something again and again, first after one pause. */
export async function again(everyMs: number, signal: AbortSignal, action: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, everyMs);
      signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
    });
    if (!signal.aborted) await action();
  }
}
