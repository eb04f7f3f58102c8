// What is kept of a Secret: its id and digest, and when its certificate holds. Never its content.
import { leafOf } from "../controllers/checksum/leaf-certificate.ts";
import type { Member } from "../controllers/checksum/member.ts";
import type { IdRules } from "../controllers/checksum/object-id.ts";
import { type SecretContent, secretMember } from "../controllers/checksum/secret-id.ts";

/** A Secret as the agent remembers it. */
export interface ObservedSecret {
  readonly member: Member;
  /** Of its certificate; absent if it has none. */
  readonly notBeforeMs?: number;
  readonly notAfterMs?: number;
}

/** Turns Secrets into what is kept of them, by the same rules as the control plane's. */
export function secretObserver(rules: IdRules): (secret: SecretContent) => ObservedSecret {
  return function observedSecret(secret) {
    const member = secretMember(secret, rules);
    const encoded = secret.data?.["tls.crt"];
    if (member.state === "leftOut" || !encoded) return { member };
    const leaf = leafOf(encoded);
    return { member, ...(leaf && { notBeforeMs: leaf.validFromDate.getTime(), notAfterMs: leaf.validToDate.getTime() }) };
  };
}
