// Access on one's own machine: a secret in the page's address, so that nobody else who has an account there can look.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { AccessCheck, AccessVerdict } from "./access-check.ts";
import { unlimitedRights } from "./rights.ts";

/** 256 bits. */
const secretBytes = 32;

/** A secret for one run of the server, and the check for it. What may be seen is decided by the kubeconfig with which the server itself reads. */
export function secretAccess(): { readonly secret: string; readonly access: AccessCheck } {
  const secret = randomBytes(secretBytes).toString("base64url");
  const verdict = (bearer: string): AccessVerdict =>
    timingSafeEqual(digest(bearer), digest(secret)) ? { type: "allowed", viewer: { user: undefined, rights: unlimitedRights } } : { type: "unknown" };
  return {
    secret,
    access: { access: "secret", known: verdict, check: async (bearer) => verdict(bearer), mayList: async () => true },
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
