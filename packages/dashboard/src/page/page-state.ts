// What every part of the page can ask for: the token, the clock, the settings, the stages.
import { effect, type ReadonlySignal, signal, type Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { ObjectRecord, StageLayout, StageRecord } from "../contract/index.ts";
import type { LivePicture } from "./live-picture.ts";
import { tableName } from "./picture.ts";
import type { Navigation } from "./route.ts";

// What every part of the page can ask for: the token, the clock, the settings.

// What lets this page in: a token or secret, kept for this tab only.

const key = "keyturn.access";

/** Takes a secret out of the address, so that it is neither seen nor shared, and gives what is kept for this tab. */
export function takeAccessToken(): string | undefined {
  const secret = /^#secret=(.+)$/.exec(location.hash)?.[1];
  if (secret !== undefined) {
    keepAccessToken(decodeURIComponent(secret));
    history.replaceState(null, "", `${location.pathname}${location.search}`);
  }
  return sessionStorage.getItem(key) ?? undefined;
}

export function keepAccessToken(token: string): void {
  sessionStorage.setItem(key, token);
}

export function forgetAccessToken(): void {
  sessionStorage.removeItem(key);
}

// The time by the server's clock, as a signal that moves every second while somebody looks.

/** The server's time. */
export interface PageClock {
  /** Moves every second. */
  readonly now: ReadonlySignal<number>;
  /** The server's time at this moment. */
  read(): number;
  /** Sets the clock by what the server says. */
  set(serverNowMs: number): void;
}

/** Starts the clock of the page; it runs for as long as the page is there. */
export function startClock(): PageClock {
  let aheadMs = 0;
  const read = (): number => Date.now() + aheadMs;
  const now = signal(read());
  const move = (): void => {
    if (!document.hidden) now.value = read();
  };
  setInterval(move, 1000);
  document.addEventListener("visibilitychange", move);
  return {
    now,
    read,
    set(serverNowMs) {
      aheadMs = serverNowMs - Date.now();
      now.value = read();
    },
  };
}

// How somebody likes the page: remembered by the browser, nowhere else.

type Theme = "system" | "light" | "dark";
type TimeStyle = "relative" | "absolute";

interface Settings {
  readonly theme: Signal<Theme>;
  readonly timeStyle: Signal<TimeStyle>;
}

/** Reads what is remembered, and keeps the page's theme and the memory in line with it. */
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

// What every component can ask for.

interface Page {
  readonly live: LivePicture;
  readonly clock: PageClock;
  readonly navigation: Navigation;
  readonly settings: Settings;
}

export const PageContext = createContext<Page | undefined>(undefined);

/** The page that a component is on. */
export function usePage(): Page {
  const page = useContext(PageContext);
  if (page === undefined) throw new Error("using the page: no PageContext is provided");
  return page;
}

// The stages that a credential passes through, as the server describes them.

/** All of them; none before the server has been heard. */
export function useStages(): readonly StageLayout[] {
  return usePage().live.hello.value?.stages ?? [];
}

/** The name of a stage's view in the address: `roll-out`. */
export function viewOf({ verb }: Pick<StageLayout, "verb">): string {
  return verb.toLowerCase().replaceAll(" ", "-");
}

/** How a stage fares as a whole, as last heard. */
export function stageRecordOf(live: LivePicture, { step }: Pick<StageLayout, "step">): StageRecord | undefined {
  return live.stages.value.find((record) => record.step === step);
}

/** Everything that a stage is responsible for, table by table. What it counts is in the first; what is in the others wants attention as much. */
export function tablesOf(live: LivePicture, { step, tables }: Pick<StageLayout, "step" | "tables">): readonly (readonly ObjectRecord[])[] {
  return tables.map(({ id }) => live.table(tableName(step, id)));
}

/** `1 runtime`, `2 runtimes`. */
export function counted(count: number, { one, many }: Pick<StageLayout, "one" | "many">): string {
  return `${count} ${count === 1 ? one : many}`;
}
