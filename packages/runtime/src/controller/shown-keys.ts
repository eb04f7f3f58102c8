// What a controller shows of its keys outside of the cluster, such as in metrics, for as long as this process works on them.
import type { ObjectKey } from "../client/object.ts";

/** How something is shown of a key, and how that is undone. */
export interface KeyView<V> {
  show(key: ObjectKey, value: V): void;
  /** Called only for a key that is shown. */
  hide(key: ObjectKey): void;
}

/** The keys that are shown through one view. A key that is not worked on here is not shown, whoever asks for it. */
export class ShownKeys<V> {
  readonly #view: KeyView<V>;
  readonly #isWorkedOn: (key: ObjectKey) => boolean;
  readonly #keys = new Set<ObjectKey>();

  constructor(view: KeyView<V>, isWorkedOn: (key: ObjectKey) => boolean) {
    this.#view = view;
    this.#isWorkedOn = isWorkedOn;
  }

  /** Shows this of a key, or nothing more. */
  set(key: ObjectKey, value: V | undefined): void {
    // A run that does not listen to its signal outlives its term.
    if (value === undefined || !this.#isWorkedOn(key)) return this.#hide(key);
    this.#keys.add(key);
    this.#view.show(key, value);
  }

  /** Hides the keys that are no longer worked on here. */
  sweep(): void {
    for (const key of this.#keys) if (!this.#isWorkedOn(key)) this.#hide(key);
  }

  #hide(key: ObjectKey): void {
    if (this.#keys.delete(key)) this.#view.hide(key);
  }
}
