// The state behind the stand-in for IAS: applications, their secrets, and a count of all that was ever made.
import { randomInt, randomUUID } from "node:crypto";

/** A secret of an application. */
export interface StoredSecret {
  readonly secret: string;
  /** The first four characters of the secret, as with IAS. */
  readonly hint: string;
  readonly description?: string;
  readonly authorizationScopes: readonly string[];
  /** RFC 3339; absent for a secret without end. */
  readonly validTo?: string;
}

/** An application. */
export interface StoredApplication {
  readonly id: string;
  readonly name: string;
  readonly clientId: string;
  /** Whether it ever had a secret: IAS generates the client ID with the first one. */
  readonly hasClientId: boolean;
  /** Before that time nobody is shown it. */
  readonly visibleAtMs: number;
  /** The body with which it was created. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly secrets: readonly StoredSecret[];
}

/** How much was made and removed since the start. */
export interface DirectoryCounters {
  readonly created: number;
  readonly deleted: number;
  readonly secretsCreated: number;
  readonly secretsDeleted: number;
}

/** What a secret is made with. */
export type SecretRequest = Omit<StoredSecret, "secret" | "hint"> & { readonly secret?: string };

/** Keeps applications in the order in which they were made. Names need not be unique, as in IAS. */
export class ApplicationDirectory {
  readonly #applications = new Map<string, StoredApplication>();
  #counters: DirectoryCounters = { created: 0, deleted: 0, secretsCreated: 0, secretsDeleted: 0 };

  get counters(): DirectoryCounters {
    return this.#counters;
  }

  list(): readonly StoredApplication[] {
    return [...this.#applications.values()];
  }

  get(id: string): StoredApplication | undefined {
    return this.#applications.get(id);
  }

  byClientId(clientId: string): StoredApplication | undefined {
    return this.list().find((application) => application.clientId === clientId);
  }

  create(name: string, body: StoredApplication["body"] = {}, visibleAtMs = 0): StoredApplication {
    const application = { id: randomUUID(), name, clientId: randomUUID(), hasClientId: false, visibleAtMs, body, secrets: [] };
    this.#applications.set(application.id, application);
    this.#count("created");
    return application;
  }

  /** False if there is no such application. */
  delete(id: string): boolean {
    const deleted = this.#applications.delete(id);
    if (deleted) this.#count("deleted");
    return deleted;
  }

  /** Undefined if there is no such application. */
  addSecret(id: string, { secret = newSecret(), ...rest }: SecretRequest): StoredSecret | undefined {
    const application = this.#applications.get(id);
    if (!application) return undefined;
    const stored = { ...rest, secret, hint: secret.slice(0, 4) };
    this.#applications.set(id, { ...application, hasClientId: true, secrets: [...application.secrets, stored] });
    this.#count("secretsCreated");
    return stored;
  }

  /** Of several secrets with the hint, the one that runs out first goes. False if there is none. */
  deleteSecret(id: string, hint: string): boolean {
    const application = this.#applications.get(id);
    const [first] = (application?.secrets ?? []).filter((secret) => secret.hint === hint).sort((a, b) => endOf(a) - endOf(b));
    if (!application || !first) return false;
    this.#applications.set(id, { ...application, secrets: application.secrets.filter((secret) => secret !== first) });
    this.#count("secretsDeleted");
    return true;
  }

  /** Whether a client may log in with this secret at that time. */
  accepts(clientId: string, secret: string, nowMs: number): boolean {
    return this.byClientId(clientId)?.secrets.some((known) => known.secret === secret && endOf(known) > nowMs) ?? false;
  }

  #count(what: keyof DirectoryCounters): void {
    this.#counters = { ...this.#counters, [what]: this.#counters[what] + 1 };
  }
}

/** What the API allows in secrets and hints. */
const secretCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789[]_:=?@-./~";

function newSecret(): string {
  return Array.from({ length: 35 }, () => secretCharacters.charAt(randomInt(secretCharacters.length))).join("");
}

function endOf({ validTo }: StoredSecret): number {
  return validTo === undefined ? Infinity : Date.parse(validTo);
}
