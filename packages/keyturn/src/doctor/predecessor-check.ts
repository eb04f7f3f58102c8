// Does one of the operators that Keyturn takes the place of still run, over the same objects?
import { Deployment, isApiError, type Stored } from "@keyturn/runtime";
import { fail, type Feature, type Finding, ok, warn } from "../feature/feature.ts";
import type { CheckContext } from "./doctor.ts";

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
export function predecessorFindings(deployments: readonly Stored<Deployment>[], features: readonly Feature[]): readonly Finding[] {
  const found = features.flatMap(({ name, predecessor }) =>
    deployments
      .filter(
        (deployment) => (deployment.spec?.replicas ?? 1) > 0 && predecessor?.image !== undefined && imagesOf(deployment).includes(predecessor.image),
      )
      .map(({ metadata }) =>
        fail(
          "originals",
          `${predecessor?.name} still runs as Deployment ${metadata.namespace}/${metadata.name}, over the same objects as ${name}`,
          `scale it to 0, or leave ${name} out of --controllers; see ${predecessor?.guide}`,
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
