// Does one of the operators that Keyturn takes the place of still run, over the same objects?
import { Deployment, isApiError, type Stored } from "@keyturn/runtime";
import type { FeatureName } from "../feature/feature.ts";
import type { CheckContext } from "./doctor.ts";
import { fail, type Finding, ok, warn } from "./finding.ts";

/** What a predecessor is known by: the image that its release has, wherever it was copied to. */
interface Predecessor {
  readonly feature: FeatureName;
  readonly name: string;
  /** The last part of the image's name, without registry, tag and digest. */
  readonly image: string;
  readonly guide: string;
}

const predecessors: readonly Predecessor[] = [
  { feature: "eventing-auth", name: "eventing-auth-manager", image: "eventing-auth-manager", guide: "docs/migration/from-eventing-auth-manager.md" },
  { feature: "rotation", name: "k8s-rotator", image: "k8s-rotator", guide: "docs/migration/from-k8s-rotator.md" },
  { feature: "jwks", name: "jwks-operator", image: "jwks-operator", guide: "docs/migration/from-jwks-operator.md" },
  { feature: "sidecars", name: "Fortsa", image: "fortsa", guide: "docs/migration/from-fortsa.md" },
];

/** Looks through the Deployments. */
export async function checkPredecessors({ client, features, signal }: CheckContext): Promise<readonly Finding[]> {
  try {
    const { items } = await client.list(Deployment, {}, signal);
    return predecessorFindings(items, features);
  } catch (error) {
    if (!isApiError(error, "Forbidden")) throw error;
    return [
      warn(
        "originals",
        "you may not list Deployments in all namespaces, so other operators were not looked for",
        "make sure that none of those that Keyturn takes the place of still runs",
      ),
    ];
  }
}

/** Judges what runs. */
export function predecessorFindings(deployments: readonly Stored<Deployment>[], features: readonly FeatureName[]): readonly Finding[] {
  const found = predecessors
    .filter(({ feature }) => features.includes(feature))
    .flatMap(({ name, image, feature, guide }) =>
      deployments
        .filter((deployment) => (deployment.spec?.replicas ?? 1) > 0 && imagesOf(deployment).includes(image))
        .map(({ metadata }) =>
          fail(
            "originals",
            `${name} still runs as Deployment ${metadata.namespace}/${metadata.name}, over the same objects as ${feature}`,
            `scale it to 0, or leave ${feature} out of --controllers; see ${guide}`,
          ),
        ),
    );
  return found.length > 0 ? found : [ok("originals", "none of the operators that Keyturn takes the place of runs beside it")];
}

/** The last parts of the images' names: `fortsa` of `registry:5000/a/fortsa:v1@sha256:…`. */
function imagesOf({ spec }: Deployment): readonly string[] {
  const containers = spec?.template?.spec?.containers ?? [];
  return containers.map(({ image = "" }) => image.split("@")[0]?.split("/").at(-1)?.split(":")[0] ?? "");
}
