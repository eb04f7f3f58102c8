// A gate that can be shut and opened again: what waits before it goes on when it opens.

/** Open at first. */
export class Gate {
  #opening: PromiseWithResolvers<void> | undefined;

  /** Resolves at once while the gate is open, else when it opens. */
  passed(): Promise<void> {
    return this.#opening?.promise ?? Promise.resolve();
  }

  shut(): void {
    this.#opening ??= Promise.withResolvers();
  }

  open(): void {
    this.#opening?.resolve();
    this.#opening = undefined;
  }
}
