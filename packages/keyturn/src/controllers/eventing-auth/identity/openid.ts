// Any OpenID server with dynamic client registration (RFC 7591) and its management (RFC 7592) as an identity provider.
import { abortRace } from "@keyturn/runtime";
import { discoverOnce, withoutSlash } from "./discovery.ts";
import { acceptsCredentials, IdentityError, type ProviderHttp } from "./provider-http.ts";
import type { ApplicationRef, IdentityProvider, IssuedSecret, IssueOptions } from "./provider.ts";
import { hintOf, Registrations, secretEndMs, tokenAuthMethod } from "./registrations.ts";

/** A server, and what it wants to see before it registers a client. */
interface OpenidSettings {
  /** The issuer. */
  readonly url: string;
  /** RFC 7591, section 1.2; absent where registration is open. */
  readonly initialAccessToken?: string;
}

/** What the provider needs besides its settings. */
interface OpenidDependencies {
  readonly http: ProviderHttp;
  readonly allowHttp: boolean;
}

/**
 * Opens a server. Nothing is asked before it is needed.
 *
 * A server cannot be asked for a client by name, so a client is found by the grant that is kept for it. What is lost in a crash:
 * - between the server's registering a client and the grant's being kept, that client: it stays at the server under the runtime's name, nobody
 *   has its secret, and another is registered in its place;
 * - between the server's replacing the registration access token on an update and the new one's being kept, the right to manage the client: it
 *   stays at the server too, and another takes its place. Where a server replaces the token even on reading, the client is reported instead.
 *
 * A caller whose signal ends goes free at once, while what is under way is still brought to its end, and the grant kept.
 */
export function openidProvider({ url, initialAccessToken }: OpenidSettings, { http, allowHttp }: OpenidDependencies): IdentityProvider {
  const issuer = withoutSlash(url);
  const discovered = discoverOnce(http, { url: issuer, allowHttp, check: "same-issuer" });
  const registrations = new Registrations({
    http,
    allowHttp,
    issuer,
    ...(initialAccessToken !== undefined && { initialAccessToken }),
    discover: () => discovered(),
  });

  const issueSecret = async (application: ApplicationRef, { rotate }: IssueOptions): Promise<IssuedSecret> => {
    const known = await registrations.read(application, "issue-secret");
    if (!known) {
      const message = `failed to read the client's registration: there is no client ${application.id}, or no right to manage it`;
      throw new IdentityError(message, { code: "SecretLost", operation: "issue-secret" });
    }
    const { client_secret: secret } = known.client;
    if (!rotate && secret !== undefined) return { secret, hint: hintOf(secret) };
    const updated = await registrations.update(application, known);
    if (updated && (updated.fresh || !rotate)) return { secret: updated.secret, hint: updated.hint };
    const message = `failed to update the client's registration: ${issuer} issues no new secret on an update (RFC 7592, 2.2)`;
    throw new IdentityError(message, { code: rotate ? "Terminal" : "SecretLost", operation: "issue-secret" });
  };

  return {
    type: "openid",
    url: issuer,
    secretsOverlap: false,

    async find(owner, signal) {
      const grant = await abortRace(registrations.grantOf(owner), signal);
      if (!grant?.management) return [];
      const known = await abortRace(registrations.read({ ...owner, id: grant.clientId }, "find"), signal);
      // The grant is kept in a Secret of the owner's own: nobody else's client can be there.
      return known ? [{ id: grant.clientId, trace: "ours" }] : [];
    },

    async read(application, signal) {
      const known = await abortRace(registrations.read(application, "read"), signal);
      return known && { id: application.id, clientId: application.id, trace: "ours" };
    },

    // The server is not asked: it may replace the token, and the grant is being worked with elsewhere.
    has: async (application, signal) => (await abortRace(registrations.grantOf(application), signal)) !== undefined,

    async create(owner, signal) {
      const { registrationUrl } = await discovered(signal);
      if (registrationUrl !== undefined) return abortRace(registrations.register(owner, registrationUrl), signal);
      const message = `failed to register a client: ${issuer} has no registration_endpoint; switch dynamic client registration on there`;
      throw new IdentityError(message, { code: "Terminal", operation: "create" });
    },

    delete: (application, signal) => abortRace(registrations.delete(application), signal),

    issueSecret: (application, options, signal) => abortRace(issueSecret(application, options), signal),

    async listSecrets(application, signal) {
      const known = await abortRace(registrations.read(application, "list-secrets"), signal);
      return known?.grant.hint === undefined ? [] : [{ hint: known.grant.hint, validToMs: secretEndMs(known.client) }];
    },

    async deleteSecret(application, hint, signal) {
      const known = await abortRace(registrations.read(application, "delete-secret"), signal);
      if (known?.grant.hint !== hint) return;
      throw new IdentityError(`failed to delete a secret: it is the only one of client ${application.id}`, {
        code: "Terminal",
        operation: "delete-secret",
      });
    },

    async endpoints(signal) {
      const { tokenUrl, jwksUrl } = await discovered(signal);
      return { issuer, tokenUrl, jwksUrl };
    },

    async accepts(credentials, signal) {
      const { tokenUrl } = await discovered(signal);
      return acceptsCredentials(http, { tokenUrl, method: tokenAuthMethod, ...credentials }, signal);
    },

    close: () => http.close(),
  };
}
