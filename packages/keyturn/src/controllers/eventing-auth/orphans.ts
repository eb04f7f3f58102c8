// What was left behind: applications of ours that no EventingAuth claims, and Secrets in runtimes' clusters whose application is gone. Found and deleted with a person's own rights.
import { Buffer } from "node:buffer";
import {
  type Client,
  type Clock,
  ConfigError,
  createClient,
  createHttpTransport,
  embeddedKubeconfig,
  isApiError,
  ConnectionError,
  messageOf,
  nameOf,
  type OnRead,
  ownerOf,
  Secret,
  type Stored,
  systemRandom,
  type Transport,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import { Semaphore } from "../../semaphore.ts";
import { adoptAnnotation, EventingAuth } from "./api.ts";
import { takeCensus } from "./census.ts";
import type { EventingAuthSettings } from "./flags.ts";
import { grantKeeper } from "./grants.ts";
import { IdentityError } from "./identity/provider-http.ts";
import type { ApplicationRef, GrantKeeper, IdentityProvider } from "./identity/provider.ts";
import { readGrant } from "./identity/registrations.ts";
import { keepTargetSecret, type TargetSecret } from "./target-secret.ts";
import { budgetedTransport, targetLookup } from "./target-budget.ts";

/** Something that was left behind. */
export interface Orphan {
  readonly type: "application" | "secret";
  /** The application's id. */
  readonly application: string;
  /** The runtime: the application's name, or the cluster that the Secret is in. */
  readonly runtime: string;
  readonly why: string;
  /** Deletes it, unless somebody has claimed it since. */
  readonly remove: () => Promise<void>;
}

/** What was found, and where nobody could look. */
export interface OrphanReport {
  readonly orphans: readonly Orphan[];
  readonly unread: readonly { readonly where: string; readonly why: string }[];
}

interface OrphanSearch {
  readonly client: Client;
  readonly provider: IdentityProvider;
  readonly settings: EventingAuthSettings;
  readonly clock: Clock;
  /** Where `HTTPS_PROXY` and the like are looked up. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

const sideBySide = 16;

/** Looks for orphans at the identity provider and in every cluster that there is a kubeconfig for. */
export async function findOrphans(search: OrphanSearch): Promise<OrphanReport> {
  const auths = await listAuths(search);
  const applications = await orphanedApplications(search, auths);
  const secrets = await orphanedSecrets(search, auths);
  return { orphans: [...applications, ...secrets.orphans], unread: secrets.unread };
}

async function listAuths({ client, settings }: OrphanSearch): Promise<readonly Stored<EventingAuth>[]> {
  // Everywhere: one that does not count may have counted when its application was made.
  const everywhere = await client.list(EventingAuth, {}).catch((error: unknown) => {
    if (!isApiError(error, "Forbidden")) throw error;
    return undefined;
  });
  if (everywhere) return everywhere.items;
  const lists = await Promise.all(settings.namespaces.map((namespace) => client.list(EventingAuth, { namespace })));
  return lists.flatMap(({ items }) => items);
}

async function orphanedApplications(search: OrphanSearch, auths: readonly Stored<EventingAuth>[]): Promise<readonly Orphan[]> {
  const { provider } = search;
  if (!provider.listMade) return orphanedGrants(search, auths);
  return takeCensus(await provider.listMade(), auths).orphans.map(({ id, name, uid }) => ({
    type: "application",
    application: id,
    runtime: name,
    why: `it was made for the EventingAuth with the uid ${uid}, which is not there${heirOf(auths, name) ? `; ${heirAdvice}` : ""}`,
    async remove() {
      const now = await assertUnclaimed(search, id, uid);
      if (heirOf(now, name)) throw new Error(`${heirAdvice}; it was not deleted`);
      const ref = { id, name, uid, grants: noGrants };
      if ((await provider.read(ref))?.trace === "ours") await provider.delete(ref);
    },
  }));
}

/** A server without a list: what is known of its clients is the right to manage each, which is kept in a Secret. */
async function orphanedGrants(search: OrphanSearch, auths: readonly Stored<EventingAuth>[]): Promise<readonly Orphan[]> {
  const { client, provider, settings } = search;
  const { namespace } = settings.providerSecret;
  const living = new Set(auths.map(({ metadata }) => `${metadata.namespace ?? ""}/${metadata.name}`));
  const { items } = await client.list(Secret, { namespace, labels: `app.kubernetes.io/managed-by=${keyturn.name}` });
  return items.flatMap((secret): readonly Orphan[] => {
    const key = ownerOf(secret, keyturn, EventingAuth);
    const grant = readGrant(Buffer.from(secret.data?.["grant"] ?? "", "base64").toString("utf8"));
    if (key === undefined || !grant || living.has(key)) return [];
    const name = nameOf(key);
    const grants = grantKeeper({ client, owner: { kind: EventingAuth, name }, namespace, controller: "eventing-auth" });
    return [
      {
        type: "application",
        application: grant.clientId,
        runtime: name.name,
        why: `the EventingAuth ${key} is not there`,
        async remove() {
          await assertUnclaimed(search, grant.clientId, "");
          await provider.delete({ id: grant.clientId, name: name.name, uid: "", grants });
          await grants.forget();
        },
      },
    ];
  });
}

/** Where objects were restored from a backup, they have other uids, and their applications are in use. */
function heirOf(auths: readonly Stored<EventingAuth>[], name: string): Stored<EventingAuth> | undefined {
  return auths.find(({ metadata, status }) => metadata.name === name && status?.iasApplication === undefined);
}

const heirAdvice = `the EventingAuth of its name has none, as after a restore: adopt it with the annotation ${adoptAnnotation}, or delete that EventingAuth first`;

/** Somebody may have made an object meanwhile, or an object may have adopted it. Resolves to those that there are. */
async function assertUnclaimed(search: OrphanSearch, id: string, uid: string): Promise<readonly Stored<EventingAuth>[]> {
  const auths = await listAuths(search);
  const claim = auths.find(({ metadata, status }) => metadata.uid === uid || status?.iasApplication?.uuid === id);
  if (claim)
    throw new Error(`application ${id} is that of EventingAuth ${claim.metadata.namespace ?? ""}/${claim.metadata.name} by now; it was not deleted`);
  return auths;
}

const noGrants: GrantKeeper = { read: () => Promise.resolve(undefined), keep: () => Promise.resolve() };

// Secrets in the clusters of runtimes.

async function orphanedSecrets(search: OrphanSearch, auths: readonly Stored<EventingAuth>[]): Promise<OrphanReport> {
  const { client, settings } = search;
  const { namespace, prefix } = settings.kubeconfigs;
  const { items } = await client.list(Secret, { namespace });
  const slots = new Semaphore(sideBySide);
  const orphans: Orphan[] = [];
  const unread: { where: string; why: string }[] = [];
  const look = async (kubeconfig: Stored<Secret>): Promise<void> => {
    const runtime = kubeconfig.metadata.name.slice(prefix.length);
    try {
      const orphan = await orphanedSecretIn(runtime, kubeconfig, { search, auths });
      if (orphan) orphans.push(orphan);
    } catch (error) {
      if (!(error instanceof ConfigError || error instanceof ConnectionError || error instanceof IdentityError || isApiError(error))) throw error;
      unread.push({ where: `the cluster of ${runtime}`, why: messageOf(error) });
    }
  };
  await Promise.all(items.filter(({ metadata }) => metadata.name.startsWith(prefix)).map((each) => slots.run(() => look(each))));
  return { orphans, unread };
}

interface Known {
  readonly search: OrphanSearch;
  readonly auths: readonly Stored<EventingAuth>[];
}

async function orphanedSecretIn(runtime: string, kubeconfig: Stored<Secret>, known: Known): Promise<Orphan | undefined> {
  const { search, auths } = known;
  const { targetSecret } = search.settings;
  const secret = await inCluster(runtime, kubeconfig, search, async (target) => {
    const found = await target.get(Secret, targetSecret);
    return found && keepTargetSecret(found);
  });
  if (!secret || !(await isOrphaned(secret, runtime, known))) return undefined;
  const { uid, resourceVersion, noted } = secret;
  const isClaimed = auths.some(({ metadata }) => metadata.name === runtime);
  return {
    type: "secret",
    application: noted.application ?? "",
    runtime,
    why: `its application is gone, and ${isClaimed ? "its EventingAuth has another" : "it has no EventingAuth"}`,
    async remove() {
      await inCluster(runtime, kubeconfig, search, (target) => target.delete(Secret, targetSecret, { uid, resourceVersion }));
    },
  };
}

/** Works in a runtime's cluster, which is somebody else's: everything about it is limited. */
async function inCluster<T>(
  runtime: string,
  { data }: Stored<Secret>,
  { settings, clock, env }: OrphanSearch,
  work: (target: Client) => Promise<T>,
): Promise<T> {
  const text = Buffer.from(data?.[settings.kubeconfigs.key] ?? "", "base64").toString("utf8");
  const connection = await embeddedKubeconfig(text, { name: `of ${runtime}`, clock, allowInsecure: settings.allowInsecureTargets });
  const timeoutMs = settings.targetTimeoutMs;
  const open = (onRead: OnRead): Transport =>
    createHttpTransport({ ...connection, env, userAgent: keyturn.name, clock, onRead, lookup: targetLookup });
  const wire = budgetedTransport(open, { clock, timeoutMs, onExceeded: () => {} });
  try {
    return await work(createClient(wire, { timeoutMs, clock, random: systemRandom }));
  } finally {
    wire.close();
  }
}

/** A Secret that Keyturn has written, whose application neither an object claims nor the provider has. */
async function isOrphaned(secret: TargetSecret, runtime: string, { search, auths }: Known): Promise<boolean> {
  const { application } = secret.noted;
  if (application === undefined || secret.object.metadata.labels?.["app.kubernetes.io/managed-by"] !== keyturn.name) return false;
  if (auths.some(({ status }) => status?.iasApplication?.uuid === application)) return false;
  const { provider, client, settings } = search;
  const owner = { kind: EventingAuth, name: { namespace: settings.kubeconfigs.namespace, name: runtime } };
  const grants = grantKeeper({ client, owner, namespace: settings.providerSecret.namespace, controller: "eventing-auth" });
  const ref: ApplicationRef = { id: application, name: runtime, uid: "", grants };
  return !(await provider.has(ref));
}
