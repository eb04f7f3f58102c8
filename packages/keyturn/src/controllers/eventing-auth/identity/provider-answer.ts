// An identity provider's answer, read whole and checked against what was promised.
import * as z from "zod";
import { IdentityError, type IdentityErrorCode, type IdentityStep } from "./identity-error.ts";

/** An answer of any status, with its body. */
export interface ProviderAnswer {
  readonly step: IdentityStep;
  /** What was tried, in the words that start every error: `failed to create application`. */
  readonly attempt: string;
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Takes what is secret out of text from the provider and cuts it to a length that fits a condition. */
  readonly clean: (text: string) => string;
}

/**
 * The body of an answer that should be JSON of a certain shape. Anything else is a transient error: it comes from something in between, or from
 * a server in trouble. The error names the fields that are wrong and never their values.
 */
export function decode<T>(answer: ProviderAnswer, schema: z.ZodType<T>): T {
  const value = jsonOf(answer);
  if (value === undefined) throw oddAnswer(answer, `the answer is no JSON (${answer.headers["content-type"] ?? "no content type"})`);
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const fields = result.error.issues.map(({ path }) => (path.length > 0 ? path.join(".") : "the whole"));
  throw oddAnswer(answer, `the answer is not what the protocol promises: ${[...new Set(fields)].join(", ")}`);
}

/** An error for an answer with a status of success that cannot be used. */
export function oddAnswer({ attempt, step, status, clean }: ProviderAnswer, problem: string): IdentityError {
  return new IdentityError(clean(`${attempt}: ${problem}`), { code: "Transient", step, status });
}

/** Throws what an answer stands for that has another status than these. */
export function expectStatus(answer: ProviderAnswer, ...expected: readonly number[]): void {
  if (!expected.includes(answer.status)) throw refusalOf(answer);
}

/**
 * True if the provider says in its own words that there is no such thing. A page for people, an empty body or any other JSON under that status
 * comes from something in between that knows no such address, and nothing may be concluded from it.
 */
export function isGone(answer: ProviderAnswer): boolean {
  return answer.status === 404 && refusalBody.safeParse(jsonOf(answer)).success;
}

/** The error that an answer with a failing status stands for, with the provider's own words. */
export function refusalOf(answer: ProviderAnswer, retryAfterMs?: number): IdentityError {
  const { attempt, step, status, headers, clean } = answer;
  const told = messageIn(jsonOf(answer)) ?? (status >= 300 && status < 400 ? redirectProblem(headers["location"]) : undefined);
  const message = clean(`${attempt}: the identity provider answered ${status}${told === undefined ? "" : `: ${told}`}`);
  return new IdentityError(message, { code: codeOf(answer), step, status, ...(retryAfterMs !== undefined && { retryAfterMs }) });
}

/** Where it pointed is not said beyond the host: addresses of log-in pages carry session data. */
function redirectProblem(location: string | undefined): string {
  const host = URL.parse(location ?? "")?.host;
  return `redirects are not followed, credentials would go along${host ? ` to ${host}` : ""}; correct the URL`;
}

/**
 * What may pass: overload, trouble at the server, somebody else's write, addresses that only something in between does not know, and an
 * application that was just made and is not known everywhere yet when it is to get a secret.
 */
function codeOf(answer: ProviderAnswer): IdentityErrorCode {
  const { status, step } = answer;
  const isMissingForNow = status === 404 && (step === "issue-secret" || !isGone(answer));
  const passes = status >= 500 || status === 408 || status === 409 || status === 425 || status === 429 || isMissingForNow;
  return passes || status < 300 ? "Transient" : "Terminal";
}

function jsonOf({ headers, text }: ProviderAnswer): unknown {
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(headers["content-type"] ?? "")) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's message quotes its input, which may be a secret.
    return undefined;
  }
}

const iasError = z.object({
  code: z.union([z.number(), z.string()]).optional(),
  message: z.string(),
  details: z.array(z.object({ target: z.string().optional(), message: z.string().optional() })).optional(),
});
const oauthError = z.object({ error: z.string(), error_description: z.string().optional() });
/** An error as IAS (whose schema demands the code) or OAuth words it. */
const coded = iasError.required({ code: true });
const refusalBody = z.union([coded, z.object({ error: coded }), oauthError]);

/** The provider's words: IAS's error body, bare or wrapped, or OAuth's. */
function messageIn(body: unknown): string | undefined {
  const ias = iasError.or(z.object({ error: iasError }).transform(({ error }) => error)).safeParse(body);
  if (ias.success) {
    const { code, message, details = [] } = ias.data;
    const more = details.map((detail) => [detail.target, detail.message].filter(Boolean).join(" "));
    return [code === undefined ? message : `${message} (code ${code})`, ...more].join("; ");
  }
  const oauth = oauthError.safeParse(body);
  if (!oauth.success) return undefined;
  const { error, error_description: description } = oauth.data;
  return description === undefined ? error : `${error}: ${description}`;
}
