// What the controller needs of an identity provider, whichever it is, and how the one in use is opened from its Secret.
import { createHash } from "node:crypto";
import type { Clock, createHttpTransport, Random, SendPermit } from "@keyturn/runtime";
import { Semaphore } from "../../../semaphore.ts";
import { iasProvider } from "./ias.ts";
import { openidProvider } from "./openid.ts";
import { IdentityError, ProviderHttp, type RequestRecord } from "./provider-http.ts";

// The interface, for SAP's Application Directory and any server with OpenID dynamic registration.

/**
 * Where a provider's own right to manage one application is kept between requests: RFC 7592's registration access token and client URI.
 * It is a credential, so it belongs into a Secret of the control plane that is owned by the EventingAuth, and nowhere else.
 * Providers whose administrator manages every application (IAS) call neither method.
 */
export interface GrantKeeper {
  /** The grant that was kept last; undefined if there is none. Never from a cache: a stale grant may have been replaced by the provider. */
  read(signal?: AbortSignal): Promise<string | undefined>;
  /** Resolves when the grant is stored for good. Called inside `create`, `read` and `issueSecret`, the moment the provider hands it out. */
  keep(grant: string, signal?: AbortSignal): Promise<void>;
}

/** Whose application it is. */
export interface ApplicationOwner {
  /** The application's name: the name of the EventingAuth, which is the runtime's id. */
  readonly name: string;
  /** The uid of the EventingAuth: what is left at an application to know it by, because anybody can have its name. */
  readonly uid: string;
  readonly grants: GrantKeeper;
  /** Asked whenever something is sent in the owner's name, at the moment when it is: a process that stood still may have lost the right meanwhile. Default: always given. */
  readonly permit?: SendPermit;
}

/** One application, by the id that the provider gave it. */
export interface ApplicationRef extends ApplicationOwner {
  readonly id: string;
}

/** What the provider says about an application. */
export interface Application {
  readonly id: string;
  /** Undefined until it has one: IAS generates it with the first secret. */
  readonly clientId: string | undefined;
  readonly trace: Trace;
}

/**
 * What an application shows of whom it was made for. `ours`: for this very owner. `other`: for another one, or it has neither a mark of ours nor the
 * owner's name. `text`: somebody has described it in words of their own. `none`: nothing; so are the predecessor's.
 */
export type Trace = "ours" | "other" | "text" | "none";

/** An application of a name. */
export interface FoundApplication {
  readonly id: string;
  readonly trace: Trace;
}

/** An application that Keyturn has made, for whomever. */
export interface MadeApplication {
  readonly id: string;
  readonly name: string;
  /** The uid of the EventingAuth. */
  readonly uid: string;
}

/** A client secret. It is given out once: who loses it must issue another. */
export interface IssuedSecret {
  readonly secret: string;
  /**
   * Names the secret among those of its application. IAS's hints are the secret's first four characters, so hints do not belong into
   * status, Events, logs or metrics; an annotation of the Secret that holds the secret itself is fine.
   */
  readonly hint: string;
}

/** A secret that exists, without what is secret about it. */
export interface SecretListing {
  readonly hint: string;
  /** When it stops working by itself; undefined if never or not known. */
  readonly validToMs: number | undefined;
}

/** A new application. */
export interface CreatedApplication {
  readonly id: string;
  /** Absent where it is known only when there is a secret. */
  readonly clientId?: string;
  /** Its first secret, where creation hands one out (dynamic registration); otherwise ask `issueSecret`. */
  readonly secret?: IssuedSecret;
}

/** How a secret is to be issued. */
export interface IssueOptions {
  /**
   * True: a new secret, or a `Terminal` error if the provider cannot make one for this application.
   * False: any secret that works; one that exists already if the provider gives it out again, else a new one.
   */
  readonly rotate: boolean;
  /** Hints that are in use already. A new secret never gets one of them, so that deleting by hint never hits the wrong one. Default none. */
  readonly known?: readonly string[];
  /** When it should stop working by itself; default never. Providers without that feature ignore it. */
  readonly validToMs?: number;
}

/** Where tokens are fetched and verified. */
export interface Endpoints {
  readonly issuer: string;
  readonly tokenUrl: string;
  readonly jwksUrl: string;
}

/** What a client logs in with. */
export interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * One tenant of an identity provider, with one set of credentials.
 *
 * Guarantees: every method rejects with an `IdentityError`, the signal's reason or what the owner's permit throws, and never with anything else; every request has a deadline;
 * what can safely be repeated is repeated a few times inside. A rejected `create` or `issueSecret` may have had its effect all the same:
 * look again (`find`, `listSecrets`) before the next try.
 */
