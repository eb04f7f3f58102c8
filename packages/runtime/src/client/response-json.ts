// Response bodies as JSON, and failures as typed errors, however odd what came back is.
import { ApiError, type StatusBody } from "./api-error.ts";
import type { TransportResponse } from "./transport.ts";

/** How much of an answer that is no JSON an error quotes. */
const excerptCharacters = 200;
/** Errors of the API server are small; more than this is not read. */
const longestErrorBytes = 1024 * 1024;

/** What a body is read with. */
export interface ReadOptions {
  /** What was tried, for errors: `get secrets default/tls`. */
  readonly attempt: string;
  /** A longer body is an error. */
  readonly maxBytes: number;
  /** For a `Retry-After` that is a date. */
  readonly nowMs: number;
}

/** The parsed body of a success. Rejects with `ApiError` for any other status and for a body that is too long or no JSON. */
export async function readJson(response: TransportResponse, options: ReadOptions): Promise<unknown> {
  if (response.status < 200 || response.status > 299) throw await readError(response, options);
  const { attempt, maxBytes } = options;
  const text = await readText(response, maxBytes);
  if (text === undefined) {
    throw new ApiError(attempt, response.status, { message: `the answer is longer than ${maxBytes} bytes: ask for less or raise maxBodyBytes` });
  }
  try {
    return JSON.parse(text);
  } catch {
    // No cause: the parser's message quotes its input, which may be a Secret.
    throw new ApiError(attempt, response.status, { message: oddBody(response, text) });
  }
}

/** The error that a response with a failing status stands for. */
export async function readError(response: TransportResponse, { attempt, nowMs }: Omit<ReadOptions, "maxBytes">): Promise<ApiError> {
  const text = (await readText(response, longestErrorBytes)) ?? "";
  const retryAfterMs = retryAfterOf(response.headers["retry-after"], nowMs);
  return new ApiError(attempt, response.status, statusBody(text) ?? { message: `${response.status}: ${oddBody(response, text)}` }, retryAfterMs);
}

/** `Retry-After` in milliseconds: a number of seconds or a date; undefined if absent or neither. */
export function retryAfterOf(header: string | undefined, nowMs: number): number | undefined {
  if (!header) return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1000;
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}

/** The body as text; undefined if it is longer than `maxBytes`, in which case the rest is not read. */
export async function readText(response: Pick<TransportResponse, "body">, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  const [only] = chunks;
  if (only && chunks.length === 1) return Buffer.from(only.buffer, only.byteOffset, only.byteLength).toString("utf8");
  return Buffer.concat(chunks, bytes).toString("utf8");
}

function statusBody(text: string): StatusBody | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null && "kind" in parsed && parsed.kind === "Status" ? (parsed as StatusBody) : undefined;
  } catch {
    return undefined;
  }
}

/** Says what came instead of JSON. A body that claims to be JSON is not quoted: it may be half a Secret. */
function oddBody(response: TransportResponse, text: string): string {
  const type = response.headers["content-type"] ?? "no content type";
  if (text.trim() === "") return "the answer is empty";
  if (type.includes("json")) return `the answer is no valid Kubernetes JSON (${text.length} characters)`;
  const excerpt = text.replace(/\s+/g, " ").trim().slice(0, excerptCharacters);
  return `the answer is no JSON (${type}), perhaps from something in between: ${excerpt}`;
}
