// The OpenID discovery document: how relying parties that know an issuer's address find its keys.
import type { KeyEntry } from "./jwk.ts";

/** The key within the published ConfigMap, and the file that nginx serves. */
export const discoveryFile = "openid-configuration.json";

/** Where discovery looks for the document (OpenID Connect Discovery 1.0, section 4), below an issuer's own path. */
export const discoveryPath = "/.well-known/openid-configuration";

/** The discovery document for an issuer with these keys, by file name; nothing without an issuer. It has what the specification requires of an issuer that only signs tokens. */
export function discoveryFiles(issuer: string | undefined, keys: readonly Pick<KeyEntry, "jwk">[]): Readonly<Record<string, string>> {
  if (issuer === undefined) return {};
  const document = {
    issuer,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [...new Set(keys.flatMap(({ jwk: { alg = [] } }) => alg))].toSorted(),
  };
  return { [discoveryFile]: `${JSON.stringify(document, undefined, 2)}\n` };
}
