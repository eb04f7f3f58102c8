// Who may look, and what they may see: kinds, each everywhere or in some namespaces.
import { createHash, hash, randomBytes, timingSafeEqual } from "node:crypto";
import {
  type AccessRule,
  type Client,
  type Clock,
  Event,
  isAllowedTo,
  isApiError,
  Lease,
  type Logger,
  LruMap,
  Namespace,
  ownerOfToken,
  type ReviewedUser,
  SubjectAccessReview,
  TokenReview,
} from "@keyturn/runtime";
import { forEachParallel } from "../semaphore.ts";
import type { ShownObjects } from "./dashboard.ts";
import { SharedAnswers } from "./viewer-gate.ts";

// What somebody may see.

/** Which objects a record is about, as far as rights go. */
export interface Place {
  /** `plural.group`. */
  readonly resource: string;
  readonly namespace: string;
}

/** What may be seen of each kind; a kind that is not in it may not be seen at all. */
type Grants = ReadonlyMap<string, "everywhere" | ReadonlySet<string>>;

/** The rights of one or more viewers. */
export interface Rights {
  /** Equal for equal rights: what was made for one viewer serves all others with the same. Short, and says nothing to who reads it. */
  readonly signature: string;
  allows(place: Place): boolean;
  /** True if nothing at all of the kind may be seen. */
  hides(resource: string): boolean;
  /** The only namespaces in which the kind may be seen, in order; undefined if there is no such limit, or nothing of it may be seen. */
  shownIn(resource: string): readonly string[] | undefined;
}

/** For viewers whose own kubeconfig is used: what they may not see never arrives here. */
export const unlimitedRights: Rights = { signature: "all", allows: () => true, hides: () => false, shownIn: () => undefined };

/** The rights that some grants give. */
export function rightsOf(grants: Grants): Rights {
  const words = Array.from(grants, ([resource, where]) => `${resource}=${where === "everywhere" ? "*" : Array.from(where).toSorted().join(",")}`);
  return {
    signature: hash("sha256", words.toSorted().join(";"), "base64url").slice(0, 12),
    allows({ resource, namespace }) {
      const where = grants.get(resource);
      return where === "everywhere" || where?.has(namespace) === true;
    },
    hides: (resource) => !grants.has(resource),
    shownIn(resource) {
      const where = grants.get(resource);
      return where === undefined || where === "everywhere" ? undefined : Array.from(where).toSorted();
    },
  };
}

// Who may look: what the server asks before it shows anything.

/** Somebody who may look. */
export interface Viewer {
  /** As the API server knows them; undefined if nobody was asked. */
  readonly user: string | undefined;
  readonly rights: Rights;
}

/** Whether the one who sent this may look. */
export type AccessDecision =
  | { readonly type: "allowed"; readonly viewer: Viewer }
  /** Nobody knows this token, or it is no longer good. */
  | { readonly type: "unknown" }
  /** The token is good, and its owner may see nothing of what is shown. */
  | { readonly type: "forbidden"; readonly message: string }
  /** It is not known now. */
  | { readonly type: "unavailable"; readonly message: string };

/** A way to find out. */
export interface AccessCheck {
  /** What the page is to ask for. */
  readonly access: "secret" | "token";
  /** What was found last; somebody has to be asked again unless it `isFresh`. */
  known(bearer: string): { readonly decision: AccessDecision; readonly isFresh: boolean } | undefined;
  /** Asks if need be. Never rejects. */
  check(bearer: string): Promise<AccessDecision>;
  /** Whether the owner may list a kind that is not drawn, such as Events, in this namespace. Never rejects. */
  mayList(bearer: string, resource: { readonly group: string; readonly plural: string }, namespace: string): Promise<boolean>;
}

// Access in a cluster: a bearer token, checked by the API server, and the rights of its owner for every kind that is shown.

/** A kind, as rights name it. */
interface ShownKind {
  readonly group: string;
  readonly plural: string;
}

/** What the check is made with. */
interface TokenAccessOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** What viewers are checked for. Those who may not see all of a kind are asked about the namespaces in which there are objects of it. */
  readonly shown: ShownObjects;
  /** Where viewers may have rights at all. Who may see nothing of what there is is asked about these, since there may be something tomorrow. */
  readonly namespaces: () => Promise<readonly string[]>;
  /** How long an answer is good for. Default 40,000. */
  readonly freshMs?: number;
}

/** With a tick of 15 s, a token that is taken back is noticed within a minute. */
const usualFreshMs = 40_000;
const maxRemembered = 10_000;
/** Beyond so many namespaces somebody should have the right for the whole cluster; the rest is not shown to them. */
const maxNamespaces = 200;
/** For one viewer; the API server has others to serve, too. */
const questionsAtATime = 4;

