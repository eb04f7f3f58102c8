// The identity provider that the credentials of the moment belong to: one at a time, kept until they change.
import { createHash } from "node:crypto";
import type { Clock, Random } from "@keyturn/runtime";
import { Semaphore } from "../../../semaphore.ts";
import { iasProvider } from "./ias/ias-provider.ts";
import type { IdentityProvider } from "./identity-provider.ts";
import { openidProvider } from "./openid/openid-provider.ts";
import { ProviderHttp, type RequestRecord } from "./provider-http.ts";
import { type ProviderSettings, type ProviderType, readProviderSettings, type SecretData } from "./provider-settings.ts";

/** How providers are opened. */
export interface IdentityProvidersOptions {
  readonly type: ProviderType;
  /** The global account that new IAS applications belong to. Default none. */
  readonly globalAccount?: string;
  readonly allowHttp: boolean;
  /** From the start of a request to the end of its answer. Default 30,000. */
  readonly timeoutMs?: number;
  /** Requests under way at once. Default 50. */
  readonly mostRequests?: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Where `HTTPS_PROXY` and the like are looked up. Default: nowhere. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Told of every request. */
  readonly observe?: (record: RequestRecord) => void;
}

const defaultTimeoutMs = 30_000;

/** SAP allows 50 concurrent requests per originating address; every replica has its own. */
const defaultMostRequests = 50;

/** Opens providers and keeps the last one. One per process: the limit on requests under way counts over all that it opens. */
export class IdentityProviders {
  readonly #options: IdentityProvidersOptions;
  readonly #slots: Semaphore;
  #current: { readonly fingerprint: string; readonly provider: IdentityProvider } | undefined;

  constructor(options: IdentityProvidersOptions) {
    this.#options = options;
    this.#slots = new Semaphore(options.mostRequests ?? defaultMostRequests);
  }

  /** How many requests are under way. */
  get inFlight(): number {
    return this.#slots.taken;
  }

  /**
   * The provider for the data of the Secret with the credentials: the same one while the data stays the same, with everything it has found
   * out; a new one that knows nothing when the data has changed. Requests of the one before are answered in peace, its sockets close when idle.
   * Throws a terminal `IdentityError` for data that cannot be used.
   */
  forSecret(data: SecretData): IdentityProvider {
    const settings = readProviderSettings(this.#options.type, data);
    const fingerprint = createHash("sha256").update(JSON.stringify(settings)).digest("hex");
    if (this.#current?.fingerprint !== fingerprint) this.#current = { fingerprint, provider: this.#open(settings) };
    return this.#current.provider;
  }

  /** Ends all requests. */
  close(): void {
    this.#current?.provider.close();
    this.#current = undefined;
  }

  #open(settings: ProviderSettings): IdentityProvider {
    const { globalAccount = "", allowHttp, timeoutMs = defaultTimeoutMs, clock, random, env, observe } = this.#options;
    const http = new ProviderHttp({
      secrets: secretsIn(settings),
      ...(settings.ca && { ca: settings.ca }),
      slots: this.#slots,
      allowHttp,
      timeoutMs,
      clock,
      random,
      ...(env && { env }),
      ...(observe && { observe }),
    });
    if (settings.type === "openid") return openidProvider(settings, { http, allowHttp });
    return iasProvider({ ...settings, globalAccount }, { http, allowHttp });
  }
}

function secretsIn(settings: ProviderSettings): readonly string[] {
  if (settings.type === "openid") return settings.initialAccessToken === undefined ? [] : [settings.initialAccessToken];
  return [settings.password, Buffer.from(`${settings.username}:${settings.password}`).toString("base64")];
}
