// A piece of configuration text: given once, or in a file that others replace while we run.
import { readFile, stat } from "node:fs/promises";
import type { Clock } from "../../clock.ts";
import { CredentialError } from "./credentials.ts";

/** Text that may change. */
export interface TextSource {
  /** The current text. Rejects with `CredentialError` only if it was never readable. */
  read(): Promise<string>;
  /** Looks now, whatever was seen last. Resolves to true if the text is another than before. */
  reread(): Promise<boolean>;
}

/** Text that never changes. */
export function fixedText(text: string): TextSource {
  return { read: () => Promise.resolve(text), reread: () => Promise.resolve(false) };
}

/** How often a file's dates are looked at. */
const statIntervalMs = 10_000;
/** How old the text may get even if the dates do not change: client-go's period for token files. */
const maxAgeMs = 60_000;

/** The text of a file, followed as it changes. `what` names it in errors. A file that is away for a while keeps its last text. */
export function fileText(path: string, what: string, clock: Clock): TextSource {
  return new FileText(path, what, clock);
}

interface Seen {
  readonly text: string;
  readonly fingerprint: string;
  readonly readMs: number;
}

class FileText implements TextSource {
  readonly #path: string;
  readonly #what: string;
  readonly #clock: Clock;
  #seen: Seen | undefined;
  #checkedMs = -Infinity;
  #loading: Promise<boolean> | undefined;

  constructor(path: string, what: string, clock: Clock) {
    this.#path = path;
    this.#what = what;
    this.#clock = clock;
  }

  async read(): Promise<string> {
    if (!this.#seen || this.#clock.monotonic() - this.#checkedMs >= statIntervalMs) {
      this.#loading ??= this.#load(false).finally(() => (this.#loading = undefined));
      await this.#loading;
    }
    return this.#seen?.text ?? "";
  }

  reread(): Promise<boolean> {
    return this.#load(true);
  }

  async #load(force: boolean): Promise<boolean> {
    const before = this.#seen;
    this.#checkedMs = this.#clock.monotonic();
    try {
      // Kubernetes swaps a symbolic link to replace a mounted file, which shows as another inode; `stat` follows links.
      const { mtimeNs, size, ino } = await stat(this.#path, { bigint: true });
      const fingerprint = `${mtimeNs}/${size}/${ino}`;
      const nowMs = this.#clock.monotonic();
      if (!force && before?.fingerprint === fingerprint && nowMs - before.readMs < maxAgeMs) return false;
      const text = await readFile(this.#path, "utf8");
      if (text.trim() === "") throw new Error("the file is empty");
      this.#seen = { text, fingerprint, readMs: nowMs };
      return text !== before?.text;
    } catch (cause) {
      // A file in the middle of being replaced: what we have is most likely still good, and the server will say if it is not.
      if (before) return false;
      throw new CredentialError(`cannot read ${this.#what} from ${this.#path}: ${causeText(cause)}`, { cause });
    }
  }
}

function causeText(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const code = "code" in cause ? cause.code : undefined;
  return code === "ENOENT" ? "there is no such file" : code === "EACCES" ? "permission denied" : cause.message;
}
