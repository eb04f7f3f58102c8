// The clusters of the runtimes: connections and a watch to each, a pool of them, and what requests to them fail with.
import { Buffer } from "node:buffer";
import {
  type Cache,
  type Caches,
  type Client,
  type Clock,
  ConfigError,
  type ConnectionConfig,
  ConnectionError,
  createCaches,
  createClient,
  createHttpTransport,
  embeddedKubeconfig,
  isApiError,
  keyOf,
  type Logger,
  messageOf,
  type OnRead,
  type Random,
  Secret,
  type SendPermit,
  type Stored,
  type Timer,
  type Transport,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import { type EventingAuthSettings, kubeconfigName } from "./flags.ts";
import type { TargetReason } from "./reasons.ts";
import { budgetedTransport, targetLookup } from "./target-budget.ts";
import { keepTargetSecret, type TargetSecret } from "./target-secret.ts";
import { limits } from "../../limits.ts";

// The cluster of one runtime: its own connections, and one watch of the one Secret that matters there.

/** Why a cluster cannot be worked with at present. */
export interface TargetTrouble {
  readonly reason: TargetReason;
  readonly message: string;
}

/** What is known of a runtime's cluster. */
export type ObservedTarget =
  /** Its Secret, or that there is none. With trouble, this is how it was before the trouble began, and nothing can be done there. */
  | { readonly type: "observed"; readonly secret: TargetSecret | undefined; readonly trouble?: TargetTrouble }
  | { readonly type: "unobserved"; readonly trouble: TargetTrouble };

/** What a target is made with. */
interface TargetOptions {
  readonly connection: ConnectionConfig;
  readonly place: { readonly namespace: string; readonly name: string };
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Called whenever `observe` may give something else than before. */
  readonly onChange: () => void;
  /** From the start of a request to the end of its response. */
  readonly timeoutMs: number;
  /** Default: HTTP to the connection's server. */
  readonly openTransport?: OpenTargetTransport;
}

/** Opens the wire to a cluster, which tells of all that it reads. */
type OpenTargetTransport = (
  connection: ConnectionConfig,
  limits: Pick<Parameters<typeof createHttpTransport>[0], "maxHeadBytes" | "onRead" | "lookup">,
) => Transport;

const { targetBodyBytes: maxBodyBytes, targetHeadBytes: maxHeadBytes, kubeconfigBytes: maxKubeconfigBytes } = limits;
/** A cluster that was reached before may be away for this long before that is reported: API servers restart. */
const blipMs = 30_000;
/** A cluster that takes a connection and has not shown what it has by then is no better than one that takes none. */
const firstAnswerMs = 30_000;

/** Opened when made, until it is closed. Watches by itself, and never keeps anybody waiting. */
export class Target {
  /** Requests to the cluster, each with a deadline, whose writes need the permit. */
  readonly clientFor: (permit: SendPermit) => Client;
  readonly #options: TargetOptions;
  readonly #transport: Transport;
  readonly #caches: Caches;
  readonly #cache: Cache<TargetSecret>;
  readonly #closed = new AbortController();
  readonly #connecting: Timer;
  #isLate = false;
  #trouble: TargetTrouble | undefined;
  #troubleSinceMs: number | undefined;
  #blip: Timer | undefined;
  /** What a write of ours left there, until the watch shows it. */
  #written: { readonly secret: TargetSecret | undefined } | undefined;

  constructor(options: TargetOptions) {
    const { connection, place, clock, random, log, onChange, timeoutMs } = options;
    this.#options = options;
    const openTransport: OpenTargetTransport =
      options.openTransport ?? ((to, limits) => createHttpTransport({ ...to, ...limits, clock, userAgent: keyturn.name }));
    const open = (onRead: OnRead): Transport => openTransport(connection, { maxHeadBytes, onRead, lookup: targetLookup });
    const onExceeded = ({ message }: Error): void => this.#note({ reason: "TargetUnreachable", message });
    this.#transport = this.#observed(budgetedTransport(open, { clock, timeoutMs, onExceeded }));
    this.clientFor = (permit) => createClient(this.#transport, { timeoutMs, maxBodyBytes, clock, random, sender: { flow: "", permit } });
    this.#caches = createCaches({ transport: this.#transport, clock, random, log, limits: { maxBodyBytes, maxEventBytes: maxBodyBytes } });
    this.#cache = this.#caches.watch(Secret, { namespace: place.namespace, fields: `metadata.name=${place.name}`, keep: keepTargetSecret });
    this.#cache.subscribe(onChange);
    // The first list of a cluster without the Secret changes nothing in the cache, and is what was waited for.
    this.#cache.whenSynced(this.#closed.signal).then(onChange, () => undefined);
    this.#caches.start(this.#closed.signal);
    this.#connecting = clock.setTimer(firstAnswerMs, () => {
      this.#isLate = true;
      onChange();
    });
  }

  /** What is known now. */
  observe(): ObservedTarget {
    const trouble = this.#lastingTrouble();
    if (!this.#cache.synced) return { type: "unobserved", trouble: trouble ?? this.#connectingTrouble() };
    const secret = this.#written ? this.#written.secret : this.#cache.get(keyOf(this.#options.place));
    return { type: "observed", secret, ...(trouble && { trouble }) };
  }

  /** To be called after each write to the Secret: what it left there, or undefined if it is gone. Own writes are observed at once. */
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
    this.#caches.whenObserved(this.#cache, record, this.#closed.signal).then(shown, () => undefined);
  }

  close(): void {
    this.#connecting.cancel();
    this.#blip?.cancel();
    this.#closed.abort(new Error("the connection to the runtime's cluster is closed"));
    this.#transport.close();
  }

  #connectingTrouble(): TargetTrouble {
    const { server } = this.#options.connection;
    if (!this.#isLate) return { reason: "TargetConnecting", message: `the first answer of ${server} is awaited` };
    return { reason: "TargetUnreachable", message: `${server} has not shown the Secret, or that there is none, within ${firstAnswerMs / 1000} s` };
  }

  /** Once it has been reached, trouble counts when it lasts. */
  #lastingTrouble(): TargetTrouble | undefined {
    if (!this.#trouble || !this.#cache.synced) return this.#trouble;
    const sinceMs = this.#troubleSinceMs ?? 0;
    return this.#options.clock.monotonic() - sinceMs >= blipMs ? this.#trouble : undefined;
  }

  /** Watches show whether the cluster answers: one is always open or being opened. */
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
  // A watch that has expired is answered with 410 and opened anew; everything else that is no success is worth reporting.
  return status < 400 || status === 410 ? undefined : { reason: "TargetUnreachable", message: `${server} answers with ${status}` };
}

