// TLS material is read once for as long as it is in use.
import { connect, createServer, type DetailedPeerCertificate, type SecureContextOptions } from "node:tls";
import { expect, test } from "vitest";
import { createAuthority, issueCertificate } from "../../x509.ts";
import { secureContextOf } from "./connection-pool.ts";

test("the same material gives the same context, other material another one", () => {
  const authority = createAuthority("contexts");
  const { certificate: cert, privateKey: key } = issueCertificate(authority, { usage: "client", commonName: "someone" });
  const trusting = { ca: authority.certificate };
  expect(secureContextOf({ ...trusting })).toBe(secureContextOf(trusting));
  expect(secureContextOf({ ...trusting, cert, key })).not.toBe(secureContextOf(trusting));
});

test("material that is no good is refused", () => {
  expect(() => secureContextOf({ cert: "no certificate", key: "no key" })).toThrow("PEM");
});

test("a client certificate is shown to the server as it was given, without the trusted authority that signed it", async () => {
  const authority = createAuthority("signs-both");
  const server = issueCertificate(authority, { usage: "server", commonName: "server", hosts: ["127.0.0.1"] });
  const client = issueCertificate(authority, { usage: "client", commonName: "someone" });
  await using shown = await serverThatLooks({ cert: server.certificate, key: server.privateKey });
  const secureContext = secureContextOf({ ca: authority.certificate, cert: client.certificate, key: client.privateKey });
  const socket = connect({ host: "127.0.0.1", port: shown.port, secureContext });
  const certificate = await shown.certificate;
  socket.destroy();
  expect(certificate.subject.CN).toBe("someone");
  // It would be checked too, with every request: an API server would work twice as hard to know who we are.
  expect(certificate.issuerCertificate).toBeUndefined();
});

/** A TLS server that trusts nobody and knows no authority, so that all it has is what it was shown. */
async function serverThatLooks(
  material: Pick<SecureContextOptions, "cert" | "key">,
): Promise<AsyncDisposable & { readonly port: number; readonly certificate: Promise<DetailedPeerCertificate> }> {
  const { promise, resolve } = Promise.withResolvers<DetailedPeerCertificate>();
  const server = createServer({ ...material, requestCert: true, rejectUnauthorized: false }, (socket) => {
    resolve(socket.getPeerCertificate(true));
    socket.on("error", () => undefined).end();
  });
  const port = await new Promise<number>((listening) =>
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      listening(typeof address === "object" && address ? address.port : 0);
    }),
  );
  return { port, certificate: promise, [Symbol.asyncDispose]: () => new Promise((closed) => server.close(() => closed())) };
}
