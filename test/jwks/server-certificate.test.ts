// Secrets with the certificate of a server, by what a real nginx has against them: what it would refuse is refused before it is rolled out.
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import type { KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryFolder } from "@keyturn/runtime/testing/vitest";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { renderNginxConfig } from "../../packages/keyturn/src/controllers/jwks/nginx.ts";
import { problemWithServer } from "../../packages/keyturn/src/controllers/jwks/server-certificate.ts";
import { keepCertificateSecret } from "../../packages/keyturn/src/public-key.ts";
import { fixedCertificates, makeCertificate, type TestCertificate } from "../../packages/keyturn/test/certificates.ts";
import { problemWithNginxConfig } from "./nginx-process.ts";
import "../support/property-seed.ts";

/** The two files, as text of one byte a character. */
interface Files {
  readonly "tls.crt"?: string;
  readonly "tls.key"?: string;
}

function ours(files: Files): string | undefined {
  return problemWithServer(
    keepCertificateSecret({
      data: Object.fromEntries(Object.entries(files).map(([file, text]) => [file, Buffer.from(text, "latin1").toString("base64")])),
    }),
  );
}

const nginxs = (files: Files): Promise<string | undefined> =>
  problemWithNginxConfig((place) => renderNginxConfig({ cacheSeconds: 60, corsOrigins: [], tls: true }, place), { ...files });

const pemOf = (key: KeyObject, type: "pkcs8" | "sec1" | "pkcs1" = "pkcs8"): string => key.export({ type, format: "pem" }).toString();
const filesOf = ({ certificate, privateKey }: TestCertificate): { "tls.crt": string; "tls.key": string } => ({
  "tls.crt": certificate,
  "tls.key": pemOf(privateKey),
});
const authority = makeCertificate({ commonName: "authority" });
const server = makeCertificate({ issuer: authority });
const good = filesOf(server);
const block = (label: string, base64: string): string => `-----BEGIN ${label}-----\n${base64}\n-----END ${label}-----\n`;
const contentOf = (pem: string): string => pem.replaceAll(/-----[^-]+-----|\s/g, "");
const weak = makeCertificate({ keyType: "rsa1024", commonName: "weak" });

const taken: readonly (readonly [string, Files])[] = [
  ["as cert-manager writes them", good],
  ["with the chain", { ...good, "tls.crt": server.certificate + authority.certificate }],
  ["with a chain that is none", { ...good, "tls.crt": server.certificate + makeCertificate().certificate }],
  ["the key by its curve", { ...good, "tls.key": pemOf(server.privateKey, "sec1") }],
  ["with Windows line ends", { "tls.crt": good["tls.crt"].replaceAll("\n", "\r\n"), "tls.key": good["tls.key"].replaceAll("\n", "\r\n") }],
  ["each on a line", { "tls.crt": block("CERTIFICATE", contentOf(good["tls.crt"])), "tls.key": block("PRIVATE KEY", contentOf(good["tls.key"])) }],
  ["with text before them", { "tls.crt": `subject=a\n${good["tls.crt"]}`, "tls.key": `Bag Attributes\n${good["tls.key"]}` }],
  ["with the key in both", { ...good, "tls.crt": good["tls.key"] + good["tls.crt"] }],
  ["without a line end", { "tls.crt": good["tls.crt"].trimEnd(), "tls.key": good["tls.key"].trimEnd() }],
  ...(["rsa2048", "p384", "p521", "ed25519"] as const).map((keyType) => [keyType, filesOf(makeCertificate({ keyType }))] as const),
];

const refused: readonly (readonly [string, Files])[] = [
  ["nothing", {}],
  ["no key", { "tls.crt": good["tls.crt"] }],
  ["an empty key", { ...good, "tls.key": "" }],
  ["another's key", { ...good, "tls.key": pemOf(makeCertificate().privateKey) }],
  [
    "an encrypted key",
    { ...good, "tls.key": server.privateKey.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" }).toString() },
  ],
  ["no certificate", { ...good, "tls.crt": "nothing" }],
  ["a chain the wrong way round", { ...good, "tls.crt": authority.certificate + server.certificate }],
  ["a chain with nonsense in it", { ...good, "tls.crt": server.certificate + block("CERTIFICATE", "AAAA") }],
  ["a chain that is cut off", { ...good, "tls.crt": `${server.certificate}-----BEGIN CERTIFICATE-----\nAAAA` }],
  ["indented lines", { ...good, "tls.crt": good["tls.crt"].replaceAll("\n", "\n  ") }],
  ["blank lines", { ...good, "tls.crt": good["tls.crt"].replaceAll("\n", "\n\n") }],
  ["all on one line", { ...good, "tls.key": good["tls.key"].replaceAll("\n", "") }],
  ["a key of another label", { ...good, "tls.key": good["tls.key"].replaceAll("PRIVATE", "RSA PRIVATE") }],
  ["a key that is too small", filesOf(weak)],
  [
    "an issuer's key that is too small",
    { "tls.crt": makeCertificate({ issuer: weak, privateKey: server.privateKey }).certificate + weak.certificate, "tls.key": good["tls.key"] },
  ],
];

test.each(taken)("what nginx takes is rolled out: %s", async (_what, files) => {
  expect([await nginxs(files), ours(files)]).toEqual([undefined, undefined]);
});

test.each(refused)("what nginx refuses is not rolled out: %s", async (_what, files) => {
  expect(await nginxs(files)).not.toBe(undefined);
  expect(ours(files)).toMatch(/tls\.(crt|key)/);
});

test("a certificate that is signed with SHA-1 is refused, but for one that signs itself", async () => {
  const folder = await temporaryFolder();
  const openssl = (...words: readonly string[]): string => execFileSync("openssl", [...words], { cwd: folder, encoding: "utf8", stdio: "pipe" });
  openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-sha1", "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=ca");
  openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "tls.key", "-out", "request", "-subj", "/CN=server");
  openssl("x509", "-req", "-in", "request", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-sha1", "-out", "tls.crt");
  const read = (file: string): Promise<string> => readFile(join(folder, file), "latin1");
  const leaf = { "tls.crt": await read("tls.crt"), "tls.key": await read("tls.key") };
  expect([await nginxs(leaf), ours(leaf)]).toEqual([expect.stringContaining("md too weak"), expect.stringContaining("sha1WithRSAEncryption")]);
  const self = { "tls.crt": await read("ca.crt"), "tls.key": await read("ca.key") };
  expect([await nginxs(self), ours(self)]).toEqual([undefined, undefined]);
});

/** One or two edits of a file, as slips of people and tools make them. */
const edits = fc.array(
  fc.record({
    file: fc.constantFrom("tls.crt" as const, "tls.key" as const),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    gone: fc.nat(3),
    put: fc.constantFrom("", "\n", " ", "-", "=", "A", "\t", ":", "-----", "\u00ef\u00bb\u00bf"),
  }),
  { minLength: 1, maxLength: 2 },
);

test("whatever becomes of the files, what is rolled out is something that nginx takes", async () => {
  // The same in every run, and so are those with edits.
  const [certificate] = fixedCertificates("p256", 0);
  const whole = filesOf(certificate);
  await fc.assert(
    fc.asyncProperty(edits, async (all) => {
      const files = { ...whole };
      for (const { file, at, gone, put } of all) {
        const text = files[file];
        const index = Math.floor(at * text.length);
        files[file] = text.slice(0, index) + put + text.slice(index + gone);
      }
      if (ours(files) === undefined) expect(await nginxs(files)).toBe(undefined);
    }),
    { numRuns: 1000 },
  );
});
