// `keyturn checksum announce` publishes the checksum of a state before it is written; `keyturn checksum allow` says that the state as it is is meant.
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { allowState, announceBatch, type Batch } from "../controllers/checksum/announce.ts";
import { readSigningKey } from "../controllers/checksum/announcement.ts";
import { parseManifests } from "../controllers/checksum/manifests.ts";
import { memberFlags, scopeFlags } from "../controllers/checksum/flags.ts";
import { ingressMemberKind, secretMemberKind } from "../controllers/checksum/member-kind.ts";
import { scopeChoiceOf } from "../controllers/checksum/scopes.ts";
import type { FlagReader } from "../feature/feature.ts";
import { durationFlag, listFlag, readFlags, switchFlag, textFlag, UsageError } from "../feature/flag.ts";
import type { Console } from "./command-line.ts";
import { answerQuery, queryFlags } from "./queries.ts";

const flags = {
  file: textFlag({ name: "file", short: "f", placeholder: "FILE|DIR|-", help: "the manifests that are going to be applied; - for standard input" }),
  delete: listFlag({ name: "delete", help: "what is going to be deleted, as secret/NAME or ingress/NAME" }),
  expires: durationFlag({ name: "expires", default: "10m", help: "how long the state may be awaited; then the state as it is is published" }),
  force: switchFlag({
    name: "force",
    default: false,
    help: "announce even if another announcement is about the same objects, or the newest checksum is not of the objects as they are",
  }),
  sign: textFlag({
    name: "sign",
    placeholder: "FILE",
    help: "sign with this private Ed25519 key (PEM); the operator and the agents are given the public one",
  }),
  wait: switchFlag({ name: "wait", default: false, help: "wait until the operator has seen the announced state, for as long as it may be awaited" }),
};

/** The flags of `keyturn checksum`. */
export const checksumCommandFlags = [...Object.values(flags), ...queryFlags, ...Object.values(memberFlags), ...scopeFlags];

/** Announces what the manifests say, or what is there. */
export async function checksumCommand(
  given: Readonly<Record<string, string | undefined>>,
  console: Console,
  [action]: readonly string[],
): Promise<void> {
  if (action !== "announce" && action !== "allow") throw new UsageError(`checksum: there is no action "${action}"; there are announce and allow`);
  const { file, expires, force, delete: deleted, sign, wait } = readFlags(flags, given, console.environment);
  if (action === "announce" && file === undefined && deleted.length === 0)
    throw new UsageError("checksum announce: say with -f which manifests are going to be applied, or use --delete");
  if (action === "allow" && (file !== undefined || deleted.length > 0))
    throw new UsageError("checksum allow: it takes no manifests: it is about what is there");
  const flag: FlagReader = (each) => readFlags({ flag: each }, given, console.environment).flag;
  const options = {
    secrets: secretMemberKind(flag),
    ingresses: ingressMemberKind(flag),
    scopeChoice: scopeChoiceOf(flag),
    expiresInMs: expires,
    force,
    key: sign === undefined ? undefined : await readKey(sign),
    waitMs: wait ? expires : undefined,
  };
  if (action === "allow") {
    await answerQuery(given, console, (query) => allowState(query, options));
    return;
  }
  const batch: Batch = { manifests: file === undefined ? [] : await readBatch(file), deletions: deleted.map(parseDeletion) };
  await answerQuery(given, console, (query) => announceBatch(query, batch, options));
}

async function readKey(path: string): Promise<ReturnType<typeof readSigningKey>> {
  try {
    return readSigningKey(await readFile(path, "utf8"));
  } catch (cause) {
    // What OpenSSL says may quote the key.
    throw new UsageError(`--sign: ${path} cannot be read, or holds no private Ed25519 key in PEM`, { cause });
  }
}

async function readBatch(path: string): Promise<Batch["manifests"]> {
  if (path === "-") return parseManifests(await text(process.stdin), "standard input");
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    (error: unknown) => {
      throw new UsageError(`--file: cannot read ${path}: there is no such file or folder`, { cause: error });
    },
  );
  const files = isFolder ? (await readdir(path, { recursive: true })).filter((name) => /\.(ya?ml|json)$/.test(name)).sort() : [""];
  const texts = await Promise.all(files.map(async (name) => ({ source: join(path, name), content: await readFile(join(path, name), "utf8") })));
  return texts.flatMap(({ source, content }) => parseManifests(content, source));
}

function parseDeletion(deletion: string): Batch["deletions"][number] {
  const [, kind, name] = /^(secret|ingress)s?(?:es)?\/([^/]+)$/.exec(deletion) ?? [];
  if (kind === undefined || name === undefined) throw new UsageError(`--delete: "${deletion}" is not secret/NAME or ingress/NAME`);
  return { kind: kind === "secret" ? "Secret" : "Ingress", name };
}
