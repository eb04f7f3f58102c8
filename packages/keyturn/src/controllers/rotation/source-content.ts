// Reads a source: which version it is, and what that version consists of.
import { Buffer } from "node:buffer";
import { deflateRawSync } from "node:zlib";
import { isRecord, type KubeObject, type ObjectMeta } from "@keyturn/runtime";
import { type Content, contentOf, digestOf, isOwnMember, storedContent } from "./content.ts";
import type { SourceContent } from "./observation.ts";
import { formatPath, objectWith, type ParsedPath, parsePath, type ResourcePath, valueAt } from "./resource-path.ts";
import { largestContentBytes } from "./version-record.ts";

/** The paths of a source as its marks give them. */
export interface SourcePaths {
  readonly watchPath: string | undefined;
  readonly rotatePath: string | undefined;
}

/** What reading a source gives. */
export interface ReadSource {
  readonly content: SourceContent;
  /** The version's content; absent if there is none. */
  readonly payload?: Content;
  /** See `SourceObservation.writtenAtMs`. */
  readonly writtenAtMs?: number;
}

/** What a Secret may hold, less what a version record needs besides. */
const largestRecordBytes = 1024 * 1024 - 4096;
/** Smaller ones fit in any case, so that nothing has to be tried. */
const surelyFitsBytes = 512 * 1024;
/** A version's text, less the names of its kind. */
const longestTextBytes = largestContentBytes - 4096;
/** Times of the server are cut to whole seconds; the write was not later than this after them. */
const timeStepMs = 1000;

/** Reads the source of a set. `resource` is its kind as `plural.group`. */
export function readSource(object: KubeObject, resource: string, paths: SourcePaths): ReadSource {
  const watch = parsePath(paths.watchPath);
  const rotate = paths.rotatePath === undefined ? watch : parsePath(paths.rotatePath);
  const wrong = wrongPath(watch, rotate);
  if (!watch.ok || !rotate.ok || wrong !== undefined) return refused("InvalidPath", wrong ?? "");
  const watched = watch.path.length === 0 ? contentOf(object) : valueAt(object, watch.path);
  const rotated = rotate.path.length === 0 ? contentOf(object) : valueAt(object, rotate.path);
  for (const [value, path] of [
    [watched, watch.path],
    [rotated, rotate.path],
  ] as const) {
    if (value === undefined) return refused("PathNotFound", `there is nothing at ${formatPath(path)} in ${resource}/${object.metadata.name ?? ""}`);
  }
  const payload = storedContent(resource, objectWith(rotate.path, rotated));
  const bytes = recordSize(payload);
  if (bytes > largestRecordBytes) {
    return refused("ContentTooLarge", `a version of ${bytes} bytes does not fit into a Secret; rotate less of it with the annotation rotate-path`);
  }
  const writtenAtMs = writtenAt(object.metadata, watch.path);
  // Mostly they are the same, and then one text serves for both for as long as it is remembered.
  const [watchDigest, digest] = [digestOf(watched), digestOf(payload)];
  return {
    content: { ok: true, watchDigest: watchDigest === digest ? digest : watchDigest, digest },
    payload,
    ...(writtenAtMs !== undefined && { writtenAtMs }),
  };
}

function refused(reason: "PathNotFound" | "InvalidPath" | "ContentTooLarge", message: string): ReadSource {
  return { content: { ok: false, reason, message } };
}

function wrongPath(watch: ParsedPath, rotate: ParsedPath): string | undefined {
  if (!watch.ok) return `watch-path: ${watch.message}`;
  if (!rotate.ok) return `rotate-path: ${rotate.message}`;
  const [first] = rotate.path;
  if (first === undefined || !isOwnMember(first)) return undefined;
  return `rotate-path: .${first} belongs to the object itself and cannot be rotated; give a rotate-path such as .data`;
}

/** How large a version's record is, or its content if that is too large by itself. */
function recordSize(payload: Content): number {
  const text = JSON.stringify(payload);
  if (text.length <= surelyFitsBytes) return text.length;
  // What is longer could not be unpacked again.
  const bytes = Buffer.byteLength(text);
  return bytes > longestTextBytes ? bytes : deflateRawSync(text).byteLength;
}

/** When the latest of those who own something under the path last changed something. */
function writtenAt({ managedFields = [] }: ObjectMeta, path: ResourcePath): number | undefined {
  const times = managedFields
    .filter(({ fieldsV1 }) => touches(fieldsV1, path))
    .map(({ time }) => Date.parse(time ?? ""))
    .filter((timeMs) => !Number.isNaN(timeMs));
  return times.length > 0 ? Math.max(...times) + timeStepMs : undefined;
}

function touches(fields: unknown, path: ResourcePath): boolean {
  if (!isRecord(fields)) return false;
  if (path.length === 0) return Object.keys(fields).some((name) => !isOwnMember(name.slice(2)));
  let owned: unknown = fields;
  for (const name of path) {
    if (!isRecord(owned)) return false;
    // Who owns a member and names nothing in it owns all of it.
    if (owned !== fields && Object.keys(owned).length === 0) return true;
    owned = owned[`f:${name}`];
  }
  return owned !== undefined;
}
