// The two sets of ids that are published with their checksums, and what follows from them.
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { makeCertificate, secretData } from "../../../test/certificates.ts";
import vectors from "./checksum.vectors.json" with { type: "json" };
import { memberFlags } from "./flags.ts";
import { checksumOf, checksumOfSorted, defaultVersionAnnotation, objectIdOf, secretMember } from "./ids.ts";

describe.each(Object.entries(vectors))("the published %s checksum", (_kind, { ids, checksum }) => {
  test("is that of its ids as they are listed", () => {
    expect(checksumOfSorted(ids)).toBe(checksum);
  });

  test("does not depend on the order in which they come", () => {
    expect(checksumOf(ids.toReversed())).toBe(checksum);
  });

  test("is of ids in the order of bytes, not of numbers", () => {
    const byNumber = ids.toSorted((left, right) => Number.parseInt(left, 10) - Number.parseInt(right, 10));
    expect(byNumber).not.toEqual(ids);
    expect(checksumOfSorted(byNumber)).not.toBe(checksum);
  });
});

test("the checksum of no ids is that of the empty text", () => {
  expect(checksumOf([])).toBe("d41d8cd98f00b204e9800998ecf8427e");
});

// Numbers and versions, as Tengine's reader takes them from names and annotations.

const rules = { versionAnnotations: [defaultVersionAnnotation] };
const idOf = (name: string, version?: string): string => {
  const result = objectIdOf({ name, ...(version !== undefined && { annotations: { [defaultVersionAnnotation]: version } }) }, rules);
  return result.ok ? result.id : result.reason;
};

describe("the number at the end of the name", () => {
  test.each([
    ["alibaba-taobao-com-27555", "27555-1"],
    ["a-7", "7-1"],
    ["a-007", "7-1"],
    ["a--7", "7-1"],
    ["a.b-7", "7-1"],
    ["a-9223372036854775807", "9223372036854775807-1"],
    ["a-9223372036854775808", "NumberMissing"],
    [`a-${"0".repeat(200)}9223372036854775807`, "9223372036854775807-1"],
    ["a-10000000000000000000", "NumberMissing"],
    [`a-${"9".repeat(250_000)}`, "NumberMissing"],
    ["a-7b", "NumberMissing"],
    ["a-7.b", "NumberMissing"],
    ["7", "NumberMissing"],
    ["shop", "NumberMissing"],
    ["", "NumberMissing"],
  ])("%s: %s", (name, expected) => {
    expect(idOf(name, "1")).toBe(expected);
  });
});

describe("the version", () => {
  test.each([
    ["1", "7-1"],
    ["+5", "7-5"],
    ["007", "7-7"],
    ["-1", "7--1"],
    ["-9223372036854775808", "7--9223372036854775808"],
    ["9223372036854775808", "VersionInvalid"],
    ["0", "VersionInvalid"],
    ["-0", "VersionInvalid"],
    ["", "VersionInvalid"],
    [" 1", "VersionInvalid"],
    ["1.0", "VersionInvalid"],
    ["v1", "VersionInvalid"],
    ["１", "VersionInvalid"],
    [undefined, "VersionMissing"],
  ])("%j: %s", (version, expected) => {
    expect(idOf("a-7", version)).toBe(expected);
  });

  test("is that of the first annotation, of those that may hold it, that is there", () => {
    const versionAnnotations = ["fs.ingress.alibaba/version", defaultVersionAnnotation];
    const of = (annotations: Record<string, string>): unknown => objectIdOf({ name: "alibaba-com-ecc-118", annotations }, { versionAnnotations });
    expect(of({ "fs.ingress.alibaba/version": "5792" })).toEqual({ ok: true, id: "118-5792" });
    expect(of({ [defaultVersionAnnotation]: "3" })).toEqual({ ok: true, id: "118-3" });
    expect(of({ [defaultVersionAnnotation]: "3", "fs.ingress.alibaba/version": "5792" })).toEqual({ ok: true, id: "118-5792" });
    expect(of({ [defaultVersionAnnotation]: "3", "fs.ingress.alibaba/version": "x" })).toEqual({ ok: false, reason: "VersionInvalid" });
  });

  test("is found by default where the sample Secrets of Tengine's documentation have it, and where Tengine reads it if it is there too", () => {
    const byDefault = { versionAnnotations: memberFlags.versionAnnotations.parse(undefined) };
    const of = (name: string, annotations: Record<string, string>): unknown => objectIdOf({ name, annotations }, byDefault);
    expect(of("alibaba-com-ecc-118", { "fs.ingress.alibaba/version": "5792" })).toEqual({ ok: true, id: "118-5792" });
    expect(of("alibaba-com-rsa-119", { "fs.ingress.alibaba/version": "5793" })).toEqual({ ok: true, id: "119-5793" });
    expect(of("alibaba-taobao-com-27555", { "nginx.ingress.kubernetes.io/version": "1" })).toEqual({ ok: true, id: "27555-1" });
    const both = { "fs.ingress.alibaba/version": "5792", "nginx.ingress.kubernetes.io/version": "1" };
    expect(of("alibaba-com-ecc-118", both)).toEqual({ ok: true, id: "118-1" });
  });
});

// A Secret's id: its number, its version, and the fingerprint that OpenSSL prints for its certificate.

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

test.each([
  ["garbage", base64("garbage"), false],
  ["a certificate that is damaged", base64(leaf.certificate.replace(/\n[A-Za-z0-9+/]{8}/, "\nAAAAAAAA")), false],
  ["a certificate and a key", base64(leaf.certificate + Buffer.from(keyOfLeaf, "base64").toString()), false],
  ["two certificates with text between them", base64(`${leaf.certificate}and\n${leaf.certificate}`), true],
  ["nothing", "", true],
])("with %s in ca.crt it counts as Tengine counts it", (_, authority, counts) => {
  const member = memberWith({ "tls.crt": base64(leaf.certificate), "tls.key": keyOfLeaf, "ca.crt": authority });
  expect(member.state === "counted" ? "counted" : member.reason).toBe(counts ? "counted" : "AuthorityInvalid");
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
