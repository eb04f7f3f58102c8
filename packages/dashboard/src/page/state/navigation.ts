// The address as a signal.
import { signal, type ReadonlySignal } from "@preact/signals";
import { formatRoute, parseRoute, type Route } from "../route/route.ts";

export interface Navigation {
  readonly route: ReadonlySignal<Route>;
  /** Goes somewhere; the way back leads here. */
  go(route: Route): void;
  /** Changes what is shown here, such as a search, without a step in the history for each letter. */
  adjust(change: Partial<Route>): void;
}

/** Browsers refuse more than a few changes of the address per second, and dragging a timeline makes many. */
const addressDelayMs = 250;

/** Follows the address. */
export function startNavigation(): Navigation {
  const route = signal(parseRoute(location.hash));
  let timer: ReturnType<typeof setTimeout> | undefined;
  const writeAddress = (): void => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    history.replaceState(null, "", formatRoute(route.value));
  };
  // A link may be followed before the address is written; the way back must lead to what was shown.
  addEventListener("click", writeAddress, { capture: true });
  addEventListener("hashchange", () => {
    clearTimeout(timer);
    timer = undefined;
    route.value = parseRoute(location.hash);
  });
  return {
    route,
    go(next) {
      writeAddress();
      location.hash = formatRoute(next);
    },
    adjust(change) {
      route.value = { ...route.value, ...change };
      timer ??= setTimeout(writeAddress, addressDelayMs);
    },
  };
}
