// What every component can ask for.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { PageClock } from "./clock.ts";
import type { LivePicture } from "./live-picture.ts";
import type { Navigation } from "./navigation.ts";
import type { Settings } from "./settings.ts";

export interface Page {
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
