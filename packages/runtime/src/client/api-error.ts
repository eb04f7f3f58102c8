// An answer of the API server that is not a success, as a typed error.

/** The part of a Kubernetes `Status` object that errors carry. */
export interface StatusBody {
  readonly kind?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly code?: number;
  readonly details?: {
    readonly name?: string;
    readonly group?: string;
    readonly kind?: string;
    readonly uid?: string;
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[];
  };
}

/** What `code` an API error can have; the HTTP status decides, and 409 and 410 are split by the server's reason. */
export type ApiErrorCode =
  | "BadRequest"
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "Invalid"
  | "TooManyRequests"
  | "ServerError"
  | "Unexpected";

const codeOfStatus: Readonly<Record<number, ApiErrorCode>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Gone",
  422: "Invalid",
  429: "TooManyRequests",
};

/** The API server refused a request. `message` is the server's own words after what was tried. */
export class ApiError extends Error {
  readonly code: ApiErrorCode;
  readonly status: number;
  readonly body: StatusBody;
  /** How long the server asks to wait, from `Retry-After` or the body; absent if it did not say. */
  readonly retryAfterMs: number | undefined;

  constructor(attempt: string, status: number, body: StatusBody, retryAfterMs?: number) {
    super(`${attempt}: ${body.message ?? `the API server answered ${status}`}`);
    this.name = "ApiError";
    this.status = status;
    this.body = body;
    this.retryAfterMs = retryAfterMs ?? retryAfterInBody(body);
    this.code = body.reason === "AlreadyExists" ? "AlreadyExists" : (codeOfStatus[status] ?? (status >= 500 ? "ServerError" : "Unexpected"));
  }
}

/** How long a `Status` asks to wait; undefined if it does not say, or nonsense. */
export function retryAfterInBody({ details }: StatusBody): number | undefined {
  const seconds = details?.retryAfterSeconds;
  return typeof seconds === "number" && seconds >= 0 ? seconds * 1000 : undefined;
}

/** True for an `ApiError` with one of the given codes. */
export function isApiError(error: unknown, ...codes: readonly ApiErrorCode[]): error is ApiError {
  return error instanceof ApiError && (codes.length === 0 || codes.includes(error.code));
}
