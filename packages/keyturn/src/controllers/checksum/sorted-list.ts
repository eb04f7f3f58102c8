// A list of texts that stays in order while single ones come and go. The same text may be in it several times.

/** Up to so many changes, moving the rest of the list aside for each is quicker than sorting it anew. */
const fewChanges = 32;

/** Texts in the order of their UTF-16 units, which for ASCII is the order of bytes. */
export class SortedList {
  #items: string[] = [];
  /** Changes that are not in the list yet, as what each text's number is to change by. */
  readonly #pending = new Map<string, number>();

  /** All texts in order, as they are now; a later change does not show in what was returned. */
  items(): readonly string[] {
    if (this.#pending.size > 0) this.#items = this.#pending.size > fewChanges ? this.#sortedAnew() : this.#changed();
    this.#pending.clear();
    return this.#items;
  }

  add(item: string): void {
    this.#count(item, 1);
  }

  /** Takes one such text out. It must be there. */
  remove(item: string): void {
    this.#count(item, -1);
  }

  #count(item: string, change: number): void {
    const sum = (this.#pending.get(item) ?? 0) + change;
    if (sum === 0) this.#pending.delete(item);
    else this.#pending.set(item, sum);
  }

  #changed(): string[] {
    const items = [...this.#items];
    for (const [item, sum] of this.#pending) {
      const place = placeOf(item, items);
      items.splice(place, Math.max(0, -sum), ...Array.from({ length: Math.max(0, sum) }, () => item));
    }
    return items;
  }

  #sortedAnew(): string[] {
    const removals = new Map(this.#pending);
    const kept = this.#items.filter((item) => {
      const sum = removals.get(item) ?? 0;
      if (sum < 0) removals.set(item, sum + 1);
      return sum >= 0;
    });
    for (const [item, sum] of this.#pending) for (let more = sum; more > 0; more--) kept.push(item);
    return kept.sort();
  }
}

/** Where the item is first, or would be. */
function placeOf(item: string, items: readonly string[]): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((items[middle] ?? "") < item) low = middle + 1;
    else high = middle;
  }
  return low;
}
