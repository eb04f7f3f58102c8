// What the Secret with the identity provider's credentials says, read and checked.
import { IdentityError } from "./identity-error.ts";

/** The credentials of a tenant. */
export type ProviderSettings =
  | { readonly type: "ias"; readonly url: string; readonly username: string; readonly password: string; readonly ca?: string }
  | { readonly type: "openid"; readonly url: string; readonly initialAccessToken?: string; readonly ca?: string };

/** Which provider is used. */
export type ProviderType = ProviderSettings["type"];

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
    if (!value) throw new IdentityError(`key ${key} is not found in ${type} secret`, { code: "Terminal", step: "discover" });
    return value;
  };
  const url = needed("url");
  if (!isTenantUrl(url)) {
    throw new IdentityError(`key url in ${type} secret is no URL such as https://tenant.example.com`, { code: "Terminal", step: "discover" });
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
