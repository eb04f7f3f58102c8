// Wakes one who waits, however many reasons there are to.

/** A bell: what is rung while nobody waits is heard by the next who does. */
export class Bell {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
    this.#wake = undefined;
  }

  /** Resolves when it has been rung since the last time. One at a time may wait. */
  async heard(): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#rung = false;
  }
}
