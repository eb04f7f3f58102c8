// What may leave the process in logs, Events, conditions, metrics and on the command line: errors in words that were chosen here, and nothing that looks like a secret.
import { runtimeLimits } from "../limits.ts";

// Which field names hold secret material, whatever their value looks like.

/**
 * Names that end in one of these hold a secret. Bare `secret`, `key` and `data` are not here: in this field they name objects
 * (`secret=shop/tls`, `key=shop/web`), and the values of Secrets are found by the shape of the object around them.
 */
const secretName =
  /(?:pass(?:word|wd|phrase)|pwd|credentials?|(?<!continue)token|(?:proxy-)?authorization|cookie|client[-_]?secret|secret[-_]?key|api[-_]?key|private[-_]?key(?:[-_]?pem)?|(?:secret|shared|account)[-_]?access[-_]?key|client-?key-?data|\.key|\.dockerconfigjson|\.dockercfg|last-applied-configuration)$/i;

/** Private parts of a JSON Web Key (RFC 7518, sections 6.2.2, 6.3.2 and 6.4.1). */
const privateJwkMembers: ReadonlySet<string> = new Set(["d", "p", "q", "dp", "dq", "qi", "oth", "k"]);

/** True if a field of this name holds secret material by convention. */
function isSecretField(name: string): boolean {
  return name.length < runtimeLimits.secretFieldName && secretName.test(name);
}

/**
 * The members of an object that are secret because of what the object is: the data of a Secret, the private part of a JWK, the value of a variable or of a
 * patch's operation, a login to a registry.
 */
function secretMembers(object: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  if ("kty" in object) return privateJwkMembers;
  const { name, path, op } = object;
  // A container's `env`, a cookie.
  if ("value" in object && typeof name === "string" && (isSecretField(name) || /secret|_key$/i.test(name.slice(-64)))) return secretValue;
  if (typeof op === "string" && typeof path === "string" && holdsSecret(path)) return secretValue;
  if ("auth" in object && ("username" in object || "password" in object || "email" in object || Object.keys(object).length === 1))
    return registryLogin;
  const isObject = typeof object.metadata === "object" && object.metadata !== null;
  // Items of lists carry no kind, so data counts as a Secret's unless the object says that it is something else.
  const isTyped = typeof object.type === "string" && /^(?:Opaque$|(?:\w+\.)?kubernetes\.io\/|helm\.sh\/)/.test(object.type);
  if ("stringData" in object || object.kind === "Secret" || ((isObject || isTyped) && "data" in object && object.kind === undefined))
    return secretData;
  return none;
}

/** Whether an operation of a JSON patch may write what is secret: into the data of a Secret, or to a field of such a name. */
function holdsSecret(path: string): boolean {
  return path === "" || /^\/(?:data|stringData)(?:\/|$)/.test(path) || isSecretField(path.slice(path.lastIndexOf("/") + 1));
}

const secretData: ReadonlySet<string> = new Set(["data", "stringData"]);
const secretValue: ReadonlySet<string> = new Set(["value"]);
const registryLogin: ReadonlySet<string> = new Set(["auth"]);
const none: ReadonlySet<string> = new Set();

/** What stands where a secret stood. */
const redacted = "[redacted]";

/** One quick look that ordinary text does not pass, so that the rules below run only where there may be something to find. */
const suspicious =
  /-----BEGIN|LS0tLS1|eyJ|ZXlK|bearer|basic |pass|pwd ?=|token|authorization|cookie|secret|(?:api|private|access)[-_]?key|key-data|"kty"| value: |\.key|:\/\/[^/\s]*@|stringData/i;

/** How the name of a secret field ends. What stands before it does not matter and is not matched, or long words would take quadratic time. */
const secretWord = String.raw`(?:pass(?:word|wd|phrase)|pwd|token|authorization|cookie|client[-_]?secret|api[-_]?key|private[-_]?key|access[-_]?key|client-key-data|\.key)`;