export interface IdentityProvider {
  readonly type: "ias" | "openid";
  /** The tenant, as the credentials name it. */
  readonly url: string;
  /** True if secrets live beside each other until they are deleted by hint; false if a new one ends the one before it at once. */
  readonly secretsOverlap: boolean;
  /** Every application of this name; none is no error. With dynamic registration: the one that a kept grant belongs to, if it still exists. */
  find(owner: ApplicationOwner, signal?: AbortSignal): Promise<readonly FoundApplication[]>;
  /**
   * The application, or undefined if the provider proves that it does not have it (any more): it says so in its own words, and where it has a
   * list, the application is not on it. A response that may come from something in between, or mean that only the credentials are wrong, is an error.
   */
  read(application: ApplicationRef, signal?: AbortSignal): Promise<Application | undefined>;
  /** Whether this is the directory in which an application was made, for all that it shows. Unlike `read`, it changes nothing, also no grant. */
  has(application: ApplicationRef, signal?: AbortSignal): Promise<boolean>;
  /** All applications that Keyturn has made here, for whichever owner. Absent where a provider has no list. */
  readonly listMade?: (signal?: AbortSignal) => Promise<readonly MadeApplication[]>;
  /** Makes an application, without looking whether there is one already. */
  create(owner: ApplicationOwner, signal?: AbortSignal): Promise<CreatedApplication>;
  /** Deletes the application and with it all its secrets. Resolves once it is proven, as by `read`, that it does not exist (any more). */
  delete(application: ApplicationRef, signal?: AbortSignal): Promise<void>;
  /** A secret for the application; its other secrets stay if `secretsOverlap`. Rejects with `SecretLost` where only a new application would help. */
  issueSecret(application: ApplicationRef, options: IssueOptions, signal?: AbortSignal): Promise<IssuedSecret>;
  /** The application's secrets; none for an application that does not exist. */
  listSecrets(application: ApplicationRef, signal?: AbortSignal): Promise<readonly SecretListing[]>;
  /** Deletes one secret. One that does not exist is a success. Where two have the same hint, IAS deletes the one that runs out first. */
  deleteSecret(application: ApplicationRef, hint: string, signal?: AbortSignal): Promise<void>;
  /** From the tenant's well-known document, asked for once. */
  endpoints(signal?: AbortSignal): Promise<Endpoints>;
  /** True if the token endpoint gives a token for these credentials, false if it knows them not to be right. */
  accepts(credentials: ClientCredentials, signal?: AbortSignal): Promise<boolean>;
  /** Ends open requests and closes idle connections. */
  close(): void;
}

// The identity provider that the credentials of the moment belong to: one at a time, kept until they change.

/** How providers are opened. */
export interface IdentityProvidersOptions {
  readonly type: ProviderType;
  /** The global account that new IAS applications belong to. Default none. */
  readonly globalAccount?: string;
  readonly allowHttp: boolean;
  /** From the start of a request to the end of its response. Default 30,000. */
  readonly timeoutMs?: number;
  /** Requests under way at once. Default 50. */
  readonly maxRequests?: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Where `HTTPS_PROXY` and the like are looked up. Default: nowhere. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Called after every request. */
  readonly observe?: (record: RequestRecord) => void;
  /** Default: HTTP. */
  readonly openTransport?: typeof createHttpTransport;
}

const defaultTimeoutMs = 30_000;

/** SAP allows 50 concurrent requests per originating address; every replica has its own. */
const defaultMaxRequests = 50;

/** Opens providers and keeps the last one. One per process: the limit on requests under way counts over all that it opens. */
export class IdentityProviders {
  readonly #options: IdentityProvidersOptions;
  readonly #slots: Semaphore;
  #current: { readonly fingerprint: string; readonly provider: IdentityProvider } | undefined;

  constructor(options: IdentityProvidersOptions) {
    this.#options = options;
    this.#slots = new Semaphore(options.maxRequests ?? defaultMaxRequests);
  }

  /** The one in use; undefined before the first. */
  get current(): IdentityProvider | undefined {
    return this.#current?.provider;
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
    const { globalAccount = "", allowHttp, timeoutMs = defaultTimeoutMs, clock, random, env, observe, openTransport } = this.#options;
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
      ...(openTransport && { openTransport }),
    });
    if (settings.type === "openid") return openidProvider(settings, { http, allowHttp });
    return iasProvider({ ...settings, globalAccount }, { http, allowHttp });
  }
}

function secretsIn(settings: ProviderSettings): readonly string[] {
  if (settings.type === "openid") return settings.initialAccessToken === undefined ? [] : [settings.initialAccessToken];
  return [settings.password, Buffer.from(`${settings.username}:${settings.password}`).toString("base64")];
}

// What the Secret with the identity provider's credentials says, read and checked.

/** The credentials of a tenant. */
type ProviderSettings =
  | { readonly type: "ias"; readonly url: string; readonly username: string; readonly password: string; readonly ca?: string }
  | { readonly type: "openid"; readonly url: string; readonly initialAccessToken?: string; readonly ca?: string };

/** Which provider is used. */
type ProviderType = ProviderSettings["type"];

/** The data of a Secret, in base64 as the API server has it. */
export type SecretData = Readonly<Record<string, string>>;

/**
 * Reads the Secret. IAS: `url`, `username`, `password`. OpenID: `url` (the issuer) and, where the server wants one, `initial_access_token`.
 * Both: `ca.crt`, certificates to trust instead of the machine's own. Throws a terminal `IdentityError` that names the key to put right.
 */
export function readProviderSettings(type: ProviderType, data: SecretData): ProviderSettings {
  const text = (key: string): string | undefined => {
    const encoded = data[key];
    // A line end at the end of a value comes from an editor or `echo`, and is part of no credential.
    return encoded === undefined
      ? undefined
      : Buffer.from(encoded, "base64")
          .toString("utf8")
          .replace(/\r?\n$/, "");
  };
  const needed = (key: string): string => {
    const value = text(key);
    if (!value) throw new IdentityError(`key ${key} is not found in ${type} secret`, { code: "Terminal", operation: "discover" });
    return value;
  };
  const url = needed("url");
  if (!isTenantUrl(url)) {
    throw new IdentityError(`key url in ${type} secret is no URL such as https://tenant.example.com`, { code: "Terminal", operation: "discover" });
  }
  const ca = text("ca.crt");
  const shared = { url, ...(ca && { ca }) };
  if (type === "ias") return { type, ...shared, username: needed("username"), password: needed("password") };
  const initialAccessToken = text("initial_access_token");
  return { type, ...shared, ...(initialAccessToken && { initialAccessToken }) };
}

/** No credentials, query or fragment: all of them would end up in places where they do not belong. */
function isTenantUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "" && url.search === "" && url.hash === "";
}
