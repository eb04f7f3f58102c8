// Where the right to manage one application is kept, for identity providers that hand one out: a Secret next to the provider's own credentials.
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import {
  type Client,
  fieldManagerOf,
  keyOf,
  type KubeObject,
  marked,
  type ObjectName,
  type Owner,
  ownershipOf,
  Secret,
  type Stored,
  TransientError,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import type { GrantKeeper } from "./identity/provider.ts";

/** What grants are kept with. */
interface GrantKeeperOptions {
  /** Not bound to a run: a grant that arrives after its run was cut must still be kept. */
  readonly client: Client;
  /** The EventingAuth that the application is for. */
  readonly owner: Owner;
  readonly namespace: string;
  readonly controller: string;
}

/** The Secret's name. A digest, because a name and a namespace together may be longer than a name can be. */
function grantSecretName(owner: Owner, namespace: string): ObjectName {
  return { namespace, name: `eventing-auth-grant-${createHash("sha256").update(keyOf(owner.name)).digest("hex").slice(0, 32)}` };
}

/**
 * Keeps and reads the grant of one EventingAuth, always from the API server. A grant that somebody else kept since the last read is never
 * overwritten: `keep` fails, and whoever called it knows that another one was quicker.
 */
export function grantKeeper({ client, owner, namespace, controller }: GrantKeeperOptions): GrantKeeper & { forget(): Promise<void> } {
  const name = grantSecretName(owner, namespace);
  const writer = { fieldManager: fieldManagerOf(keyturn, controller), answer: "metadata" } as const;
  let last: Stored<KubeObject> | undefined;
  const find = async (signal?: AbortSignal): Promise<Stored<Secret> | undefined> => {
    const found = await client.get(Secret, name, signal);
    last = found;
    if (!found || ownershipOf(found, keyturn, owner) === "ours") return found;
    throw new TransientError(`Secret ${keyOf(name)} should hold the right to manage an application and is not ours; remove it`, {
      reason: "Conflict",
    });
  };
  return {
    async read(signal) {
      const grant = (await find(signal))?.data?.["grant"];
      return grant === undefined ? undefined : Buffer.from(grant, "base64").toString("utf8");
    },
    async keep(grant) {
      const data = { grant: Buffer.from(grant).toString("base64") };
      if (last) {
        const { uid, resourceVersion } = last.metadata;
        last = await client.mergePatch(Secret, name, { metadata: { uid, resourceVersion }, data }, writer);
      } else {
        last = await client.create(Secret, marked<Secret>({ metadata: name, type: "Opaque", data }, keyturn, owner), writer);
      }
    },
    async forget() {
      const found = await find();
      if (found) await client.delete(Secret, name, { uid: found.metadata.uid });
    },
  };
}
