// How somebody likes the page: remembered by the browser, nowhere else.
import { effect, signal, type Signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
export type TimeStyle = "relative" | "absolute";

export interface Settings {
  readonly theme: Signal<Theme>;
  readonly timeStyle: Signal<TimeStyle>;
}

/** Reads what is remembered, and keeps the document's theme and the memory in line with it. */
export function loadSettings(): Settings {
  const theme = remembered<Theme>("keyturn.theme", ["system", "light", "dark"]);
  const timeStyle = remembered<TimeStyle>("keyturn.times", ["relative", "absolute"]);
  effect(() => {
    document.documentElement.dataset["theme"] = theme.value;
  });
  return { theme, timeStyle };
}

function remembered<T extends string>(key: string, choices: readonly [T, ...T[]]): Signal<T> {
  const stored = localStorage.getItem(key);
  const value = signal<T>(choices.find((choice) => choice === stored) ?? choices[0]);
  effect(() => localStorage.setItem(key, value.value));
  return value;
}
