// The bodies of answers, in JSON or protobuf, and failures as typed errors, however odd what came back is.
import { redactAndCut } from "../observe/redact.ts";
import { decodeProtobufAnswer } from "../wire/protobuf-answer.ts";
import { protobufType } from "../wire/protobuf-envelope.ts";
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

/** The body of a success, parsed. Rejects with `ApiError` for any other status and for a body that is too long or cannot be read. */
export async function readAnswer(response: TransportResponse, options: ReadOptions): Promise<unknown> {
  const { attempt, maxBytes } = options;
  if (response.status < 200 || response.status > 299) throw await readError(response, options);
  const bytes = await readBytes(response, maxBytes);
  if (bytes === undefined) {
    throw new ApiError(attempt, response.status, { message: `the answer is longer than ${maxBytes} bytes: ask for less or raise maxBodyBytes` });
  }
  try {
    return parse(response, bytes);
  } catch {
    // No cause: the parser's message quotes its input, which may be a Secret.
    throw new ApiError(attempt, response.status, { message: oddBody(response, bytes) });
  }
}

async function readError(response: TransportResponse, { attempt, nowMs }: ReadOptions): Promise<ApiError> {
  const bytes = (await readBytes(response, longestErrorBytes)) ?? Buffer.alloc(0);
  const retryAfterMs = retryAfterOf(response.headers["retry-after"], nowMs);
  const status = statusBody(response, bytes) ?? { message: `${response.status}: ${oddBody(response, bytes)}` };
  return new ApiError(attempt, response.status, status, retryAfterMs);
}

function parse(response: TransportResponse, bytes: Buffer): unknown {
  return isProtobuf(response) ? decodeProtobufAnswer(bytes) : JSON.parse(bytes.toString("utf8"));
}

function isProtobuf({ headers }: TransportResponse): boolean {
  return headers["content-type"]?.startsWith(protobufType) ?? false;
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
  return (await readBytes(response, maxBytes))?.toString("utf8");
}

async function readBytes(response: Pick<TransportResponse, "body">, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body) {
    length += chunk.byteLength;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  const [only] = chunks;
  return only && chunks.length === 1 ? Buffer.from(only.buffer, only.byteOffset, only.byteLength) : Buffer.concat(chunks, length);
}

function statusBody(response: TransportResponse, bytes: Buffer): StatusBody | undefined {
  try {
    const parsed = parse(response, bytes);
    return typeof parsed === "object" && parsed !== null && "kind" in parsed && parsed.kind === "Status" ? (parsed as StatusBody) : undefined;
  } catch {
    return undefined;
  }
}

/** Says what came instead of an answer. A body that claims to be one is not quoted: it may be half a Secret. */
function oddBody(response: TransportResponse, bytes: Buffer): string {
  const text = bytes.toString("utf8");
  const type = response.headers["content-type"] ?? "no content type";
  if (text.trim() === "") return "the answer is empty";
  if (isProtobuf(response)) return `the answer is no valid Kubernetes protobuf (${bytes.length} bytes)`;
  if (type.includes("json")) return `the answer is no valid Kubernetes JSON (${text.length} characters)`;
  // What is in between may echo the request, and its credentials with it.
  const excerpt = redactAndCut(text.slice(0, 10_000).replace(/\s+/g, " ").trim(), excerptCharacters);
  return `the answer is no JSON (${type}), perhaps from something in between: ${excerpt}`;
}