interface Remembered {
  readonly decision: AccessDecision;
  readonly user: ReviewedUser | undefined;
  readonly untilMs: number;
}

/** Checks tokens. One question is under way for a token at a time, however many pages ask it. */
export class TokenAccess implements AccessCheck {
  readonly access = "token";
  readonly #options: TokenAccessOptions;
  /** By a digest of the token: the token itself is not kept. */
  readonly #remembered = new LruMap<string, Remembered>(maxRemembered);
  readonly #asking = new Map<string, Promise<Remembered>>();
  readonly #lists = new LruMap<string, { readonly allowed: boolean; readonly untilMs: number }>(maxRemembered);

  constructor(options: TokenAccessOptions) {
    this.#options = options;
  }

  known(bearer: string): ReturnType<AccessCheck["known"]> {
    const digest = digestOf(bearer);
    const remembered = this.#remembered.get(digest);
    return remembered && { decision: remembered.decision, isFresh: this.#fresh(digest) !== undefined };
  }

  async check(bearer: string): Promise<AccessDecision> {
    return (await this.#remember(bearer)).decision;
  }

  async mayList(bearer: string, { group, plural }: ShownKind, namespace: string): Promise<boolean> {
    const { user } = await this.#remember(bearer);
    if (!user) return false;
    const { clock, freshMs = usualFreshMs } = this.#options;
    const key = `${digestOf(bearer)} ${plural}.${group} ${namespace}`;
    const known = this.#lists.get(key);
    if (known && known.untilMs > clock.monotonic()) return known.allowed;
    const allowed = await this.#isAllowed(user, { group, plural, namespace, verb: "list" }).catch((error: unknown) => {
      this.#options.log.warn({ err: error }, "could not ask the API server about a right for the dashboard");
      return false;
    });
    this.#lists.set(key, { allowed, untilMs: clock.monotonic() + freshMs });
    return allowed;
  }

  #fresh(digest: string): Remembered | undefined {
    const remembered = this.#remembered.get(digest);
    return remembered && remembered.untilMs > this.#options.clock.monotonic() ? remembered : undefined;
  }

  async #remember(bearer: string): Promise<Remembered> {
    const digest = digestOf(bearer);
    const fresh = this.#fresh(digest);
    if (fresh) return fresh;
    const asking = this.#asking.get(digest) ?? this.#ask(bearer, digest).finally(() => this.#asking.delete(digest));
    this.#asking.set(digest, asking);
    return asking;
  }

  async #ask(bearer: string, digest: string): Promise<Remembered> {
    const { clock, log, freshMs = usualFreshMs } = this.#options;
    try {
      const user = await ownerOfToken(this.#options.client, bearer);
      const decision: AccessDecision = user ? await this.#decisionFor(user) : { type: "unknown" };
      const remembered = { decision, user, untilMs: clock.monotonic() + freshMs };
      this.#remembered.set(digest, remembered);
      return remembered;
    } catch (error) {
      log.warn({ err: error }, "could not ask the API server about a token for the dashboard");
      return { decision: { type: "unavailable", message: "the API server could not be asked about the token" }, user: undefined, untilMs: 0 };
    }
  }

  async #decisionFor(user: ReviewedUser): Promise<AccessDecision> {
    const resources = this.#options.shown.resources();
    const grants = new Map<string, "everywhere" | ReadonlySet<string>>();
    await forEachParallel(resources, questionsAtATime, async (resource) => {
      const where = await this.#grantOf(user, resource);
      if (where === "everywhere" || where.size > 0) grants.set(resource, where);
    });
    // Who may see one kind in a namespace may see others there, too, of which there are none yet.
    const places = new Set([...grants.values()].flatMap((where) => (where === "everywhere" ? [] : Array.from(where))));
    const rest = resources.filter((resource) => !grants.has(resource));
    await forEachParallel(rest, questionsAtATime, async (resource) => {
      const where = await this.#grantIn(user, shownKind(resource), places);
      if (where.size > 0) grants.set(resource, where);
    });
    const rights = grants.size > 0 ? grants : await this.#grantsWhereNothingIs(user, resources);
    if (rights.size > 0) return { type: "allowed", viewer: { user: user.username, rights: rightsOf(rights) } };
    const message = `${user.username} may list and watch none of ${resources.join(", ")}, neither in the cluster nor in one of its namespaces`;
    return { type: "forbidden", message };
  }

  /** In the first namespace, by name, in which there are any: enough for a page that is empty and not refused. */
  async #grantsWhereNothingIs(user: ReviewedUser, resources: readonly string[]): Promise<Grants> {
    const namespaces = await this.#options.namespaces();
    for (const namespace of namespaces.slice(0, maxNamespaces)) {
      const grants = new Map<string, ReadonlySet<string>>();
      await forEachParallel(resources, questionsAtATime, async (resource) => {
        if (await this.#maySee(user, shownKind(resource), namespace)) grants.set(resource, new Set([namespace]));
      });
      if (grants.size > 0) return grants;
    }
    return new Map();
  }

  async #grantOf(user: ReviewedUser, resource: string): Promise<"everywhere" | ReadonlySet<string>> {
    const kind = shownKind(resource);
    if (await this.#maySee(user, kind, "")) return "everywhere";
    return this.#grantIn(user, kind, this.#options.shown.namespacesOf(resource));
  }

  async #grantIn(user: ReviewedUser, kind: ShownKind, places: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const namespaces = Array.from(places).toSorted().slice(0, maxNamespaces);
    const seen = new Set<string>();
    await forEachParallel(namespaces, questionsAtATime, async (namespace) => {
      if (await this.#maySee(user, kind, namespace)) seen.add(namespace);
    });
    return seen;
  }

  async #maySee(user: ReviewedUser, { group, plural }: ShownKind, namespace: string): Promise<boolean> {
    return (
      (await this.#isAllowed(user, { group, plural, namespace, verb: "list" })) &&
      (await this.#isAllowed(user, { group, plural, namespace, verb: "watch" }))
    );
  }

  #isAllowed(
    user: ReviewedUser,
    { group, plural, namespace, verb }: ShownKind & { readonly namespace: string; readonly verb: string },
  ): Promise<boolean> {
    const resourceAttributes = { group, resource: plural, verb, ...(namespace !== "" && { namespace }) };
    return isAllowedTo(this.#options.client, user, { resourceAttributes });
  }
}

