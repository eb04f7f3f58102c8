// A Secret's id: its number, its version, and the fingerprint that OpenSSL prints for its certificate.
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { makeCertificate, secretData } from "../../../test/certificates.ts";
import { defaultVersionAnnotation } from "./object-id.ts";
import { secretMember } from "./secret-id.ts";

const rules = { versionAnnotations: [defaultVersionAnnotation] };
const metadata = { name: "shop-7", annotations: { [defaultVersionAnnotation]: "3" } };
const [issuer, leaf, other] = [makeCertificate({ commonName: "ca" }), makeCertificate(), makeCertificate()];
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const keyOfLeaf = secretData("", leaf.privateKey)["tls.key"] ?? "";
const memberWith = (data: Readonly<Record<string, string>>) => secretMember({ metadata, data }, rules);
const seenIn = (certificate: string): string => {
  const member = memberWith({ "tls.crt": base64(certificate), "tls.key": keyOfLeaf });
  return member.state === "counted" ? member.id : member.reason;
};

const fingerprint = execFileSync("openssl", ["x509", "-noout", "-fingerprint", "-sha1"], { input: leaf.certificate })
  .toString()
  .trim()
  .replace(/^.*=/, "")
  .replaceAll(":", "")
  .toLowerCase();
const id = `7-3-${fingerprint}`;

test("has the SHA-1 fingerprint of the first certificate, as OpenSSL prints it", () => {
  expect(seenIn(leaf.certificate)).toBe(id);
});

test.each(["p384", "ed25519", "rsa2048"] as const)("of a %s key too", (keyType) => {
  const { certificate, privateKey } = makeCertificate({ keyType });
  expect(memberWith(secretData(certificate, privateKey))).toMatchObject({ state: "counted" });
});

describe("does not change with what stands around the certificate", () => {
  test.each([
    ["text before it", `subject=CN = shop\n${leaf.certificate}`],
    ["its chain", leaf.certificate + issuer.certificate],
    ["Windows line ends", leaf.certificate.replaceAll("\n", "\r\n")],
    ["headers in the block", leaf.certificate.replace("-----\n", "-----\nX-Note: renewed\n\n")],
  ])("%s", (_what, certificate) => {
    expect(seenIn(certificate)).toBe(id);
  });
});

describe("is missing, with the reason", () => {
  const { certificate } = leaf;
  const spoilt = certificate.replace(/^(-.*\n)(.{8})/, "$1AAAAAAAA");
  test.each([
    ["no tls.crt", { "tls.key": keyOfLeaf }, "CertificateMissing"],
    ["an empty tls.crt", { "tls.crt": "", "tls.key": keyOfLeaf }, "CertificateMissing"],
    ["no PEM", { "tls.crt": base64("hello"), "tls.key": keyOfLeaf }, "CertificateInvalid"],
    ["half a certificate", { "tls.crt": base64(certificate.slice(0, 200)), "tls.key": keyOfLeaf }, "CertificateInvalid"],
    ["a damaged certificate", { "tls.crt": base64(spoilt), "tls.key": keyOfLeaf }, "CertificateInvalid"],
    ["a key first", { "tls.crt": base64(Buffer.from(keyOfLeaf, "base64").toString() + certificate), "tls.key": keyOfLeaf }, "CertificateInvalid"],
    ["white space without end", { "tls.crt": base64(`-----BEGIN CERTIFICATE-----${"\n".repeat(8000)}`), "tls.key": keyOfLeaf }, "CertificateInvalid"],
    ["more than is read", { "tls.crt": base64(certificate.padEnd(128 * 1024 + 1)), "tls.key": keyOfLeaf }, "CertificateInvalid"],
    ["no tls.key", { "tls.crt": base64(certificate) }, "KeyInvalid"],
    ["an unreadable tls.key", { "tls.crt": base64(certificate), "tls.key": base64("hello") }, "KeyInvalid"],
    ["the key of another", { ...secretData(other.certificate), "tls.key": keyOfLeaf }, "KeyMismatch"],
  ])("%s", (_what, data, reason) => {
    expect(memberWith(data)).toEqual({ state: "leftOut", reason });
  });

  test("no number and no version, whatever is in the Secret", () => {
    expect(secretMember({ metadata: { ...metadata, name: "shop" }, data: {} }, rules)).toEqual({ state: "leftOut", reason: "NumberMissing" });
    expect(secretMember({ metadata: { name: "shop-7" } }, rules)).toEqual({ state: "leftOut", reason: "VersionMissing" });
  });
});

test("a CA without a key pair counts without a fingerprint", () => {
  expect(memberWith({ "ca.crt": base64(issuer.certificate) })).toMatchObject({ state: "counted", id: "7-3-" });
});

describe("the digest of its content", () => {
  const digestWith = (more: Readonly<Record<string, string>>): unknown => {
    const member = memberWith({ ...secretData(leaf.certificate, leaf.privateKey), ...more });
    return member.state === "counted" ? member.digest : undefined;
  };

  test("covers the chain and the CA, which the id does not", () => {
    const digests = [{}, { "tls.crt": base64(leaf.certificate + issuer.certificate) }, { "ca.crt": base64(issuer.certificate) }].map(digestWith);
    expect(new Set(digests).size).toBe(3);
  });

  test("covers nothing that a gateway does not take from a Secret", () => {
    expect(digestWith({ password: base64("1234") })).toBe(digestWith({}));
  });
});
