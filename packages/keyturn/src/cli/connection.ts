// From `--kubeconfig` and `--context` to a connection; what cannot be used is wrong usage.
import { ConfigError, type ConnectionConfig, loadConfig } from "@keyturn/runtime";
import { UsageError } from "../flags/flag.ts";

/** The connection that the flags and the environment name. Rejects with a `UsageError` that says what is wrong with them. */
export async function connect(
  { kubeconfig, context }: { readonly kubeconfig: string | undefined; readonly context: string | undefined },
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ConnectionConfig> {
  return orUsageError(() => loadConfig({ env: environment, ...(kubeconfig && { kubeconfig }), ...(context && { context }) }));
}

/** Errors that the person who typed the command can mend are wrong usage: one line, exit code 2. */
export async function orUsageError<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}
