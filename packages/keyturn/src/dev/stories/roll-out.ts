// Roll out: a service mesh whose injector is upgraded now and then, so that running pods fall behind.
import { startIstiod } from "../stand-ins/istiod/istiod.ts";
import { again, type BeginStory } from "./story.ts";

const upgradeEveryMs = 60_000;

export const rollOutStory: BeginStory = async (cluster, stack) => {
  const istiod = stack.use(await startIstiod());
  await cluster.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: istiod.settings.namespace } });
  await cluster.apply([istiod.configMap(), istiod.revisionConfiguration()]);
  let release = 1;
  return {
    flags: { "sidecars.istiod-config-read-delay": "2s", "sidecars.annotation-cooldown": "20s" },
    happen: (signal) =>
      again(upgradeEveryMs, signal, async () => {
        istiod.configure({ tag: `1.27.${release++}` });
        await cluster.apply(istiod.configMap());
      }),
  };
};
