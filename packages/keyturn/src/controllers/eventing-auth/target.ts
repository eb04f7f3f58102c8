// The cluster of one runtime: its own connections, and one watch of the one Secret that matters there.
import {
  type Cache,
  type Caches,
  type Client,
  type Clock,
  type ConnectionConfig,
  createCaches,
  createClient,
  createHttpTransport,
  keyOf,
  type Logger,
  messageOf,
  type Random,
  Secret,
  type Stored,
  type Timer,
  type Transport,
} from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import type { TargetReason } from "./reasons.ts";
import { keepTargetSecret, type TargetSecret } from "./target-secret.ts";

/** Why a cluster cannot be worked with at present. */
export interface TargetTrouble {
  readonly reason: TargetReason;
  readonly message: string;
}

/** What is known of a runtime's cluster. */
export type TargetSight =
  /** Its Secret, or that there is none. With trouble, this is how it was before the trouble began, and nothing can be done there. */
  | { readonly type: "seen"; readonly secret: TargetSecret | undefined; readonly trouble?: TargetTrouble }
  | { readonly type: "unseen"; readonly trouble: TargetTrouble };

/** What a target is made with. */
export interface TargetOptions {
  readonly connection: ConnectionConfig;
  readonly place: { readonly namespace: string; readonly name: string };
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Called whenever `sight` may give something else than before. */
  readonly onChange: () => void;
  /** Default: HTTP to the connection's server. */
  readonly openTransport?: (connection: ConnectionConfig) => Transport;
}

/** Longest wait for an answer to a single request. */
const requestTimeoutMs = 10_000;
/** A cluster that was reached before may be away for this long before anybody is told: API servers restart. */
const blipMs = 30_000;

/** Opened when made, until it is closed. Watches by itself, and never keeps anybody waiting. */
export class Target {
  /** Requests to the cluster, each with a deadline. */
  readonly client: Client;
  readonly #options: TargetOptions;
  readonly #transport: Transport;
  readonly #caches: Caches;
  readonly #cache: Cache<TargetSecret>;
  readonly #closed = new AbortController();
  #trouble: TargetTrouble | undefined;
  #troubleSinceMs: number | undefined;
  #blip: Timer | undefined;
  /** What a write of ours left there, until the watch shows it. */
  #written: { readonly secret: TargetSecret | undefined } | undefined;

  constructor(options: TargetOptions) {
    const { connection, place, clock, random, log, onChange } = options;
    this.#options = options;
    const open = options.openTransport ?? ((to: ConnectionConfig) => createHttpTransport({ ...to, clock, userAgent: keyturn.name }));
    this.#transport = this.#observed(open(connection));
    this.client = createClient(this.#transport, { timeoutMs: requestTimeoutMs, clock, random });
    this.#caches = createCaches({ transport: this.#transport, clock, random, log });
    this.#cache = this.#caches.watch(Secret, { namespace: place.namespace, fields: `metadata.name=${place.name}`, keep: keepTargetSecret });
    this.#cache.subscribe(onChange);
    // The first list of a cluster without the Secret changes nothing in the cache, and is what was waited for.
    this.#cache.whenSynced(this.#closed.signal).then(onChange, () => undefined);
    this.#caches.start(this.#closed.signal);
  }

  /** What is known now. */
  sight(): TargetSight {
    const trouble = this.#lastingTrouble();
    if (!this.#cache.synced) {
      return {
        type: "unseen",
        trouble: trouble ?? { reason: "TargetConnecting", message: `the first answer of ${this.#options.connection.server} is awaited` },
      };
    }
    const secret = this.#written ? this.#written.secret : this.#cache.get(keyOf(this.#options.place));
    return { type: "seen", secret, ...(trouble && { trouble }) };
  }

  /** To be called after each write to the Secret: what it left there, or undefined if it is gone. Own writes are seen at once. */
  wrote(object: Stored<Secret> | undefined, uid: string): void {
    const written = { secret: object && keepTargetSecret(object) };
    this.#written = written;
    const at = { kind: Secret, key: keyOf(this.#options.place) };
    const record = object
      ? ({ ...at, type: "written", uid, resourceVersion: object.metadata.resourceVersion, labels: object.metadata.labels ?? {} } as const)
      : ({ ...at, type: "deleted", uid } as const);
    const shown = (): void => {
      if (this.#written !== written) return;
      this.#written = undefined;
      this.#options.onChange();
    };
    this.#caches.whenSeen(this.#cache, record, this.#closed.signal).then(shown, () => undefined);
  }

  close(): void {
    this.#blip?.cancel();
    this.#closed.abort(new Error("the connection to the runtime's cluster is closed"));
    this.#transport.close();
  }

  /** Once it has been reached, trouble counts when it lasts. */
  #lastingTrouble(): TargetTrouble | undefined {
    if (!this.#trouble || !this.#cache.synced) return this.#trouble;
    const sinceMs = this.#troubleSinceMs ?? 0;
    return this.#options.clock.monotonic() - sinceMs >= blipMs ? this.#trouble : undefined;
  }

  /** Watches tell how the cluster fares: one is always open or being opened. */
  #observed(transport: Transport): Transport {
    return {
      send: async (request, signal) => {
        if (request.lane !== "watch") return transport.send(request, signal);
        try {
          const response = await transport.send(request, signal);
          // Older API servers refuse to stream the first list, and are asked for it in pages next: that is no trouble.
          const isDeclined = /[?&]sendInitialEvents=/.test(request.path) && (response.status === 400 || response.status === 422);
          this.#note(isDeclined ? undefined : troubleOf(response.status, this.#options.connection.server));
          return response;
        } catch (error) {
          if (!this.#closed.signal.aborted && !signal?.aborted) this.#note({ reason: "TargetUnreachable", message: messageOf(error) });
          throw error;
        }
      },
      close: () => transport.close(),
    };
  }

  #note(trouble: TargetTrouble | undefined): void {
    const before = this.#trouble;
    if (before?.reason === trouble?.reason && before?.message === trouble?.message) return;
    const { clock, onChange } = this.#options;
    this.#trouble = trouble;
    if (!trouble) {
      this.#blip?.cancel();
      this.#blip = this.#troubleSinceMs = undefined;
    } else if (this.#troubleSinceMs === undefined) {
      this.#troubleSinceMs = clock.monotonic();
      this.#blip = clock.setTimer(blipMs, onChange);
    }
    onChange();
  }
}

function troubleOf(status: number, server: string): TargetTrouble | undefined {
  if (status === 401) return { reason: "TargetForbidden", message: `${server} does not accept the kubeconfig's credentials (401)` };
  if (status === 403) return { reason: "TargetForbidden", message: `${server} refuses the kubeconfig's user to list and watch the Secret (403)` };
  // A watch that has expired is answered with 410 and opened anew; everything else that is no success is worth telling.
  return status < 400 || status === 410 ? undefined : { reason: "TargetUnreachable", message: `${server} answers with ${status}` };
}
