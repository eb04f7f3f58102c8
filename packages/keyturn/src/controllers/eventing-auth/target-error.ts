// A request to a runtime's cluster that failed, told apart from one to the control plane.
import { isApiError, ConnectionError } from "@keyturn/runtime";

/** The message is the cluster's own; `cause` is what was thrown. */
export class TargetError extends Error {
  readonly code = "Target";
  constructor(message: string, options: ErrorOptions) {
    super(message, options);
    this.name = "TargetError";
  }
}

/** Makes a request to a runtime's cluster; what it fails with becomes a `TargetError`. */
export async function askTarget<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (cause) {
    if (isApiError(cause) || cause instanceof ConnectionError) throw new TargetError(`in the cluster of the runtime: ${cause.message}`, { cause });
    throw cause;
  }
}
