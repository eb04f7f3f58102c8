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

/**
 * The API server refused a request. `message` says what was tried and why it was refused, and may be shown to anybody: where the server's own words can
 * quote what was sent, it names fields and reasons instead.
 */
export class ApiError extends Error {
  readonly code: ApiErrorCode;
  readonly status: number;
  readonly #body: StatusBody;
  /** How long the server asks to wait, from `Retry-After` or the body; absent if it did not say. */
  readonly retryAfterMs: number | undefined;

  constructor(attempt: string, status: number, body: StatusBody, retryAfterMs?: number) {
    super(`${attempt}: ${refusalText(status, body)}`);
    this.name = "ApiError";
    this.status = status;
    this.#body = body;
    this.retryAfterMs = retryAfterMs ?? retryAfterInBody(body);
    this.code = body.reason === "AlreadyExists" ? "AlreadyExists" : (codeOfStatus[status] ?? (status >= 500 ? "ServerError" : "Unexpected"));
  }

  /** What the server answered. Its texts can quote values of Secrets: never show them. No property, so that nothing prints it with the error. */
  get body(): StatusBody {
    return this.#body;
  }
}

/** The words of k8s.io/apimachinery/pkg/util/validation/field for its reasons. */
const causeTexts: Readonly<Record<string, string>> = {
  FieldValueNotFound: "Not found",
  FieldValueRequired: "Required value",
  FieldValueDuplicate: "Duplicate value",
  FieldValueInvalid: "Invalid value",
  FieldValueNotSupported: "Unsupported value",
  FieldValueForbidden: "Forbidden",
  FieldValueTooLong: "Too long",
  FieldValueTooMany: "Too many",
  FieldValueTypeInvalid: "Invalid type",
};

/** Parts of the server's words that name fields, types and policies, and quote no value. */
const harmless = new RegExp(
  [
    String.raw`cannot unmarshal \w+ into Go struct field \S+ of type \w+`,
    "illegal base64 data at input byte",
    "parsing time",
    "quantities must match the regular expression",
    "Object 'Kind' is missing",
    `(?:unknown|duplicate) field "[^"]+"`,
    String.raw`(?<=\s)\.\S+: (?:field not declared in schema|expected \w+)`,
    "ValidatingAdmissionPolicy '[^']+' with binding '[^']+' denied request",
    `admission webhook "[^"]+" denied the request`,
  ].join("|"),
  "g",
);
/** Where words begin that the author of a webhook or policy chose, or a dump of what was sent. */
const quoting = /(?<=denied (?:the )?request): [\s\S]*|, got &[\s\S]*/;

const maxFindings = 5;
const maxFinding = 160;
/** More than this is not looked at: a refused value can be as long as its author likes. */
const maxWords = 10_000;
const withheld = "the API server's words are withheld, for they may quote a secret; its audit log has them";

/** Why a request was refused. Of a 400 and a 422, nothing is told that the server may have copied from the refused object. */
function refusalText(status: number, { kind, code, message, details }: StatusBody): string {
  const words = textIn(message).slice(0, maxWords) || `the API server answered ${status}`;
  // Without a kind, the words are not the server's but this client's.
  if (kind !== "Status") return words;
  const refused = [status, code].find((number) => number === 400 || number === 422);
  if (refused === undefined) return words.replace(quoting, ` (${withheld})`);
  const subject = details?.kind && details.name ? `${details.kind} "${details.name}" is invalid` : refused === 400 ? "bad request" : "invalid";
  const fields = fieldsIn(details);
  const findings = [...new Set(fields.length > 0 ? fields : words.match(harmless))].map(shortened);
  if (findings.length === 0) return `${subject}: ${withheld}`;
  const more = findings.length > maxFindings ? [`${findings.length - maxFindings} more`] : [];
  return `${subject}: ${[...findings.slice(0, maxFindings), ...more].join(", ")}`;
}

/** The fields that were refused, each with a reason in words of our own choice. In parentheses: after a colon they would look like a field's value. */
function fieldsIn(details: StatusBody["details"]): readonly string[] {
  const causes: readonly unknown[] = Array.isArray(details?.causes) ? details.causes : [];
  return causes.flatMap((cause) => {
    if (typeof cause !== "object" || cause === null) return [];
    const [field, reason, words] = ["field", "reason", "message"].map((name) => textIn(Reflect.get(cause, name)));
    if (!field || field === "<nil>") return [];
    return `${field} (${words?.endsWith("field is immutable") ? "field is immutable" : (causeTexts[reason ?? ""] ?? "refused")})`;
  });
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Paths contain keys of maps and lists, as long as whoever wrote them likes; in those that begin with a dot, what is in quotes is a value. */
function shortened(finding: string): string {
  const told = finding.startsWith(".") ? finding.replace(/"(?:[^"\\]|\\.)*"/g, "…").replace(/: (.*)$/, " ($1)") : finding;
  const plain = told.replace(/\p{Cc}/gu, "");
  return plain.length > maxFinding ? `${plain.slice(0, maxFinding)}…` : plain;
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