/** What to look for and what to put in its place, in this order. */
const rules: readonly (readonly [RegExp, string])[] = [
  // Private keys, also where the end was cut off; the public kinds (CERTIFICATE, PUBLIC KEY) may stay.
  [/-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)/g, redacted],
  // The same in base64, as Secrets hold it: what starts with `-----BEGIN`.
  [/LS0tLS1CRUdJTi[A-Za-z0-9+/=_-]*/g, redacted],
  // JWTs and whatever else is base64url of JSON, whole or cut; and those once more in base64.
  [/eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*/g, redacted],
  [/ZXlK[A-Za-z0-9+/=_-]{16,}/g, redacted],
  // What the API server quotes of a refused object, in Go's quotes or bare.
  [/((?:Invalid|Unsupported|Duplicate) value: )(?:"(?:[^"\\]|\\[\s\S])*(?:"|$)|[^\s",;]+)/g, `$1${redacted}`],
  // Passwords in URLs.
  [/(:\/\/[^/\s:@]*):[^/\s@]+@/g, `$1:${redacted}@`],
  // The data of a Secret written out as JSON, with the quotes escaped or not.
  [/("(?:stringData|data)\\{0,8}"\s*:\s*)\{[^{}]*\}/g, `$1"${redacted}"`],
  [/("(?:d|p|q|dp|dq|qi|k)\\{0,8}"\s*:\s*\\{0,8}")[A-Za-z0-9_-]{16,}/g, `$1${redacted}`],
  // Authorization values; with a character that words do not have or at least 16, so that "basic authentication" stays.
  [/(authorization\\{0,8}["']?\s*[=:]\s*\\{0,8}["']?(?:bearer|basic|negotiate)\s+)[^\s"',;\\]+/gi, `$1${redacted}`],
  [/\b([Bb]earer|[Bb]asic|BEARER|BASIC)(\s+)(?:(?=\S*(?:[\d_~+/=]|[a-z][A-Z]))[\w.~+/=:-]{6,}|[\w.~+/=:-]{16,})/g, `$1$2${redacted}`],
  // "password": "…" as in JSON, also escaped. A quote after a backslash that is not the delimiter's own does not end the value.
  [new RegExp(String.raw`(${secretWord}\\{0,8}["']\s*:\s*)(\\{0,8}["'])(?:(?!(?<!\\)\2)[\s\S])*(?:\2|$)`, "gi"), `$1$2${redacted}$2`],
  // password=…, as in URLs, forms and command lines, and password = … as in settings.
  [new RegExp(String.raw`(${secretWord} ?= ?)(?!\[redacted\]|(?:bearer|basic|negotiate)\s)(?:"[^"]*"|'[^']*'|[^\s,;&"']+)`, "gi"), `$1${redacted}`],
  // password: … as in YAML and headers. `token: expired` is an error message: words without a digit stay unless the name leaves no doubt.
  [new RegExp(String.raw`((?:password|passwd|passphrase|client[-_]?secret)\s*:\s+)(?!\[redacted\])["']?[^\s,;"']+["']?`, "gi"), `$1${redacted}`],
  [new RegExp(String.raw`(${secretWord}\s*:\s+)(?!\[redacted\])(?=\S*\d)["']?[^\s,;"']{12,}["']?`, "gi"), `$1${redacted}`],
];

/** The text with everything that looks like a secret replaced. Text without any is returned as it is, at the cost of one scan. */
export function redactText(text: string): string {
  if (!suspicious.test(text)) return text;
  return rules.reduce((current, [pattern, replacement]) => current.replace(pattern, replacement), text);
}

/** Text that is safe to publish and at most `most` characters long. Redacts first: a cut secret would not be known for one. */
export function redactAndCut(text: string, most: number): string {
  const safe = redactText(text);
  return safe.length <= most ? safe : `${safe.slice(0, Math.max(0, most - 1))}…`;
}

/** Deeper and bigger data is cut: a log line is no dump. */
const { loggedLevels: deepest, loggedMembers: maxValues } = runtimeLimits;

/**
 * The value with every secret replaced: in strings by what they look like, in objects also by the names of fields and by what the object is.
 * Returns the value itself when there is nothing to replace. Never throws. Errors become what `describeError` makes of them, binary data its length.
 */
export function redactData(value: unknown, describeError: (error: Error) => unknown): unknown {
  let values = 0;
  const above: object[] = [];
  const visit = (current: unknown): unknown => {
    const levels = above.length;
    try {
      return visitParts(current);
    } catch {
      // A getter, a proxy: the words of what it throws may be anything.
      above.length = levels;
      return "[unreadable]";
    }
  };
  const visitParts = (current: unknown): unknown => {
    if (typeof current === "string") return redactText(current);
    if (typeof current === "bigint" || typeof current === "symbol") return String(current);
    if (typeof current === "function") return "[function]";
    if (typeof current !== "object" || current === null || current instanceof Date) return current;
    if (current instanceof Error) return describeError(current);
    if (ArrayBuffer.isView(current) || current instanceof ArrayBuffer) return `[${current.byteLength} bytes]`;
    if (above.length >= deepest || above.includes(current) || ++values > maxValues) return "[cut]";
    above.push(current);
    const safe = redactMembers(current, visit);
    above.pop();
    return safe;
  };
  return visit(value);
}

function redactMembers(object: object, visit: (member: unknown) => unknown): unknown {
  if (object instanceof Map) return visit(Object.fromEntries(object));
  if (object instanceof Set) return visit([...object]);
  if (Array.isArray(object)) return redactItems(object, visit);
  if ("toJSON" in object && typeof object.toJSON === "function") return visit(object.toJSON());
  const members = Object.entries(object);
  const secret = secretMembers(Object.fromEntries(members));
  let changed: Record<string, unknown> | undefined;
  for (const [name, member] of members) {
    const safe = hides(name, member, secret) ? redacted : visit(member);
    if (safe !== member) changed = { ...(changed ?? object), [name]: safe };
  }
  return changed ?? object;
}

function redactItems(items: readonly unknown[], visit: (item: unknown) => unknown): readonly unknown[] {
  const safe = items.map(visit);
  return safe.some((item, index) => item !== items[index]) ? safe : items;
}

/** Whether nothing of a member may be shown. Flags and absent values say nothing. */
function hides(name: string, member: unknown, secret: ReadonlySet<string>): boolean {
  if (member === null || member === undefined || member === "" || typeof member === "boolean") return false;
  return secret.has(name) || isSecretField(name);
}

// An error as the few fields that a log line needs, with its causes and without secrets.

/** What is logged of an error. */
interface ErrorFields {
  readonly type: string;
  readonly code?: string;
  readonly reason?: string;
  readonly message: string;
  /** Only for errors without a code: those are bugs, and their place matters. */
  readonly stack?: string;
  readonly cause?: ErrorFields;
  /** The first few errors of an AggregateError. */
  readonly errors?: readonly ErrorFields[];
}

const maxChain = 8;
const maxErrors = 5;
const maxMessage = 2000;

/** The fields of an error or of whatever else was thrown. Never throws. */
export function errorFields(thrown: unknown, depth = 0): ErrorFields {
  if (!(thrown instanceof Error)) return { type: typeof thrown, message: messageOf(thrown) };
  const code = textOf(thrown, "code");
  const reason = textOf(thrown, "reason");
  const deeper = depth + 1 < maxChain;
  return {
    type: thrown.name,
    ...(code !== undefined && { code }),
    ...(reason !== undefined && { reason }),
    message: messageOf(thrown),
    ...(code === undefined && typeof thrown.stack === "string" && { stack: redactText(framesOf(thrown)) }),
    ...(deeper && thrown.cause !== undefined && { cause: errorFields(thrown.cause, depth + 1) }),
    ...(deeper && thrown instanceof AggregateError && { errors: thrown.errors.slice(0, maxErrors).map((error) => errorFields(error, depth + 1)) }),
  };
}

function textOf(error: Error, name: string): string | undefined {
  const value: unknown = Reflect.get(error, name);
  return typeof value === "string" ? redactText(value) : typeof value === "number" ? String(value) : undefined;
}

/** The frames alone: the message stands in a field of its own, or nowhere. */
function framesOf(error: Error): string {
  return safeErrorSummary(error)
    .frames.slice(0, 12)
    .map((frame) => `    ${frame}`)
    .join("\n");
}

/** A description without the error's own words: parsers and argument checks quote their input there, and the input may be a secret. */
export interface UnexpectedError {
  readonly name: string;
  readonly errorCode: string | undefined;
  /** The stack's frames, innermost first. */
  readonly frames: readonly string[];
}

/** Describes anything that was thrown. */
export function safeErrorSummary(thrown: unknown): UnexpectedError {
  if (!(thrown instanceof Error)) return { name: `a thrown ${typeof thrown}`, errorCode: undefined, frames: [] };
  const errorCode = "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined;
  const stack = thrown.stack ?? "";
  const messageEnd = thrown.message === "" ? 0 : stack.indexOf(thrown.message) + thrown.message.length;
  const frames = stack
    .slice(messageEnd)
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.trim());
  return { name: thrown.name, errorCode, frames };
}

/** Fields for a log line: the error's name and its innermost frames, never its message. */
export function safeErrorPlace(error: unknown): { readonly error: string; readonly frames: readonly string[] } {
  if (!(error instanceof Error)) return { error: typeof error, frames: [] };
  // A message of several lines may look like frames, so it is cut off before they are looked for.
  const stack = (error.stack ?? "").replace(error.message, "");
  return { error: error.name, frames: (stack.match(/^[ \t]+at .*$/gm) ?? []).slice(0, 3).map((frame) => frame.trim()) };
}

/** What the language, its parsers and its checks of arguments throw: their words quote the input, which may be a secret. */
const quoting = [SyntaxError, TypeError, RangeError, ReferenceError, URIError, EvalError];

/** True if the words of an error are somebody's who knew what they were about: this project's, or the system's. A class that nobody gave a code is a stranger's. */
function speaksForItself(error: Error): boolean {
  if (quoting.some((type) => error instanceof type) || "linePos" in error) return false;
  return (
    error.name === "Error" || error instanceof AggregateError || error instanceof DOMException || ("code" in error && typeof error.code === "string")
  );
}

/**
 * The message of an error in words that may be shown to anybody. The words of one that nobody foresaw are withheld, and it is called by its name: see
 * `safeErrorSummary` for where it was thrown.
 */
export function messageOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return `a thrown ${typeof thrown}`;
  return speaksForItself(thrown) ? redactAndCut(thrown.message, maxMessage) : `an unexpected ${thrown.name}`;
}
