// The agent's status as a file in its folder, for whoever has the disk and no network.
import { join } from "node:path";
import type { Logger } from "@keyturn/runtime";
import type { AgentStatus } from "./agent-status.ts";
import { type Disk, replaceFile } from "./disk.ts";

/** Writes `status.json` when the status changes, one write at a time. A disk that does not take it is no reason to stop anything. */
export class StatusFile {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #log: Logger;
  #wanted = "";
  #written = "";
  #writing: Promise<void> | undefined;

  constructor(disk: Disk, folder: string, log: Logger) {
    this.#disk = disk;
    this.#path = join(folder, "status.json");
    this.#log = log;
  }

  /** When it was last verified changes all the time and is worth no write of its own. */
  show(status: AgentStatus): void {
    this.#wanted = `${JSON.stringify({ ...status, verifiedAt: undefined }, undefined, 2)}\n`;
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
  }

  /** Resolves when nothing is being written any more. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#written !== this.#wanted) {
      const content = this.#wanted;
      try {
        await replaceFile(this.#disk, this.#path, { content, mode: 0o644 });
        this.#written = content;
      } catch (error) {
        // The next change of the status tries again.
        return this.#log.debug({ err: error }, "could not write status.json");
      }
    }
  }
}
