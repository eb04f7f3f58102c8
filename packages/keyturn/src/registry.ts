// The features of this build, and the choice among them that `--controllers` makes.
import { type ControllerDefinition, resourceOf } from "@keyturn/runtime";
import { readFlags, UsageError } from "./feature/flag.ts";
import { eventingAuthFeature } from "./controllers/eventing-auth/feature.ts";
import { checksumFeature } from "./controllers/checksum/feature.ts";
import { jwksFeature } from "./controllers/jwks/feature.ts";
import { rotationFeature } from "./controllers/rotation/feature.ts";
import { sidecarsFeature } from "./controllers/sidecars/feature.ts";
import type { Feature, FeatureName, StageController } from "./feature/feature.ts";

/** Every feature that this build has. */
export const features: readonly Feature[] = [eventingAuthFeature, rotationFeature, jwksFeature, checksumFeature, sidecarsFeature];

/** The features that a `--controllers` value names: `all`, or a list. Throws a `UsageError` that lists the names there are. */
export function chooseFeatures(choice: string, available: readonly Feature[] = features): readonly Feature[] {
  if (choice === "all") return available;
  return choice.split(",").map((text) => {
    const name = text.trim();
    const feature = available.find((candidate) => candidate.name === name);
    if (feature) return feature;
    throw new UsageError(`--controllers: there is no controller "${name}"; there are ${available.map((each) => each.name).join(", ")} (or all)`);
  });
}

/** Texts by name: flags as given on the command line, variables of the environment. */
type Texts = Readonly<Record<string, string | undefined>>;

/** The controllers of some features, with their flags read. */
export function controllersOf(chosen: readonly Feature[], given: Texts, environment: Texts): readonly ControllerDefinition[] {
  return chosen.flatMap((feature) => feature.controllers((flag) => readFlags({ flag }, given, environment).flag));
}

/** The controllers of each feature with these flags. */
export function stageControllers(
  given: Texts = {},
  environment: Texts = {},
  registry: readonly Feature[] = features,
): Readonly<Record<FeatureName, readonly StageController[]>> {
  const shown = ({ name, access }: ControllerDefinition): StageController => ({
    name,
    resources: access.flatMap(({ kind, subresource }) => (subresource === "status" ? [resourceOf(kind)] : [])),
  });
  return Object.fromEntries(registry.map((feature) => [feature.name, controllersOf([feature], given, environment).map(shown)]));
}