function shownKind(resource: string): ShownKind {
  const dot = resource.indexOf(".");
  return dot < 0 ? { group: "", plural: resource } : { group: resource.slice(dot + 1), plural: resource.slice(0, dot) };
}

function digestOf(bearer: string): string {
  return createHash("sha256").update(bearer).digest("base64url");
}

// Access on one's own machine: a secret in the page's address, so that nobody else who has an account there can look.

/** 256 bits. */
const secretBytes = 32;

/** A secret for one run of the server, and the check for it. What may be seen is decided by the kubeconfig with which the server itself reads. */
export function secretAccess(): { readonly secret: string; readonly access: AccessCheck } {
  const secret = randomBytes(secretBytes).toString("base64url");
  const decision = (bearer: string): AccessDecision =>
    timingSafeEqual(digest(bearer), digest(secret)) ? { type: "allowed", viewer: { user: undefined, rights: unlimitedRights } } : { type: "unknown" };
  return {
    secret,
    access: {
      access: "secret",
      known: (bearer) => ({ decision: decision(bearer), isFresh: true }),
      check: async (bearer) => decision(bearer),
      mayList: async () => true,
    },
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

// The namespaces in which a viewer may have rights, whether or not there is anything to see in them.

/** What they are found with. */
interface ViewerNamespacesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** The namespaces that the operator is limited to; empty for all, which are then asked for. */
  readonly limitedTo: readonly string[];
}

/** Namespaces come seldom, and the answer is only needed for those who would be turned away. */
const freshMs = 10_000;

/** Gives them by name, in order. None are known where the right to list them is missing; the log says so. */
export function viewerNamespaces({ client, clock, log, limitedTo }: ViewerNamespacesOptions): () => Promise<readonly string[]> {
  if (limitedTo.length > 0) {
    const names = limitedTo.toSorted();
    return () => Promise.resolve(names);
  }
  const answers = new SharedAnswers<readonly string[]>({ clock, freshMs, most: 1 });
  return () =>
    answers.get("all", async () => {
      try {
        const { items } = await client.list(Namespace);
        return items.map(({ metadata }) => metadata.name).toSorted();
      } catch (error) {
        if (!isApiError(error, "Forbidden")) throw error;
        log.warn({}, "the operator lacks the right to list namespaces: who may look only where there is nothing yet is not let into the dashboard");
        return [];
      }
    });
}

// Every right that the operator needs to serve the dashboard, besides those of its controllers.

const always: readonly AccessRule[] = [
  { kind: TokenReview, verbs: ["create"], why: "to find out whose token a viewer of the dashboard has" },
  { kind: SubjectAccessReview, verbs: ["create"], why: "to show each viewer only what they may list and watch themselves" },
  { kind: Lease, verbs: ["list", "watch"], why: "to show the status of agents" },
  { kind: Event, verbs: ["list"], why: "to show the Events of an object that somebody looks at" },
];

/** The rights. An operator that is limited to some namespaces knows where viewers may look. */
export function dashboardAccess({ isLimited }: { readonly isLimited: boolean }): readonly AccessRule[] {
  if (isLimited) return always;
  return [...always, { kind: Namespace, verbs: ["list"], why: "to let in those who may look only at a namespace in which there is nothing yet" }];
}
