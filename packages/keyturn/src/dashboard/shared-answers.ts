// Answers that are asked for by many at a time: asked for once, and kept for a moment.
import { type Clock, LruMap } from "@keyturn/runtime";

/** Answers by key. One question per key is under way at a time; what fails is not kept. */
export class SharedAnswers<T> {
  readonly #answers: LruMap<string, { readonly answer: Promise<T>; untilMs: number }>;
  readonly #clock: Clock;
  readonly #freshMs: number;

  constructor({ clock, freshMs, most }: { readonly clock: Clock; readonly freshMs: number; readonly most: number }) {
    this.#clock = clock;
    this.#freshMs = freshMs;
    this.#answers = new LruMap(most);
  }

  /** The answer, asked for with `ask` if there is none. */
  get(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.#answers.get(key);
    if (known && known.untilMs > this.#clock.monotonic()) return known.answer;
    const entry = { answer: ask(), untilMs: Infinity };
    this.#answers.set(key, entry);
    entry.answer.then(
      () => {
        entry.untilMs = this.#clock.monotonic() + this.#freshMs;
      },
      () => {
        if (this.#answers.get(key) === entry) this.#answers.delete(key);
      },
    );
    return entry.answer;
  }
}
