// A response of the API server: its body, limited and checked, becomes an object, a page of a list or a typed error. Also the queue that holds what has come of one.
import { isRecord } from "../json.ts";
import { decodeProtobufResponse, protobufType } from "../wire/protobuf-objects.ts";
import { ApiError, isApiError, type StatusBody, statusBodyOf } from "./api-error.ts";
import type { Answer, Answered, JsonPatchOperation, ListResult } from "./client.ts";
import { apiVersionOf, type Kind, type KubeObject, resourceOf, type Stored } from "./kind.ts";
import { AnswerTooLongError, type TransportResponse } from "./transport.ts";
import { runtimeLimits } from "../limits.ts";

/** Of what proxies and gateways answer only what is the same in everybody's mouth: the rest may echo the request, and its credentials with it. */
const betweenFindings =
  /\b(?:4\d\d|5\d\d) (?:Bad Request|Unauthorized|Forbidden|Not Found|Proxy Authentication Required|Request Timeout|Request Entity Too Large|Too Many Requests|Internal Server Error|Bad Gateway|Service (?:Temporarily )?Unavailable|Gateway Time-?out)\b|upstream connect error|no healthy upstream|upstream request timeout|default backend - 404/i;
/** Errors of the API server are small; more than this is not read. */
const { refusalBytes: maxErrorBytes } = runtimeLimits;

/** What a body is read with. */
interface ReadOptions {
  /** What was tried, for errors: `get secrets default/tls`. */
  readonly attempt: string;
  /** A longer body is an error. */
  readonly maxBytes: number;
  /** For a `Retry-After` that is a date. */
  readonly nowMs: number;
}

/** The body of a success, parsed. Rejects with `ApiError` for any other status and for a body that cannot be read, with `AnswerTooLongError` for one that is too long. */
export async function readResponse(response: TransportResponse, options: ReadOptions): Promise<unknown> {
  const { attempt, maxBytes } = options;
  if (response.status < 200 || response.status > 299) throw await readError(response, options);
  const bytes = await readBody(response.body, maxBytes);
  if (!bytes) throw new AnswerTooLongError("body", maxBytes, attempt);
  try {
    return parse(response, bytes);
  } catch {
    // No cause: the parser's message quotes its input, which may be a Secret.
    throw new ApiError(attempt, response.status, { message: oddBody(response, bytes) });
  }
}

async function readError(response: TransportResponse, { attempt, nowMs }: ReadOptions): Promise<ApiError> {
  const bytes = (await readBody(response.body, maxErrorBytes)) ?? Buffer.alloc(0);
  const retryAfterMs = retryAfterOf(response.headers["retry-after"], nowMs);
  const status = statusBody(response, bytes) ?? { message: `${response.status}: ${oddBody(response, bytes)}` };
  return new ApiError(attempt, response.status, status, retryAfterMs);
}

function parse(response: TransportResponse, bytes: Buffer): unknown {
  return isProtobuf(response) ? decodeProtobufResponse(bytes) : JSON.parse(bytes.toString("utf8"));
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
  return (await readBody(response.body, maxBytes))?.toString("utf8");
}

function statusBody(response: TransportResponse, bytes: Buffer): StatusBody | undefined {
  try {
    const parsed = parse(response, bytes);
    return statusBodyOf(parsed);
  } catch {
    return undefined;
  }
}

/** Only what a media type can be. */
export function mediaType(text: string): string {
  return /^[\w.+-]{1,64}\/[\w.+-]{1,64}/.exec(text)?.[0] ?? "no content type";
}

/** Says what came instead of an answer. Nothing of it is quoted: it may be half a Secret. */
function oddBody(response: TransportResponse, bytes: Buffer): string {
  const text = bytes.toString("utf8");
  const type = response.headers["content-type"] ?? "no content type";
  if (text.trim() === "") return "the answer is empty";
  if (isProtobuf(response)) return `the answer is no valid Kubernetes protobuf (${bytes.length} bytes)`;
  if (type.includes("json")) return `the answer is no valid Kubernetes JSON (${text.length} characters)`;
  const found = betweenFindings.exec(text.slice(0, runtimeLimits.refusalWords))?.[0];
  return `the answer is no JSON (${mediaType(type)}, ${text.length} characters), perhaps from something in between${found ? `: ${found}` : ""}`;
}

