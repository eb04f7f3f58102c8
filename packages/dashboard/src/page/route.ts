// The address of what is shown. It is all in the fragment, so that a link can be shared and the server never sees it.
import { type ReadonlySignal, signal } from "@preact/signals";
import type { ObjectRef } from "../contract/index.ts";

/** The views: `overview`, one for each stage that a credential passes through, such as `rotate`, and `object`, the page of one. */
type ViewName = string;

/** What names an object of the cluster. */
export type ObjectName = Pick<ObjectRef, "resource" | "namespace" | "name">;

/** Everything about a view that a link carries. */
export interface Route {
  readonly view: ViewName;
  /** What the object page is about. */
  readonly object: ObjectName | undefined;
  /** What the list is searched for. */
  readonly search: string;
  /** Only records of this health, or `all`. */
  readonly health: string;
  /** Only what is in this namespace; empty: in all. */
  readonly namespace: string;
  /** The column that rows are sorted by, with a dash before it downwards; empty: as they come. */
  readonly sort: string;
  /** The bar of a timeline whose details stay open. */
  readonly selected: string | undefined;
  /** Whether a timeline is shown as a table. */
  readonly table: boolean;
  /** How much time a timeline shows; undefined: what suits the data. */
  readonly spanMs: number | undefined;
  /** The beginning of what it shows; undefined: it follows the time. */
  readonly fromMs: number | undefined;
}

/** Where one begins. */
export const home: Route = {
  view: "overview",
  object: undefined,
  search: "",
  health: "all",
  namespace: "",
  sort: "",
  selected: undefined,
  table: false,
  spanMs: undefined,
  fromMs: undefined,
};

/** Reads a fragment; what cannot be understood is as if it were not there. */
export function parseRoute(fragment: string): Route {
  const [path = "", query = ""] = fragment.replace(/^#?\/?/, "").split("?", 2);
  const [name, ...rest] = path.split("/");
  const view = name === undefined || name === "" ? home.view : name;
  const object = view === "object" ? objectFrom(rest) : undefined;
  if (view === "object" && object === undefined) return home;
  const parameters = new URLSearchParams(query);
  return {
    view,
    object,
    search: parameters.get("search") ?? "",
    health: parameters.get("health") ?? "all",
    namespace: parameters.get("namespace") ?? "",
    sort: parameters.get("sort") ?? "",
    selected: parameters.get("selected") ?? undefined,
    table: parameters.get("as") === "table",
    spanMs: wholeNumber(parameters.get("span")),
    fromMs: wholeNumber(parameters.get("from")),
  };
}

/** The fragment of a route, with `#`. Only what is not as usual is in it. */
export function formatRoute(route: Route): string {
  const parameters = new URLSearchParams();
  if (route.search !== "") parameters.set("search", route.search);
  if (route.health !== "all") parameters.set("health", route.health);
  if (route.namespace !== "") parameters.set("namespace", route.namespace);
  if (route.sort !== "") parameters.set("sort", route.sort);
  if (route.selected !== undefined) parameters.set("selected", route.selected);
  if (route.table) parameters.set("as", "table");
  if (route.spanMs !== undefined) parameters.set("span", String(Math.round(route.spanMs)));
  if (route.fromMs !== undefined) parameters.set("from", String(Math.round(route.fromMs)));
  const query = parameters.toString();
  const path = [route.view, ...(route.object ? objectParts(route.object).map(encodeURIComponent) : [])].join("/");
  return `#/${path}${query === "" ? "" : `?${query}`}`;
}

/** The page of an object. */
export function objectRoute({ resource, namespace, name }: ObjectName): Route {
  return { ...home, view: "object", object: { resource, namespace, name } };
}

/** Stands for no namespace, where a part of a path may not be empty. */
const noNamespace = "-";

function objectParts({ resource, namespace, name }: ObjectName): readonly string[] {
  return [resource, namespace === "" ? noNamespace : namespace, name];
}

function objectFrom(parts: readonly string[]): ObjectName | undefined {
  const [resource = "", namespace = "", name = ""] = parts.map(decodeText);
  return resource === "" || name === "" ? undefined : { resource, namespace: namespace === noNamespace ? "" : namespace, name };
}

function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A link that was cut off while it was copied.
    return text;
  }
}

// The address as a signal.

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
