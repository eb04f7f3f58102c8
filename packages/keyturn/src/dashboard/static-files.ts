// The page's files as they are answered: compressed once, named by what they hold.
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { pageFiles } from "./page-files.ts";

/** One file, in every form in which it may be asked for. */
interface StaticFile {
  readonly contentType: string;
  readonly etag: string;
  /** Its name changes with its content: it may be kept for ever. */
  readonly isImmutable: boolean;
  readonly plain: Uint8Array;
  /** Undefined if that would not make it smaller. */
  readonly brotli: Uint8Array | undefined;
  readonly gzip: Uint8Array | undefined;
}

/** The files by path. */
export type StaticFiles = ReadonlyMap<string, StaticFile>;

/** What to say where there are none, as in a fresh checkout. */
export const unbuiltText =
  "the dashboard's page has not been built in this checkout; make build builds it, and make run builds it and starts keyturn dev";

/** The page itself. */
export const indexPath = "index.html";

const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  json: "application/json",
  png: "image/png",
  ico: "image/vnd.microsoft.icon",
  woff2: "font/woff2",
  txt: "text/plain; charset=utf-8",
};

/** Reads and compresses them. */
export async function readStaticFiles(files: () => Promise<ReadonlyMap<string, Uint8Array>> = pageFiles): Promise<StaticFiles> {
  const read = await files();
  return new Map(await Promise.all(Array.from(read, async ([path, bytes]) => [path, await staticFile(path, bytes)] as const)));
}

async function staticFile(path: string, plain: Uint8Array): Promise<StaticFile> {
  const [brotli, zipped] = await Promise.all([
    promisify(brotliCompress)(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
    promisify(gzip)(plain, { level: 9 }),
  ]);
  return {
    contentType: contentTypes[path.slice(path.lastIndexOf(".") + 1)] ?? "application/octet-stream",
    etag: `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`,
    isImmutable: path.startsWith("assets/"),
    plain,
    brotli: brotli.length < plain.length ? brotli : undefined,
    gzip: zipped.length < plain.length ? zipped : undefined,
  };
}

/** The form of a file that suits what the client accepts. */
export function encodedFile(
  { plain, brotli, gzip: zipped }: StaticFile,
  acceptEncoding: string,
): { readonly encoding: string | undefined; readonly bytes: Uint8Array } {
  const accepted = new Set(
    acceptEncoding
      .split(",")
      .map((part) => part.trim().toLowerCase())
      .filter((part) => !/;\s*q=0(?:\.0+)?$/.test(part))
      .map((part) => part.split(";")[0]),
  );
  if (brotli && accepted.has("br")) return { encoding: "br", bytes: brotli };
  if (zipped && accepted.has("gzip")) return { encoding: "gzip", bytes: zipped };
  return { encoding: undefined, bytes: plain };
}
