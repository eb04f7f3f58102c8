// Our certificates as Node's own reader and TLS see them.
import { X509Certificate, createPrivateKey } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:tls";
import type { AddressInfo } from "node:net";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "./testing/virtual-clock.ts";
import { createAuthority, issueCertificate } from "./x509.ts";

const authority = createAuthority("test authority");

describe("an authority", () => {
  it("signs itself and may sign others", () => {
    const certificate = new X509Certificate(authority.certificate);
    expect(certificate.ca).toBe(true);
    expect(certificate.subject).toBe("CN=test authority");
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(authority.privateKey))).toBe(true);
  });
});

describe("an issued certificate", () => {
  it("carries a user and its groups, in order", () => {
    const { certificate, privateKey } = issueCertificate(authority, { usage: "client", commonName: "jane", organizations: ["dev", "ops"] });
    const read = new X509Certificate(certificate);
    expect(read.subject).toBe("O=dev\nO=ops\nCN=jane");
    expect(read.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(read.ca).toBe(false);
    expect(read.checkPrivateKey(createPrivateKey(privateKey))).toBe(true);
    expect(read.checkIssued(new X509Certificate(authority.certificate))).toBe(true);
  });

  it("holds from when to when it was asked to", () => {
    const clock = new VirtualClock(Date.UTC(2030, 1, 28, 23, 59, 58));
    const { certificate } = issueCertificate(authority, { usage: "client", commonName: "jane", notBeforeInMs: 0, notAfterInMs: 3000, clock });
    const read = new X509Certificate(certificate);
    expect(read.validFromDate.toISOString()).toBe("2030-02-28T23:59:58.000Z");
    expect(read.validToDate.toISOString()).toBe("2030-03-01T00:00:01.000Z");
  });

  it("names any user and any hosts, and no others", () => {
    const host = fc.oneof(
      fc.domain(),
      fc.ipV4().filter((address) => !/(^|\.)0\d/.test(address)),
    );
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 300, unit: "binary" }), fc.array(host, { minLength: 1, maxLength: 30 }), (user, hosts) => {
        const server = new X509Certificate(issueCertificate(authority, { usage: "server", commonName: "server", hosts }).certificate);
        expect(server.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true);
        expect(server.subjectAltName?.split(", ")).toEqual(hosts.map((name) => (/^[\d.]+$/.test(name) ? `IP Address:${name}` : `DNS:${name}`)));
        const client = issueCertificate(authority, { usage: "client", commonName: user });
        expect(new X509Certificate(client.certificate).toLegacyObject().subject.CN).toBe(user);
      }),
      { numRuns: 15 },
    );
  });

  it("is trusted by TLS on both sides", async () => {
    const serving = issueCertificate(authority, { usage: "server", commonName: "server", hosts: ["127.0.0.1"] });
    const user = issueCertificate(authority, { usage: "client", commonName: "jane" });
    const ca = authority.certificate;
    const server = createServer({ cert: serving.certificate, key: serving.privateKey, ca, requestCert: true, rejectUnauthorized: true }, (socket) => {
      socket.end(String(socket.getPeerCertificate().subject.CN));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const socket = connect({ host: "127.0.0.1", port, ca, cert: user.certificate, key: user.privateKey });
    const [greeting]: unknown[] = await once(socket, "data");
    expect(String(greeting)).toBe("jane");
    socket.destroy();
    server.close();
  });
});
