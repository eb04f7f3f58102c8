// A model controller for simulations: keeps, for each Secret that asks for it, a ConfigMap with a digest of the Secret's data.
import { createHash } from "node:crypto";
import type { Cache } from "../../src/cache/cache.ts";
import { ConfigMap, Secret } from "../../src/client/builtin-kinds.ts";
import { nameOf, type Stored } from "../../src/client/kind.ts";
import type { ControllerDefinition, Run } from "../../src/controller/controller.ts";
import { addFinalizer, dropFinalizer, isBeingDeleted } from "../../src/controller/finalizer.ts";
import { managedBySelector, type Operator, ownedWriter, ownerOf } from "../../src/controller/owned-objects.ts";

export const operator: Operator = { name: "model", domain: "model.keyturn.io" };
export const finalizer = "model.keyturn.io/mirror";
/** A Secret with this label is mirrored. */
export const mirrorLabel = "model.keyturn.io/mirror";

/** What is kept of a Secret: never its data. */
interface KeptSecret {
  readonly metadata: Stored<Secret>["metadata"];
  readonly digest: string;
}

/** The digest that the ConfigMap of a Secret shows. */
export function digestOf(data: Readonly<Record<string, unknown>> | undefined): string {
  return createHash("sha256")
    .update(JSON.stringify(data ?? {}))
    .digest("hex")
    .slice(0, 12);
}

/** The controller. Right by construction as long as the runtime keeps its promises. */
export const mirrorController: ControllerDefinition = {
  name: "mirror",
  access: [],
  setup(scope) {
    const secrets = scope.watch(Secret, { keep: keepSecret });
    const configMaps: Cache<ConfigMap> = scope.watch(ConfigMap, { labels: managedBySelector(operator) });
    scope.trigger(secrets);
    scope.trigger(configMaps, (change) => {
      const object = change.type === "deleted" ? change.previous : change.value;
      const owner = ownerOf(object, operator, Secret);
      return owner === undefined ? [] : [owner];
    });
    return (run) => reconcile(run, secrets.get(run.key));
  },
};

function keepSecret({ metadata, data }: Stored<Secret>): KeptSecret {
  return { metadata, digest: digestOf(data) };
}

async function reconcile({ key, client, signal }: Run, secret: KeptSecret | undefined): Promise<void> {
  const name = nameOf(key);
  const writer = ownedWriter({ client, operator, controller: "mirror", owner: { kind: Secret, name }, signal });
  if (secret && !isBeingDeleted(secret) && secret.metadata.labels?.[mirrorLabel] === "yes") {
    await addFinalizer({ client }, { kind: Secret, object: secret }, finalizer);
    await writer.apply(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata: { ...name }, data: { digest: secret.digest } });
    return;
  }
  await writer.remove(ConfigMap, name);
  if (secret) await dropFinalizer(client, { kind: Secret, object: secret }, finalizer);
}
