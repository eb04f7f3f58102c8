// The features of this build, and the choice among them that `--controllers` makes.
import { type ControllerDefinition, resourceOf } from "@keyturn/runtime";
import { readFlags, UsageError } from "./feature/flag.ts";
import { eventingAuthFeature } from "./controllers/eventing-auth/feature.ts";
import { checksumFeature } from "./controllers/checksum/feature.ts";
import { jwksFeature } from "./controllers/jwks/feature.ts";
import { consumersFeature } from "./controllers/consumers/feature.ts";
import { rotationFeature } from "./controllers/rotation/feature.ts";
import { sidecarsFeature } from "./controllers/sidecars/feature.ts";
import type { Feature, FeatureName, StageController } from "./feature/feature.ts";
import { isRollouts, rolloutsController } from "./workloads/rollouts.ts";
import { unitedOptions } from "./workloads/rollouts-options.ts";

/** Every feature that this build has. */
export const features: readonly Feature[] = [eventingAuthFeature, rotationFeature, jwksFeature, checksumFeature, sidecarsFeature, consumersFeature];

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
  return withOneRollouts(chosen.flatMap((feature) => feature.controllers((flag) => readFlags({ flag }, given, environment).flag)));
}

/** One controller in place of several that restart workloads: each workload is restarted once, for all that want it, and there is one budget. */
function withOneRollouts(definitions: readonly ControllerDefinition[]): readonly ControllerDefinition[] {
  const [first, ...others] = definitions.filter(isRollouts);
  if (!first || others.length === 0) return definitions;
  const united = rolloutsController(others.reduce((options, other) => unitedOptions(options, other.options), first.options));
  return definitions.flatMap((definition) => (definition === first ? [united] : isRollouts(definition) ? [] : [definition]));
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
