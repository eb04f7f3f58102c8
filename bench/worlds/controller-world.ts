// What a controller of the product works on in a scenario: a number of objects, and everything around them that it talks to.
import type { Bed } from "../scenario.ts";

/** The surroundings of one controller at one size, in namespaces of their own. Disposing of it removes what would slow down later runs. */
export interface ControllerWorld extends AsyncDisposable {
  readonly namespaces: readonly string[];
  /** The feature's flags that fit this world. */
  readonly flags: Readonly<Record<string, string>>;
  /** How many requests have been made so far to others than the API server. */
  readonly asked?: () => number;
  /** What the controller's own program takes after its name. */
  readonly args: readonly string[];
}

/** Makes a world of `size` objects; `name` is part of the names of its namespaces, and used once. */
export type MakeWorld = (bed: Bed, options: { readonly name: string; readonly size: number }) => Promise<ControllerWorld>;
