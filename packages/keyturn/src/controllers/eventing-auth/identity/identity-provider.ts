// What the controller needs of an identity provider, whichever it is: SAP's Application Directory, or any server with OpenID dynamic registration.

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
}

/** One application, by the id that the provider gave it. */
export interface ApplicationRef extends ApplicationOwner {
  readonly id: string;
}

/** What the provider tells about an application. */
export interface Application {
  readonly id: string;
  /** Undefined until it has one: IAS generates it with the first secret. */
  readonly clientId: string | undefined;
}

/** An application of a name. */
export interface FoundApplication {
  readonly id: string;
  /** True if it carries the trace of its having been made for this very owner; a name alone proves nothing. */
  readonly isOurs: boolean;
}

/** A client secret. It is told once: who loses it must issue another. */
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
  /** When it stops working by itself; undefined if never or not told. */
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
   * False: any secret that works; one that exists already if the provider tells it again, else a new one.
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
 * Guarantees: every method rejects with an `IdentityError` or the signal's reason, and never with anything else; every request has a deadline;
 * what can safely be repeated is repeated a few times inside. A rejected `create` or `issueSecret` may have had its effect all the same:
 * look again (`find`, `listSecrets`) before the next try.
 */
export interface IdentityProvider {
  readonly type: "ias" | "openid";
  /** True if secrets live beside each other until they are deleted by hint; false if a new one ends the one before it at once. */
  readonly secretsOverlap: boolean;
  /** Every application of this name; none is no error. With dynamic registration: the one that a kept grant belongs to, if it still exists. */
  find(owner: ApplicationOwner, signal?: AbortSignal): Promise<readonly FoundApplication[]>;
  /**
   * The application, or undefined if the provider proves that it does not have it (any more): it says so in its own words, and where it has a
   * list, the application is not on it. An answer that may come from something in between, or mean that only the credentials are wrong, is an error.
   */
  read(application: ApplicationRef, signal?: AbortSignal): Promise<Application | undefined>;
  /** Makes an application, without looking whether there is one already. */
  create(owner: ApplicationOwner, signal?: AbortSignal): Promise<CreatedApplication>;
  /** Deletes the application and with it all its secrets. One that is proven not to exist, as by `read`, is a success. */
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
