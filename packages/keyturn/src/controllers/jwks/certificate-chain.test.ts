// PEM text to chain: what is found, what is passed over, and where a chain ends.
import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { makeCertificate, type TestCertificate } from "../../../test/certificates.ts";
import { readCertificateChain } from "./certificate-chain.ts";
import { parseCertificatePem } from "../certificate.ts";

const root = makeCertificate({ commonName: "root" });
const issuing = makeCertificate({ commonName: "issuing", issuer: root });
const leaf = makeCertificate({ commonName: "leaf", issuer: issuing });

const der = ({ certificate }: TestCertificate): string => new X509Certificate(certificate).raw.toString("base64");
const read = (pem: string) => readCertificateChain(parseCertificatePem(pem).certificates)?.certificates;

describe("reading tls.crt", () => {
  test("takes the whole chain, the leaf first", () => {
    expect(read(leaf.certificate + issuing.certificate + root.certificate)).toEqual([leaf, issuing, root].map(der));
  });

  test.each([
    ["text before, between and after", `subject=/CN=leaf\n\nBag Attributes\n${leaf.certificate}\n--- next ---\n${issuing.certificate}the end`],
    ["CRLF line ends", (leaf.certificate + issuing.certificate).replaceAll("\n", "\r\n")],
    ["no line ends within", leaf.certificate.replaceAll(/(?<=[\w+/=])\n(?=[\w+/=])/g, "") + issuing.certificate],
    ["the older label", (leaf.certificate + issuing.certificate).replaceAll("CERTIFICATE", "X509 CERTIFICATE")],
    ["a private key in the same file", leaf.privateKey.export({ type: "pkcs8", format: "pem" }).toString() + leaf.certificate + issuing.certificate],
    ["100 kB of remarks", "# remark\n".repeat(11_000) + leaf.certificate + issuing.certificate],
  ])("reads a file with %s", (_name, pem) => {
    expect(read(pem)).toEqual([leaf, issuing].map(der));
  });

  test("a certificate whose date is none cannot be read", () => {
    const bytes = new X509Certificate(leaf.certificate).raw.toString("latin1");
    // The 99th month: OpenSSL reads such a certificate, and has no date for it.
    const dateless = Buffer.from(bytes.replace("490101000000Z", "499901000000Z"), "latin1").toString("base64");
    expect(readCertificateChain([der(leaf)])).toBeDefined();
    expect(readCertificateChain([dateless])).toBeUndefined();
  });

  test("keeps nothing of a private key that stands in the file", () => {
    const pem = leaf.privateKey.export({ type: "pkcs8", format: "pem" }).toString() + leaf.certificate;
    expect(parseCertificatePem(pem).certificates).toEqual([der(leaf)]);
  });

  test("ends the chain at a certificate that did not sign the one before", () => {
    const impostor = makeCertificate({ commonName: "issuing" });
    expect(read(leaf.certificate + root.certificate + issuing.certificate)).toEqual([der(leaf)]);
    expect(read(leaf.certificate + impostor.certificate)).toEqual([der(leaf)]);
    expect(read(leaf.certificate + issuing.certificate + root.certificate + root.certificate)).toEqual([leaf, issuing, root].map(der));
  });

  test("ends the chain at a certificate that cannot be read", () => {
    const damaged = issuing.certificate.replace(/\n[\w+/]{8}/, "\nAAAAAAAA");
    expect(read(leaf.certificate + damaged + root.certificate)).toEqual([der(leaf)]);
  });

  test("a bundle of a hundred certificates of others gives the leaf alone", () => {
    const bundle = Array.from({ length: 100 }, () => root.certificate).join("");
    expect(read(leaf.certificate + bundle)).toEqual([der(leaf)]);
  });

  test.each([
    ["nothing", ""],
    ["garbage", Buffer.alloc(1000, 0xff).toString("latin1")],
    ["a block that is no certificate", "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n"],
    ["an empty block", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"],
    ["a damaged leaf before a good certificate", leaf.certificate.replace(/\n[\w+/]{8}/, "\nAAAAAAAA") + issuing.certificate],
  ])("finds no chain in %s", (_name, pem) => {
    expect(read(pem)).toBeUndefined();
  });

  test("tells a file that was cut off from one without certificates", () => {
    expect(parseCertificatePem(leaf.certificate.slice(0, 200))).toEqual({ certificates: [], unfinished: true });
    expect(parseCertificatePem("hello")).toEqual({ certificates: [], unfinished: false });
  });

  test("knows the dates", () => {
    const notBeforeMs = Date.UTC(2026, 1, 3, 4, 5, 6);
    const notAfterMs = Date.UTC(2027, 1, 3, 4, 5, 6);
    const { certificate } = makeCertificate({ notBeforeMs, notAfterMs });
    expect(readCertificateChain(parseCertificatePem(certificate).certificates)).toMatchObject({ notBeforeMs, notAfterMs });
  });
});
