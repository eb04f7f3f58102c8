// The reader of PEM against a plain expression and OpenSSL's own reader on what people write, and against what only an attacker writes.
import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { makeCertificate } from "../test/certificates.ts";
import { leafOf, parseCertificatePem, pemBlocks, readPrivateKey } from "./certificate.ts";

const encoded = (text: string): string => Buffer.from(text, "latin1").toString("base64");
const certificates = Array.from({ length: 3 }, () => makeCertificate().certificate);
const keys = certificates.map(() => makeCertificate().privateKey.export({ type: "pkcs8", format: "pem" }).toString());

/** What stands around blocks: remarks, what `openssl s_client` prints, binary garbage. Nothing that looks like a mark. */
const garbage = fc.oneof(
  fc.constantFrom(
    "",
    "subject=CN = shop",
    "Bag Attributes: <No Attributes>",
    "---",
    "Server certificate",
    "\u0000\u0001ÿ",
    "\t \t",
    "# END CERTIFICATE",
  ),
  fc.string({ maxLength: 20 }).map((text) => text.replaceAll("-", "_")),
);
const lineEnd = fc.constantFrom("\n", "\r\n");

describe("on well-formed text", () => {
  const file = fc.record({
    blocks: fc.array(fc.record({ pem: fc.constantFrom(...certificates), before: fc.array(garbage, { maxLength: 3 }) }), {
      minLength: 1,
      maxLength: 4,
    }),
    after: fc.array(garbage, { maxLength: 3 }),
    eol: lineEnd,
  });
  const textOf = ({ blocks, after, eol }: { blocks: { pem: string; before: string[] }[]; after: string[]; eol: string }): string =>
    [...blocks.flatMap(({ pem, before }) => [...before, pem.trimEnd()]), ...after].join("\n").replaceAll(/\r?\n/g, eol) + eol;

  test("finds every certificate, whatever stands before, between and after, and the same leaf as OpenSSL", () => {
    fc.assert(
      fc.property(file, (written) => {
        const text = textOf(written);
        const ders = written.blocks.map(({ pem }) => new X509Certificate(pem).raw.toString("base64"));
        expect(parseCertificatePem(text)).toEqual({ certificates: ders, unfinished: false });
        expect(leafOf(encoded(text))?.raw.toString("base64")).toBe(ders[0]);
        // OpenSSL ends its search at a NUL byte.
        if (!text.includes("\u0000")) expect(new X509Certificate(Buffer.from(text, "latin1")).raw.toString("base64")).toBe(ders[0]);
      }),
    );
  });

  test("headers and folding do not matter", () => {
    const headers = fc.array(fc.constantFrom("X-Note: renewed", "Proc-Type: 4,CLEAR", "a_b:c"), { maxLength: 3 });
    const [pem = ""] = certificates;
    const base64 = new X509Certificate(pem).raw.toString("base64");
    fc.assert(
      fc.property(headers, fc.integer({ min: 1, max: 2000 }), lineEnd, (lines, width, eol) => {
        const folded = base64.replaceAll(new RegExp(`.{1,${width}}`, "g"), `$&${eol}`);
        const block = ["-----BEGIN CERTIFICATE-----", ...lines, ...(lines.length > 0 ? [""] : []), `${folded}-----END CERTIFICATE-----`].join(eol);
        expect([...pemBlocks(block)]).toEqual([{ label: "CERTIFICATE", base64 }]);
      }),
    );
  });
});

