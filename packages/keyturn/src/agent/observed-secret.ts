// What is kept of a Secret: its id and digest, and when its certificate holds. Never its content.
import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";
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
    return { member, ...datesOf(Buffer.from(encoded, "base64")) };
  };
}

function datesOf(certificate: Buffer): Omit<ObservedSecret, "member"> {
  try {
    const { validFromDate, validToDate } = new X509Certificate(certificate);
    return { notBeforeMs: validFromDate.getTime(), notAfterMs: validToDate.getTime() };
  } catch {
    // It counts, so it can be read by those who matter; Node is stricter about what stands around a certificate. Without dates it is taken to hold.
    return {};
  }
}
