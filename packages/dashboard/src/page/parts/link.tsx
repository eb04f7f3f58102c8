// Links within the page.
import type { ComponentChildren, JSX } from "preact";
import type { ObjectRef } from "../../contract/index.ts";
import { formatRoute, objectRoute } from "../route/route.ts";

/** A link to the page of an object. */
export function ObjectLink({
  to,
  children,
  tabIndex,
}: {
  readonly to: ObjectRef;
  readonly children?: ComponentChildren;
  readonly tabIndex?: number;
}): JSX.Element {
  return (
    <a href={formatRoute(objectRoute(to))} tabIndex={tabIndex}>
      {children ?? to.name}
    </a>
  );
}
