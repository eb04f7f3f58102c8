// The features of this build, and the choice among them that `--controllers` makes.
import { UsageError } from "../flags/flag.ts";
import { jwksFeature } from "./jwks/feature.ts";
import { type Feature, featureNames } from "./feature.ts";

/** Every feature that this build has. */
export const features: readonly Feature[] = [jwksFeature];

/** The features that a `--controllers` value names: `all`, or a list. Throws a `UsageError` that lists the names there are. */
export function chooseFeatures(choice: string, available: readonly Feature[] = features): readonly Feature[] {
  if (choice === "all") return available;
  const wanted = choice.split(",").map((name) => name.trim());
  const unknown = wanted.find((name) => !featureNames.some((known) => known === name));
  if (unknown !== undefined) throw new UsageError(`--controllers: there is no controller "${unknown}"; there are ${list(featureNames)} (or all)`);
  return wanted.map((name) => {
    const feature = available.find((candidate) => candidate.name === name);
    if (!feature) throw new UsageError(`--controllers: ${name} is not part of this build; it has ${list(available.map((each) => each.name))}`);
    return feature;
  });
}

function list(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.join(", ");
}
