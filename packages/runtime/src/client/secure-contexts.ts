// OpenSSL's form of TLS material, made once for as long as anybody uses it: each takes some 25 kB, and a process can talk to thousands of servers.
import { createHash } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import type { TlsMaterial } from "./auth/credentials.ts";

const certificateBegin = "-----BEGIN CERTIFICATE-----";
const contexts = new Map<string, WeakRef<SecureContext>>();
const forget = new FinalizationRegistry((id: string) => {
  if (contexts.get(id)?.deref() === undefined) contexts.delete(id);
});

/** The context of this material; the same one for the same material. Throws what OpenSSL throws if it is no good. */
export function secureContextOf({ ca, cert, key }: TlsMaterial): SecureContext {
  const id = createHash("sha256")
    .update(JSON.stringify([ca, cert, key]))
    .digest("base64url");
  const known = contexts.get(id)?.deref();
  if (known) return known;
  const context = createSecureContext({
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert: nothingAdded(cert) }),
    ...(key !== undefined && { key }),
    minVersion: "TLSv1.2",
  });
  contexts.set(id, new WeakRef(context));
  forget.register(context, id);
  return context;
}

/**
 * To a client certificate that comes alone OpenSSL adds the authority that signed it, if it is among the trusted ones. The server then finds two ways
 * from the certificate to its root and checks a signature for each, with every request: that was a tenth of all the processor time of an API server
 * that our writes kept busy. What is given with a chain is sent as it is, so a certificate that comes alone is given with itself as its chain.
 */
function nothingAdded(cert: string): string {
  return cert.indexOf(certificateBegin) === cert.lastIndexOf(certificateBegin) ? `${cert}\n${cert}` : cert;
}
