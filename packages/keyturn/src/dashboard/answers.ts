// How an answer is written: JSON, or one of the page's files.
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { RefusedRequest } from "./refused-request.ts";
import { encodedFile, indexPath, type StaticFiles } from "./static-files.ts";

/** Answers with JSON, which nobody keeps. */
export function answerJson(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store", "content-length": Buffer.byteLength(text) });
  response.end(response.req.method === "HEAD" ? undefined : text);
}

/** Answers with a file, as small as the client takes it, or with nothing but that it has not changed. */
export function answerFile(
  path: string,
  files: StaticFiles,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
): void {
  if (files.size === 0) throw new RefusedRequest({ status: 503, error: "the page has not been built; run make build in the checkout" });
  const file = files.get(path === "" ? indexPath : path);
  if (!file) throw new RefusedRequest({ status: 404, error: "there is no such file" });
  const accepted = request.headers["accept-encoding"];
  const { encoding, bytes } = encodedFile(file, typeof accepted === "string" ? accepted : "");
  response.setHeader("etag", file.etag);
  response.setHeader("vary", "accept-encoding");
  response.setHeader("cache-control", file.isImmutable ? "public, max-age=31536000, immutable" : "no-cache");
  if (request.headers["if-none-match"] === file.etag) {
    response.writeHead(304).end();
    return;
  }
  if (encoding !== undefined) response.setHeader("content-encoding", encoding);
  response.writeHead(200, { "content-type": file.contentType, "content-length": bytes.length });
  response.end(request.method === "HEAD" ? undefined : bytes);
}