/** A 404 about the object; one about the path means that the kind is not served, and is thrown. */
export function isMissingObject(error: unknown): boolean {
  return isApiError(error, "NotFound") && error.body.kind === "Status" && error.body.details?.name !== undefined;
}

/**
 * Two answers to an apply that say something else than they mean, as of Kubernetes 1.36: a uid that is not the object's is a 422 about an
 * immutable field, where it is a conflict; and a field that the schema does not have is a 500, where no retry can help.
 */
export function applyError(error: unknown, attempt: string): unknown {
  if (!isApiError(error)) return error;
  const { body } = error;
  if (error.code === "Invalid" && body.details?.causes?.some(({ field }) => field === "metadata.uid")) {
    return new ApiError(attempt, 409, { ...body, reason: "Conflict" });
  }
  if (error.status === 500 && body.message?.startsWith("failed to create typed patch object")) {
    return new ApiError(attempt, 400, { ...body, reason: "BadRequest" });
  }
  return error;
}

/**
 * A JSON patch that does not fit the object is a 422 that names no field, as of Kubernetes 1.36; one that was meant to be conditional has met another
 * object than it was made for, which is a conflict: reading again helps. What the server refuses after patching names the field.
 */
export function jsonPatchError(error: unknown, patch: readonly JsonPatchOperation[], attempt: string): unknown {
  const conditional = patch.some(({ op }) => op === "test");
  if (!conditional || !isApiError(error, "Invalid") || error.body.details?.causes?.length) return error;
  return new ApiError(attempt, 409, { ...error.body, reason: "Conflict" });
}

const metadataOnly = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/** In protobuf it costs the server and us least. The whole object is second best: not every server can show less of it. */
const metadataAccepted = `${protobufType};${metadataOnly},application/json;${metadataOnly},application/json`;

/** The header that asks for the answer. */
export function acceptHeader(kind: Kind, answer: Answer | undefined): { readonly accept?: string } {
  // What holds a Namespace is in its spec, and whether it is gone must be known.
  if (answer !== "metadata" || resourceOf(kind) === "namespaces") return {};
  return { accept: metadataAccepted };
}

/**
 * The object that a body is, or its metadata less `managedFields`; those name the object's kind, as if it were whole. Throws `ApiError` if it is
 * neither.
 */
export function decodeObject<T extends KubeObject, A extends Answer = "object">(body: unknown, kind: Kind<T>, attempt: string): Answered<T, A> {
  if (!isRecord(body) || !isIdentity(body["metadata"])) {
    throw new ApiError(attempt, 200, { message: `the answer is no ${kind.kind}` });
  }
  if (body["kind"] === "PartialObjectMetadata") {
    body["apiVersion"] = apiVersionOf(kind);
    body["kind"] = kind.kind;
    delete body["metadata"]["managedFields"];
  }
  return body as unknown as Answered<T, A>;
}

/** True for metadata whose names and versions, if there are any, are texts: they are compared as such. */
function isIdentity(metadata: unknown): metadata is Record<string, unknown> {
  if (!isRecord(metadata)) return false;
  const { name = "", namespace = "", uid = "", resourceVersion = "" } = metadata;
  return [name, namespace, uid, resourceVersion].every((text) => typeof text === "string");
}

/** A page of a list; `continue` asks for the next. */
export interface Page<T extends KubeObject> extends ListResult<T> {
  readonly continue: string | undefined;
}

/** Items of a list lack what the list says once for all: it is filled in, so that they look as if read one by one. */
export function decodePage<T extends KubeObject>(body: unknown, kind: Kind<T>, attempt: string): Page<T> {
  const metadata = isRecord(body) ? body["metadata"] : undefined;
  const items = isRecord(body) ? (body["items"] ?? []) : undefined;
  if (!isRecord(metadata) || !Array.isArray(items) || !items.every((item) => isRecord(item) && isIdentity(item["metadata"])))
    throw new ApiError(attempt, 200, { message: `the answer is no list of ${kind.kind}` });
  const apiVersion = apiVersionOf(kind);
  for (const item of items as Record<string, unknown>[]) {
    item["apiVersion"] ??= apiVersion;
    item["kind"] ??= kind.kind;
  }
  const { resourceVersion, continue: token } = metadata as { resourceVersion?: string; continue?: string };
  return { items: items as Stored<T>[], resourceVersion: resourceVersion ?? "", continue: token || undefined };
}