test("marks in any order: the first whole block is the one that a plain expression finds", () => {
  // Cubic, so fit for a few marks only. A header cannot hold a mark.
  const plain = /-----BEGIN ([^\n\r-]*)-----\s*(?:[\w-]+:(?:(?!-----)[^\n])*\n)*\s*([A-Za-z0-9+/=\s]*)-----END \1-----/;
  const labels = ["CERTIFICATE", "PRIVATE KEY", ""];
  const piece = fc.oneof(
    fc.constantFrom(...labels.flatMap((label) => [`-----BEGIN ${label}-----`, `-----END ${label}-----`])),
    fc.constantFrom("AAAA", "AA==", "", "X-Note: renewed", "a:", "no base64!", "-----BEGIN CERT", "-----", "----", ":", "\u0000"),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(piece, fc.constantFrom("\n", "\r\n", " ", "\n\n", "\t")), { maxLength: 12 }), (pieces) => {
      const text = pieces.flat().join("");
      const [, label, base64] = plain.exec(text) ?? [];
      const found = [...pemBlocks(text)].find((block) => block.base64 !== undefined);
      expect(found).toEqual(label === undefined ? undefined : { label, base64: base64?.replaceAll(/\s/g, "") });
    }),
    { numRuns: 2000 },
  );
});

describe("reads megabytes of what nobody writes, in one go", () => {
  const [pem = ""] = certificates;
  const [begin, end] = ["-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"];
  const size = 4_000_000;
  const filled = (part: string): string => part.repeat(Math.ceil(size / part.length));
  test.each([
    ["line feeds", begin + filled("\n"), 0],
    ["line ends of Windows", begin + filled("\r\n"), 0],
    ["spaces", begin + filled(" "), 0],
    ["tabs", begin + filled("\t"), 0],
    ["no-break spaces and vertical tabs", begin + filled("\u00A0\v"), 0],
    ["spaces before a header that is none", `${begin + filled(" ")}a b:`, 0],
    ["white space and an end of another kind", `${begin + filled("\n")}-----END X-----`, 0],
    ["white space and an end", begin + filled("\n") + end, 1],
    ["NUL bytes", begin + filled("\u0000") + end, 0],
    ["base64 that does not end", begin + filled("A"), 0],
    ["base64 that ends", begin + filled("A") + end, 1],
    ["a word as long as a header's name, without a colon", `${begin}\n${filled("a_")}\n${end}`, 0],
    ["headers", `${begin}\n${filled("a: b\n")}${end}`, 1],
    ["headers on one line", `${begin}\n${filled("a: b ")}\n${end}`, 1],
    ["headers with blank lines", `${begin}\n${filled("a: b\n\n\n")}${end}`, 0],
    ["colons", begin + filled(":") + end, 0],
    ["a label", `-----BEGIN ${filled("A")}-----\n`, 0],
    ["labels that do not end", filled("-----BEGIN A\n"), 0],
    ["beginnings", filled(`${begin}\n`), 0],
    ["beginnings on one line", filled(begin), 0],
    ["beginnings of blocks that all have the same end", `${filled("-----BEGIN A-----\nAAAA\n")}-----END A-----`, 1],
    ["ends", begin + filled(`\n-----END X-----`), 0],
    ["dashes", begin + filled("-"), 0],
    ["dashes alone", filled("-"), 0],
    ["blocks within each other", filled("-----BEGIN A-----\n-----BEGIN B-----\n-----END A-----\n-----END B-----\n"), 0],
    ["empty blocks", filled("-----BEGIN A-----\n-----END A-----\n"), Math.ceil(size / 34)],
    ["certificates", filled(pem), Math.ceil(size / pem.length)],
  ])("%s", (_what, text, whole) => {
    expect([...pemBlocks(text)].filter(({ base64 }) => base64 !== undefined)).toHaveLength(whole);
  });
});

test("a private key that was damaged anywhere is read or not, and nothing is thrown", () => {
  const bytes = keys.map((key) => Buffer.from([...pemBlocks(key)][0]?.base64 ?? "", "base64"));
  fc.assert(
    fc.property(fc.constantFrom(...bytes), fc.nat(137), fc.nat(255), fc.boolean(), (der, at, byte, cut) => {
      const damaged = cut ? der.subarray(0, at) : Buffer.concat([der.subarray(0, at), Buffer.from([byte]), der.subarray(at + 1)]);
      const pem = `-----BEGIN PRIVATE KEY-----\n${damaged.toString("base64")}\n-----END PRIVATE KEY-----\n`;
      expect(["ec", "ed25519", undefined]).toContain(readPrivateKey(encoded(pem))?.asymmetricKeyType);
    }),
    { numRuns: 1000 },
  );
});
