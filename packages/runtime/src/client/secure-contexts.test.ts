// TLS material is read once for as long as it is in use.
import { expect, test } from "vitest";
import { createAuthority, issueCertificate } from "../testing/x509/certificate.ts";
import { secureContextOf } from "./secure-contexts.ts";

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
