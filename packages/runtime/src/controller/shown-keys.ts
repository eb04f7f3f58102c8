// What a controller shows of its keys outside of the cluster, such as in metrics, for as long as this process works on them.
import type { ObjectKey } from "../client/object.ts";

/** How something is shown of a key, and how that is undone. */
export interface KeyView<V> {
  show(key: ObjectKey, value: V): void;
  /** Called only for a key that is shown. */
  hide(key: ObjectKey): void;
}

/** The keys that are shown through one view. Outside of a term nothing is shown, whoever asks for it. */
export class ShownKeys<V> {
  readonly #view: KeyView<V>;
  readonly #isActive: () => boolean;
  readonly #keys = new Set<ObjectKey>();

  constructor(view: KeyView<V>, isActive: () => boolean) {
    this.#view = view;
    this.#isActive = isActive;
  }

  /** Shows this of a key, or nothing more. */
  set(key: ObjectKey, value: V | undefined): void {
    // A run that does not listen to its signal outlives its term.
    if (value === undefined || !this.#isActive()) return this.#hide(key);
    this.#keys.add(key);
    this.#view.show(key, value);
  }

  /** Hides everything, unless keys are worked on here. */
  sweep(): void {
    if (!this.#isActive()) for (const key of this.#keys) this.#hide(key);
  }

  #hide(key: ObjectKey): void {
    if (this.#keys.delete(key)) this.#view.hide(key);
  }
}