// The clusters of all runtimes: one connection pool and one watch each, opened when first needed and whenever a kubeconfig changes.

/** What the pool is made with. */
interface TargetPoolOptions {
  readonly settings: EventingAuthSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Called when something about a runtime's cluster may have changed. */
  readonly onChange: (runtime: string) => void;
  readonly openTransport?: OpenTargetTransport;
}

/** A runtime's cluster that can be worked with, or why there is none. */
type OpenedTarget = { readonly type: "open"; readonly target: Target } | { readonly type: "refused"; readonly trouble: TargetTrouble };

interface Entry {
  readonly kubeconfigDigest: string;
  readonly opened: OpenedTarget;
  usedMs: number;
}

/** All targets of this process. No method waits for a cluster. */
export class TargetPool {
  readonly #options: TargetPoolOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: TargetPoolOptions) {
    this.#options = options;
  }

  /** How many are open. */
  get size(): number {
    return this.#entries.size;
  }

  /** The target of a runtime whose kubeconfig has this digest. Reads the kubeconfig with `client` if it is new, and opens the connection. */
  async open(runtime: string, kubeconfigDigest: string, client: Client): Promise<OpenedTarget> {
    const { clock } = this.#options;
    const known = this.#entries.get(runtime);
    if (known?.kubeconfigDigest === kubeconfigDigest) {
      known.usedMs = clock.monotonic();
      return known.opened;
    }
    this.close(runtime);
    const opened = await this.#connect(runtime, client);
    // Runs of one runtime never overlap, but two EventingAuths of one name might: the later one wins.
    this.close(runtime);
    this.#entries.set(runtime, { kubeconfigDigest, opened, usedMs: clock.monotonic() });
    return opened;
  }

  /** Closes the connections to a runtime's cluster, if there are any. */
  close(runtime: string): void {
    const opened = this.#entries.get(runtime)?.opened;
    this.#entries.delete(runtime);
    if (opened?.type === "open") opened.target.close();
  }

  closeAll(): void {
    for (const runtime of this.#entries.keys()) this.close(runtime);
  }

  /** Closes what nobody asked for in this long: another replica works on it now. */
  closeUnused(longerThanMs: number): void {
    const limitMs = this.#options.clock.monotonic() - longerThanMs;
    for (const [runtime, { usedMs }] of this.#entries) if (usedMs < limitMs) this.close(runtime);
  }

  async #connect(runtime: string, client: Client): Promise<OpenedTarget> {
    const { settings, clock, random, log, onChange, openTransport } = this.#options;
    const place = kubeconfigName(settings, runtime);
    const secret = await client.get(Secret, place);
    const text = Buffer.from(secret?.data?.[settings.kubeconfigs.key] ?? "", "base64").toString("utf8");
    const name = `in Secret ${place.namespace ?? ""}/${place.name}`;
    if (text === "") {
      const message = `Secret ${place.namespace ?? ""}/${place.name} has no kubeconfig under the key ${settings.kubeconfigs.key}`;
      return { type: "refused", trouble: { reason: secret ? "KubeconfigRefused" : "KubeconfigNotFound", message } };
    }
    if (text.length > maxKubeconfigBytes) {
      const message = `kubeconfig ${name} is refused: it is longer than ${maxKubeconfigBytes / 1024} KiB; one cluster, one user and their certificates are enough`;
      return { type: "refused", trouble: { reason: "KubeconfigRefused", message } };
    }
    if ((text.match(/[^A-Za-z0-9+/=._ ]/g)?.length ?? 0) > limits.kubeconfigSigns) {
      const message = `kubeconfig ${name} is refused: it has more lines and signs than one cluster, one user and their certificates need`;
      return { type: "refused", trouble: { reason: "KubeconfigRefused", message } };
    }
    try {
      const connection = await embeddedKubeconfig(text, { name, clock, allowInsecure: settings.allowInsecureTargets });
      const target = new Target({
        connection,
        place: settings.targetSecret,
        timeoutMs: settings.targetTimeoutMs,
        clock,
        random,
        log: log.child({ runtime }),
        onChange: () => onChange(runtime),
        ...(openTransport && { openTransport }),
      });
      return { type: "open", target };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return { type: "refused", trouble: { reason: "KubeconfigRefused", message: error.message } };
    }
  }
}

// A request to a runtime's cluster that failed, as distinct from one to the control plane.

/** The message is the cluster's own; `cause` is what was thrown. */
export class TargetError extends Error {
  readonly code = "Target";
  constructor(message: string, options: ErrorOptions) {
    super(message, options);
    this.name = "TargetError";
  }
}

/** Makes a request to a runtime's cluster; what it fails with becomes a `TargetError`. */
export async function askTarget<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (cause) {
    if (isApiError(cause) || cause instanceof ConnectionError) throw new TargetError(`in the cluster of the runtime: ${cause.message}`, { cause });
    throw cause;
  }
}
