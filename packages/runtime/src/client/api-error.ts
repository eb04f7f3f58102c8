// An answer of the API server that is not a success, as a typed error.
import { isRecord } from "../json.ts";
import { runtimeLimits } from "../limits.ts";

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

/** A `Status` out of JSON, each part only if it is of its type: something in between may have written it. Undefined if it is none. */
export function statusBodyOf(value: unknown): StatusBody | undefined {
  if (!isRecord(value) || value["kind"] !== "Status") return undefined;
  const { details } = value;
  return {
    ...membersOf(value, "string", ["kind", "status", "reason", "message"]),
    ...membersOf(value, "number", ["code"]),
    ...(isRecord(details) && {
      details: {
        ...membersOf(details, "string", ["name", "group", "kind", "uid"]),
        ...membersOf(details, "number", ["retryAfterSeconds"]),
        ...(Array.isArray(details["causes"]) && {
          causes: details["causes"].filter(isRecord).map((cause) => membersOf(cause, "string", ["reason", "message", "field"])),
        }),
      },
    }),
  };
}

function membersOf<Name extends string, Type extends "string" | "number">(
  object: Readonly<Record<string, unknown>>,
  type: Type,
  names: readonly Name[],
): { readonly [Member in Name]?: Type extends "string" ? string : number } {
  return Object.fromEntries(names.flatMap((name) => (typeof object[name] === type ? [[name, object[name]]] : []))) as {
    readonly [Member in Name]?: Type extends "string" ? string : number;
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

const [resource, objectName] = [String.raw`[\w.-]{1,253}(?:/\w{1,63})?`, String.raw`"[\w.:@-]{1,253}"`];

/** Whole messages that the API server writes itself (k8s.io/apimachinery/pkg/api/errors and its callers, as of 1.36), with nothing of an object but its name. */
const ownWords = new RegExp(
  `^(?:${[
    `(?:object is being deleted: )?${resource} ${objectName} (?:not found|already exists)`,
    `Operation cannot be fulfilled on ${resource} ${objectName}: the object has been modified; please apply your changes to the latest version and try again`,
    String.raw`Operation cannot be fulfilled on ${resource} ${objectName}: (?:StorageError: invalid object, Code: 4, Key: [\w./:@-]{1,600}, ResourceVersion: 0, AdditionalErrorMsg: )?Precondition failed: UID in precondition: [\w-]{0,63}, UID in object meta: [\w-]{0,63}`,
    `(?:${resource}(?: ${objectName})? is forbidden: )?unable to create new content in namespace [a-z0-9-]{1,63} because it is being terminated`,
    String.raw`the server (?:could not find the requested resource|does not allow this method on the requested resource|is currently unable to handle the request)`,
    String.raw`(?:the server has received too many requests and has asked us to try again later|Too many requests, please try again later\.)`,
    String.raw`(?:Too many requests: )?Cannot evict pod as it would violate the pod's disruption budget\.`,
    String.raw`(?:Too many requests: )?storage is \(re\)initializing`,
    String.raw`The \w{1,20} operation against ${resource} could not be completed at this time, please try again\.`,
    String.raw`Timeout: (?:request did not complete within the allotted timeout|request did not complete within requested timeout(?: - context (?:deadline exceeded|canceled))?|Too large resource version: \d{1,20}, current: \d{1,20})`,
    String.raw`(?:Internal error occurred: )?etcdserver: (?:request timed out|leader changed|no leader|too many requests|mvcc: database space exceeded)`,
    String.raw`The resourceVersion for the provided (?:watch|list) is too old\.|too old resource version: \d{1,20} \(\d{1,20}\)`,
    String.raw`Request entity too large: limit is \d{1,12}|Unauthorized|not authorized|apiserver is shutting down|apiserver not ready`,
  ].join("|")})$`,
);

/** What names rights, fields, quotas and policies, wherever the API server says it, and quotes no value. */
const ownFindings = new RegExp(
  [
    String.raw`User "[^"\n]{1,256}" cannot \w{1,20} (?:resource "${resource}" in API group "[\w.-]{0,253}"(?: in the namespace "[\w.-]{1,63}"| at the cluster scope)?|path "/[\w./-]{0,200}")`,
    String.raw`exceeded quota(?:: [\w.-]{1,253}(?:, (?:requested|used|limited): [\w./-]{1,80}=\w{1,40}(?:,[\w./-]{1,80}=\w{1,40}){0,20})*)?`,
    "is attempting to grant RBAC permissions not currently held",
    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on",
    String.raw`violates PodSecurity "[\w.:-]{1,60}"`,
    String.raw`cannot unmarshal \w{1,20} into Go struct field [\w./-]{1,160} of type [\w.[\]*]{1,80}`,
    "illegal base64 data at input byte",
    "parsing time",
    "quantities must match the regular expression",
    "Object 'Kind' is missing",
    String.raw`(?:unknown|duplicate) field "[\w.$[\]-]{1,160}"`,
    String.raw`does not contain declared merge key: \w{1,63}`,
    String.raw`(?<=\s)(?:\.[\w$-]{1,63}|\[(?:[^\]"\n]|"(?:[^"\\\n]|\\.)*"){0,200}\])+: (?:field not declared in schema|expected \w{1,20}|duplicate entries for key)`,
    String.raw`(?:Validating|Mutating)AdmissionPolicy '[\w.-]{1,253}' with binding '[\w.-]{1,253}' denied request`,
    String.raw`admission webhook "[\w.-]{1,253}" (?:denied the request|does not support dry run)`,
    String.raw`failed calling webhook "[\w.-]{1,253}"`,
    String.raw`conversion webhook for [\w./-]{1,253}, Kind=\w{1,63} failed`,
  ].join("|"),
  "g",
);
/** Where words begin that the author of a webhook or a policy chose. */
const foreign = /denied (?:the )?request|failed calling webhook "[^"]{1,253}"|conversion webhook for [\w./-]{1,253}, Kind=\w{1,63} failed/;
/** Of those only what is the same in everybody's mouth. */
const foreignFindings =
  /connection refused|context deadline exceeded|i\/o timeout|no such host|no endpoints available for service|x509: certificate signed by unknown authority|x509: certificate has expired or is not yet valid/g;

