// What is being served: the promoted snapshot, whether its files are whole, and how promotions go.
import { type Clock, type Logger, messageOf } from "@keyturn/runtime";
import { type Attempt, attemptOf } from "./status.ts";
import type { Manifest } from "./manifest.ts";
import type { Snapshot } from "./snapshot-folder.ts";
import { ChangedMeanwhileError, type SnapshotStore, type ReadSecrets } from "./snapshots.ts";
import { failedAgain, type Retry, untried } from "./agent.ts";

/** What cannot be mended now may be later, when somebody has restored a file. */
const mendEveryMs = 60_000;

/** What a served set needs. */
interface ServedSetOptions {
  readonly store: SnapshotStore;
  /** How often the promoted files are verified. */
  readonly verifyEveryMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Guarantees: `promoted` is what `current` points to, and was whole when it was last looked at unless `damage` says otherwise. Nothing rejects. */
export class ServedSet {
  readonly #options: ServedSetOptions;
  #promoted: Snapshot | undefined;
  /** Whether the disk could be looked at. If not, nobody knows what is served. */
  #isKnown = false;
  #isWhole = true;
  #broken: ReadonlySet<string> = new Set();
  #mendNotBeforeMs = -Infinity;
  #damage: string | undefined;
  #trouble: string | undefined;
  #attempt: Attempt | undefined;
  #retry: Retry = untried;
  #nextVerificationMs = 0;

  constructor(options: ServedSetOptions) {
    this.#options = options;
  }

  get promoted(): Snapshot | undefined {
    return this.#promoted;
  }

  /** Whether the promoted files were what they should be when they were last looked at. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Promoted Secrets of which nothing whole is on the disk. */
  get broken(): ReadonlySet<string> {
    return this.#broken;
  }

  /** What was wrong with promoted files, until a promotion or `forgive`. The snapshot that is served now may be another one, and whole. */
  get damage(): string | undefined {
    return this.#damage;
  }

  /** Why the last promotion failed; undefined if it did not. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  get attempt(): Attempt | undefined {
    return this.#attempt;
  }

  /** From when on a promotion may be tried, on the monotonic scale. */
  get notBeforeMs(): number {
    return this.#retry.notBeforeMs;
  }

  /** What is served has turned out to be what it should be: earlier damage and failures are of no interest any more. */
  forgive(): void {
    this.#damage = this.#trouble = undefined;
    this.#retry = untried;
  }

  /** Looks at the disk: `current` is verified, and what is not whole is mended from other snapshots. Nothing is removed: what is newer may be needed once it can be verified. */
  async recover(): Promise<void> {
    const { store, clock, log } = this.#options;
    try {
      const { promoted, isWhole, broken, damages } = await store.recover(clock.now());
      this.#isKnown = true;
      this.#promoted = promoted;
      this.#broken = broken;
      this.#isWhole = isWhole;
      if (damages.length > 0) {
        this.#damage = damages.join("; ");
        log.error({ damage: this.#damage, serving: promoted?.name, broken: broken.size }, "promoted files were damaged");
      }
    } catch (error) {
      this.#isKnown = this.#promoted !== undefined;
      this.#isWhole = false;
      this.#damage = `the disk cannot be used: ${messageOf(error)}`;
      log.error({ err: error }, "could not look at the promoted files");
    }
    this.#nextVerificationMs = clock.monotonic() + this.#options.verifyEveryMs;
    this.#mendNotBeforeMs = clock.monotonic() + mendEveryMs;
  }

  /** The same, if files are damaged and it was not tried just now. */
  async mend(): Promise<void> {
    if (!this.#isWhole && this.#options.clock.monotonic() >= this.#mendNotBeforeMs) await this.recover();
  }

  /** Verifies the promoted files if it is time to. True if they are whole, as far as is known. */
  async verifyFromTimeToTime(): Promise<boolean> {
    const { store, clock, verifyEveryMs, log } = this.#options;
    if (!this.#promoted || clock.monotonic() < this.#nextVerificationMs) return this.#isWhole;
    this.#nextVerificationMs = clock.monotonic() + verifyEveryMs;
    try {
      const { isWhole, broken, damages } = await store.check(this.#promoted);
      this.#isWhole = isWhole;
      this.#broken = broken;
      if (damages.length === 0) return isWhole;
      this.#damage = damages.join("; ");
    } catch (error) {
      this.#isWhole = false;
      this.#damage = `the disk cannot be used: ${messageOf(error)}`;
    }
    this.#mendNotBeforeMs = -Infinity;
    log.error({ damage: this.#damage }, "promoted files are damaged");
    return this.#isWhole;
  }

  /**
   * Promotes a set. False if that failed; what was served before is then still served. As long as nobody knows what that is, it is looked for instead: a set
   * can only be judged by what it takes the place of.
   */
  async promote(manifest: Manifest, read: ReadSecrets): Promise<boolean> {
    const { store, clock, log } = this.#options;
    if (!this.#isKnown) {
      await this.recover();
      if (!this.#isKnown) this.#retry = failedAgain(this.#retry, clock.monotonic());
      return this.#isKnown;
    }
    const beganMs = clock.monotonic();
    const finish = (ok: boolean, detail: string): Attempt =>
      (this.#attempt = attemptOf({ ok, detail, durationMs: Math.round(clock.monotonic() - beganMs) }, clock.now()));
    try {
      this.#promoted = await store.promote(manifest, { snapshot: this.#promoted, isWhole: this.#isWhole }, read);
    } catch (error) {
      this.#retry = failedAgain(this.#retry, clock.monotonic());
      const { detail } = finish(false, messageOf(error));
      if (error instanceof ChangedMeanwhileError) {
        log.info({ reason: detail }, "not promoted: the change that explains it is on its way");
        return false;
      }
      this.#trouble = detail;
      log.error({ err: error, failures: this.#retry.failures }, "could not promote; what was served before is still served");
      // The step that failed may have been one after `current` had moved.
      await this.recover();
      return false;
    }
    this.#isWhole = true;
    this.#broken = new Set();
    this.#damage = this.#trouble = undefined;
    this.#retry = untried;
    this.#nextVerificationMs = clock.monotonic() + this.#options.verifyEveryMs;
    const { durationMs } = finish(true, `${Object.keys(manifest.secrets).length} Secrets`);
    log.info({ generation: this.#promoted.name, secrets: Object.keys(manifest.secrets).length, matched: manifest.matched, durationMs }, "promoted");
    await this.#prune();
    return true;
  }

  /** Old snapshots are only in the way: failing to remove them is worth a line and no more. */
  async #prune(): Promise<void> {
    const { store, log } = this.#options;
    if (!this.#promoted) return;
    await store.prune(this.#promoted).catch((error: unknown) => log.warn({ err: error }, "could not remove old generations"));
  }
}
