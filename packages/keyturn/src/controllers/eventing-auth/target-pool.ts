// The clusters of all runtimes: one connection pool and one watch each, opened when first needed and whenever a kubeconfig changes.
import {
  type Client,
  type Clock,
  ConfigError,
  embeddedKubeconfig,
  type Logger,
  type Random,
  Secret,
  type ConnectionConfig,
  type Transport,
} from "@keyturn/runtime";
import { Buffer } from "node:buffer";
import type { EventingAuthSettings } from "./settings.ts";
import { kubeconfigName } from "./settings.ts";
import { Target, type TargetTrouble } from "./target.ts";

/** What the pool is made with. */
export interface TargetPoolOptions {
  readonly settings: EventingAuthSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Called when something about a runtime's cluster may have changed. */
  readonly onChange: (runtime: string) => void;
  readonly openTransport?: (connection: ConnectionConfig) => Transport;
}

/** A runtime's cluster that can be worked with, or why there is none. */
export type OpenedTarget = { readonly type: "open"; readonly target: Target } | { readonly type: "refused"; readonly trouble: TargetTrouble };

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
    try {
      const connection = await embeddedKubeconfig(text, { name, clock, allowInsecure: settings.allowInsecureTargets });
      const target = new Target({
        connection,
        place: settings.targetSecret,
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