const maxFindings = 5;
const maxField = 160;
const { refusalWords: maxWords } = runtimeLimits;
const withheld = "the API server's words are withheld, for they may quote a secret; its audit log has them";

/**
 * Why a request was refused, for anybody to read. The server's own words are shown only where their whole form is known; everything else is put
 * together from kinds, names, fields and reasons, for webhooks, policies, decoders and patches quote values at will, under any status.
 */
export function refusalText(status: number, { kind, code, reason = "", message = "", details }: StatusBody): string {
  const words = message.slice(0, maxWords) || `the API server answered ${status}`;
  // Without a kind, the words are not the server's but this client's.
  if (kind !== "Status" || ownWords.test(words)) return words;
  const foreignAt = foreign.exec(words);
  const ownEnd = foreignAt ? foreignAt.index + foreignAt[0].length : words.length;
  const own = words.slice(0, ownEnd).match(ownFindings) ?? [];
  // The rest of such a Status is what the webhook made it: the names of fields too can be anything.
  const webhook = own.find((finding) => finding.startsWith("admission webhook"));
  if (webhook !== undefined) return `${webhook} (${withheld})`;
  const fields = fieldsIn(details);
  const refused = [status, code].find((number) => number === 400 || number === 422) ?? status;
  const subject = subjectOf(refused, reason, { kind: details?.kind ?? "", name: details?.name ?? "" });
  const findings = fields.length > 0 ? fields : [...own.map(findingText), ...(words.slice(ownEnd).match(foreignFindings) ?? [])];
  return `${subject}: ${findings.length > 0 ? listed(findings) : withheld}`;
}

const serverReasons: ReadonlySet<string> = new Set(["InternalError", "ServiceUnavailable", "ServerTimeout", "Timeout"]);

function subjectOf(status: number, reason: string, { kind, name }: { readonly kind: string; readonly name: string }): string {
  const object = /^[\w.-]{1,253}$/.test(kind) && /^[\w.:@-]{1,253}$/.test(name) ? `${kind} "${name}"` : undefined;
  switch (status) {
    case 400:
    case 422:
      return object ? `${object} is invalid` : status === 400 ? "bad request" : "invalid";
    case 403:
      return object ? `${object} is forbidden` : "forbidden";
    case 404:
      return object ? `${object} not found` : "not found";
    case 409:
      return object ? `conflict on ${object}` : "conflict";
    default:
      return `the API server answered ${status}${serverReasons.has(reason) ? ` (${reason})` : ""}`;
  }
}

/** Each thing once, and not too many of them. */
function listed(findings: readonly string[]): string {
  const once = [...new Set(findings)];
  const more = once.length > maxFindings ? [`${once.length - maxFindings} more`] : [];
  return [...once.slice(0, maxFindings), ...more].join(", ");
}

/** The fields that were refused, each with a reason in words of our own choice. In parentheses: after a colon they would look like a field's value. */
function fieldsIn(details: StatusBody["details"]): readonly string[] {
  return (details?.causes ?? []).flatMap(({ field = "", reason = "", message = "" }) => {
    const path = fieldPath(field);
    if (path === undefined) return [];
    const words = message.slice(0, maxWords);
    const manager = reason === "FieldManagerConflict" ? /^conflict with "[\w.:/@ -]{1,128}"/.exec(words)?.[0] : undefined;
    return `${path} (${manager ?? (words.endsWith("field is immutable") ? "field is immutable" : (causeTexts[reason] ?? "refused"))})`;
  });
}

/** What the server says of a field, with the path as `fieldPath` shows it. */
function findingText(finding: string): string {
  const pathEnd = finding.startsWith(".") ? finding.lastIndexOf(": ") : -1;
  if (pathEnd < 0) return finding;
  return `${fieldPath(finding.slice(0, pathEnd)) ?? "a field"} (${finding.slice(pathEnd + 2)})`;
}

const pathPart = /\.?[A-Za-z_$][\w$-]{0,62}|\[(?:[^\]"]|"(?:[^"\\]|\\.)*")*\]/y;

/**
 * A path of fields, as far as it is short; undefined for what is none. A key stays if it is short and could be one: those that select items of a list by
 * their values do not.
 */
function fieldPath(text: string): string | undefined {
  const looked = text.slice(0, maxField);
  let path = "";
  for (let at = 0; at < looked.length; at = pathPart.lastIndex) {
    pathPart.lastIndex = at;
    const part = pathPart.exec(looked)?.[0];
    if (part === undefined) return path && text.length > maxField ? `${path}…` : undefined;
    path += part.startsWith("[") && !/^\[[\w./-]{1,63}\]$/.test(part) ? "[…]" : part;
  }
  return text.length > maxField ? `${path}…` : path || undefined;
}

/** How long a `Status` asks to wait; undefined if it does not say, or nonsense. */
export function retryAfterInBody({ details }: StatusBody): number | undefined {
  const seconds = details?.retryAfterSeconds;
  return seconds !== undefined && seconds >= 0 ? seconds * 1000 : undefined;
}

/** True for an `ApiError` with one of the given codes. */
export function isApiError(error: unknown, ...codes: readonly ApiErrorCode[]): error is ApiError {
  return error instanceof ApiError && (codes.length === 0 || codes.includes(error.code));
}