/** Some kinds answer a delete with the object even when it is gone: it is still there only if something holds it. */
export function waitingObject<T extends KubeObject, A extends Answer>(body: unknown, kind: Kind<T>, attempt: string): Answered<T, A> | undefined {
  if (isRecord(body) && body["kind"] === "Status") return undefined;
  const object = decodeObject<T, A>(body, kind, attempt);
  return object.metadata.deletionTimestamp && !isFinalDeletion(object) ? object : undefined;
}

/** True for an object that is being deleted and that nothing holds any more: the server removes it with the answer that shows it so. */
export function isFinalDeletion(object: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
  // Only Namespaces have finalizers in their spec.
  const spec = "spec" in object && isRecord(object.spec) ? object.spec : {};
  const held = finalizers.length > 0 || deletionGracePeriodSeconds > 0 || (Array.isArray(spec["finalizers"]) && spec["finalizers"].length > 0);
  return deletionTimestamp !== undefined && !held;
}

// Bytes as they come from the network, in pieces of the sender's choice, held until what they are part of is whole.

/** Enough for most events. A process can have thousands of watches on which hardly anything happens. */
const minCapacity = 4 * 1024;
/** A buffer that one huge frame has blown up beyond this is let go once it is empty. */
const maxKeptCapacity = 1024 * 1024;

/**
 * A queue of bytes in one buffer that is reused. Each byte is copied in once and moved rarely, so splitting a stream into frames costs linear time,
 * and nothing that was read keeps the network's chunks alive.
 */
export class ByteQueue {
  #bytes = Buffer.alloc(0);
  #start = 0;
  #end = 0;

  /** Valid between `start` and `end`, until the next `push`. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  get start(): number {
    return this.#start;
  }

  get end(): number {
    return this.#end;
  }

  get length(): number {
    return this.#end - this.#start;
  }

  push(chunk: Uint8Array): void {
    this.#makeRoom(chunk.length);
    this.#bytes.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /** Drops the first `count` bytes. */
  drop(count: number): void {
    this.#start += count;
    if (this.#start < this.#end) return;
    this.#start = 0;
    this.#end = 0;
    if (this.#bytes.length > maxKeptCapacity) this.#bytes = Buffer.alloc(0);
  }

  #makeRoom(count: number): void {
    if (this.#end + count <= this.#bytes.length) return;
    const held = this.length;
    // Moving within the buffer only when it is at most half full keeps the cost of moving below that of the bytes that came in.
    if ((held + count) * 2 <= this.#bytes.length) {
      this.#bytes.copyWithin(0, this.#start, this.#end);
    } else {
      const larger = Buffer.allocUnsafeSlow(Math.max(minCapacity, this.#bytes.length * 2, (held + count) * 2));
      this.#bytes.copy(larger, 0, this.#start, this.#end);
      this.#bytes = larger;
    }
    this.#start = 0;
    this.#end = held;
  }
}

// The whole body of a response, for answers that are read in one piece.

/**
 * Reads `body` to its end; `received` hears of each piece's length. Undefined if it is longer than `maxBytes`, in which case the rest is not read.
 *
 * Pieces are put together as they come: each is an object, and a server can send one for every byte.
 */
export async function readBody(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  received: (count: number) => void = () => {},
): Promise<Buffer | undefined> {
  let first: Uint8Array = Buffer.alloc(0);
  let queue: ByteQueue | undefined;
  let length = 0;
  for await (const piece of body) {
    received(piece.byteLength);
    length += piece.byteLength;
    if (length > maxBytes) return undefined;
    // Most bodies are a single piece, which need not be copied.
    if (length === piece.byteLength) {
      first = piece;
      continue;
    }
    if (!queue) {
      queue = new ByteQueue();
      queue.push(first);
    }
    queue.push(piece);
  }
  if (queue) return queue.bytes.subarray(queue.start, queue.end);
  return Buffer.from(first.buffer, first.byteOffset, first.byteLength);
}
