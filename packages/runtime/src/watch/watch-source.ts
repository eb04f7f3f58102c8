// Where a watch reads from: the requests it makes for one kind and selection, and how their answers are decoded.
import type { Selection } from "../client/client.ts";
import type { StatusBody } from "../client/api-error.ts";
import type { Kind } from "../client/kind.ts";
import { apiVersionOf, collectionPath } from "../client/kind.ts";
import type { TransportRequest } from "../client/transport.ts";
import { JsonWatchDecoder, decodeJsonPage, decodeJsonStatus, finishMetadata, finishWhole } from "./json-decoder.ts";
import { protobufType } from "../wire/protobuf-envelope.ts";
import { decodeProtobufStatus } from "../wire/protobuf-answer.ts";
import { WireError } from "../wire/wire-error.ts";
import { ProtobufWatchDecoder, decodeProtobufPage } from "./protobuf-decoder.ts";
import { protobufObjectReader, readMetadataOnly } from "../wire/protobuf-kinds.ts";
import type { WatchDecoder, WirePage } from "./wire-event.ts";

/** What of each object is asked for. */
export type Extent = "whole" | "metadata";

/** The requests of one watch. */
export interface WatchSource {
  /** A watch that first sends what exists. */
  streamRequest(timeoutSeconds: number): TransportRequest;
  watchRequest(resourceVersion: string, timeoutSeconds: number): TransportRequest;
  pageRequest(pageSize: number, token: string | undefined): TransportRequest;
  /** The decoder for an answer of this content type. */
  watchDecoder(contentType: string): WatchDecoder;
  decodePage(contentType: string, bytes: Buffer): WirePage;
}

const json = "application/json";

/**
 * The source for `kind`. Asks for protobuf where we read it (measured: the API server sends 20,000 Secrets of 4 kB three times faster than as JSON)
 * and always names JSON as well; what the server chose decides how its answer is read.
 */
export function watchSource(kind: Kind, selection: Selection, extent: Extent): WatchSource {
  const readObject = extent === "metadata" ? readMetadataOnly : protobufObjectReader(kind);
  const finish = extent === "metadata" ? finishMetadata : finishWhole({ apiVersion: apiVersionOf(kind), kind: kind.kind });
  const path = collectionPath(kind, selection.namespace);

  const request = (query: Readonly<Record<string, string>>, accept: string): TransportRequest => {
    const parameters = new URLSearchParams(query);
    if (selection.labels) parameters.set("labelSelector", selection.labels);
    if (selection.fields) parameters.set("fieldSelector", selection.fields);
    return { method: "GET", path: `${path}?${parameters.toString()}`, headers: { accept }, lane: "watch" };
  };
  const accept = (list: boolean): string => {
    const as = extent === "metadata" ? `;as=PartialObjectMetadata${list ? "List" : ""};g=meta.k8s.io;v=v1` : "";
    const stream = list ? "" : ";stream=watch";
    return readObject ? `${protobufType}${as}${stream},${json}${as}` : `${json}${as}`;
  };
  const readerFor = (contentType: string): typeof readObject => {
    if (contentType.startsWith(protobufType)) {
      if (readObject) return readObject;
    } else if (contentType.startsWith(json)) return undefined;
    throw new WireError(`the API server answered in ${JSON.stringify(contentType)}, which was not asked for`);
  };

  return {
    streamRequest: (timeoutSeconds) =>
      request(
        {
          watch: "true",
          sendInitialEvents: "true",
          resourceVersionMatch: "NotOlderThan",
          allowWatchBookmarks: "true",
          timeoutSeconds: String(timeoutSeconds),
        },
        accept(false),
      ),
    watchRequest: (resourceVersion, timeoutSeconds) =>
      request({ watch: "true", resourceVersion, allowWatchBookmarks: "true", timeoutSeconds: String(timeoutSeconds) }, accept(false)),
    // Without a resourceVersion the server answers with its latest state, not with what some cache of it remembers.
    pageRequest: (pageSize, token) => request({ limit: String(pageSize), ...(token !== undefined && { continue: token }) }, accept(true)),
    watchDecoder: (contentType) => {
      const reader = readerFor(contentType);
      return reader ? new ProtobufWatchDecoder(reader) : new JsonWatchDecoder(finish);
    },
    decodePage: (contentType, bytes) => {
      const reader = readerFor(contentType);
      return reader ? decodeProtobufPage(bytes, reader) : decodeJsonPage(bytes, finish);
    },
  };
}

/** The `Status` in the body of an answer that is no success; empty when there is none. */
export function decodeStatus(contentType: string, bytes: Buffer): StatusBody {
  try {
    return (contentType.startsWith(protobufType) ? decodeProtobufStatus(bytes) : decodeJsonStatus(bytes)) ?? {};
  } catch (error) {
    // A proxy in between answers in whatever it likes; the HTTP status says enough.
    if (error instanceof WireError) return {};
    throw error;
  }
}
