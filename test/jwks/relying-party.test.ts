// Relying parties that nobody here wrote, with a real nginx over TLS: kube-apiserver (go-oidc and go-jose), which finds the keys by the issuer's discovery document, and PyJWT.
import { execFileSync, spawn } from "node:child_process";
import { request } from "node:https";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { type Cluster, freePort, startCluster } from "@keyturn/runtime/testing";
import { soon } from "@keyturn/runtime/testing/vitest";
import { SignJWT } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { settingsOfJwksConfig } from "../../packages/keyturn/src/controllers/jwks/settings.ts";
import { renderNginxConfig } from "../../packages/keyturn/src/controllers/jwks/nginx.ts";
import { makeCertificate, secretData, type TestCertificate } from "../../packages/keyturn/test/certificates.ts";
import { defaultInstallation, JwksWorld } from "../../packages/keyturn/test/jwks-world.ts";
import { type NginxProcess, startNginx } from "./nginx-process.ts";
import { kidOf } from "./publishing-namespace.ts";

let cluster: Cluster;
let nginx: NginxProcess;
let issuer: string;
let authority: string;
let world: JwksWorld;

/** Publishes these certificates' keys, as the operator would, and brings them to nginx. */
async function publish(...certificates: readonly [TestCertificate, ...TestCertificate[]]): Promise<void> {
  for (const [index, { certificate, privateKey }] of certificates.entries())
    world.putSecret(index === 0 ? "tls" : `next-${index}`, secretData(certificate, privateKey));
  world.spec = { ...world.spec, certificateSecrets: certificates.slice(1).map((_, index) => `next-${index + 1}`) };
  world.run(Date.now());
  const { "jwks.json": document, ...others } = world.configMap?.data ?? {};
  await nginx.publish(document, others);
}

async function token({ privateKey, ...certificate }: TestCertificate, alg: string, subject = "ann"): Promise<string> {
  const header = { alg, kid: await kidOf({ privateKey, ...certificate }) };
  return new SignJWT({})
    .setProtectedHeader(header)
    .setIssuer(issuer)
    .setAudience("shop")
    .setSubject(subject)
    .setExpirationTime("1h")
    .sign(privateKey);
}

/** Whom the API server takes the bearer of a token for; its status code if it takes it for nobody. */
async function bearer(jwt: string): Promise<string | number> {
  const body = JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" });
  const headers = { authorization: `Bearer ${jwt}`, "content-type": "application/json" };
  return await new Promise((resolve, reject) => {
    const sent = request(`${cluster.url}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
      method: "POST",
      ca: cluster.ca,
      headers,
      agent: false,
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      const answer = text(response).then((said) =>
        response.statusCode === 201
          ? (JSON.parse(said) as { status: { userInfo: { username: string } } }).status.userInfo.username
          : (response.statusCode ?? 0),
      );
      answer.then(resolve, reject);
    });
    sent.end(body);
  });
}

interface PythonParty extends Disposable {
  /** The token's subject, or why it was refused. */
  readonly ask: (jwt: string) => Promise<{ readonly subject: string } | { readonly refused: string }>;
}

/** A process with a PyJWKClient that has looked at nothing yet. */
function startPython(interpreter: string): PythonParty {
  const words = [join(import.meta.dirname, "relying-party.py"), `${issuer}/.well-known/jwks.json`, authority, issuer, "shop"];
  // Without the environment of whoever runs the tests, which may name a proxy.
  const child = spawn(interpreter, words, { env: {}, stdio: ["pipe", "pipe", "inherit"] });
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    async ask(jwt) {
      child.stdin.write(`${jwt}\n`);
      const answer = await answers.next();
      if (answer.done) throw new Error("the relying party in Python has ended, as it said above");
      return JSON.parse(answer.value) as { subject: string } | { refused: string };
    },
    [Symbol.dispose]: () => void child.stdin.end(),
  };
}

beforeAll(async () => {
  const port = await freePort();
  issuer = `https://localhost:${port}`;
  world = new JwksWorld({ issuer, updateStrategy: "immediate", nginx: { tlsSecret: "server", cacheSeconds: 0 } });
  world.configMapIntervalMs = 0;
  const settings = settingsOfJwksConfig(world.object, defaultInstallation);
  const answers = settings.ok ? settings.settings.nginx?.answers : undefined;
  if (!answers) throw new Error("the test's own spec is refused");
  nginx = await startNginx((place) => {
    authority = join(place.certificates, "ca.crt");
    return renderNginxConfig(answers, { ...place, listenTls: [`127.0.0.1:${port}`] });
  });
  await publish(makeCertificate());
  const flags = { "issuer-url": issuer, "client-id": "shop", "ca-file": authority, "signing-algs": "RS256,PS256,ES256,ES384" };
  cluster = await startCluster({ apiServerArgs: Object.entries(flags).map(([flag, value]) => `--oidc-${flag}=${value}`) });
});

afterAll(async () => {
  await cluster.stop();
  await nginx.stop();
});

test("kube-apiserver accepts tokens of each published key, at once when it was published after the last look, and none of a key that is gone", async () => {
  const [rsa, ec, wide] = [makeCertificate({ keyType: "rsa2048" }), makeCertificate(), makeCertificate({ keyType: "p384" })];
  await publish(rsa, ec);
  const [first, second, third] = [await token(rsa, "RS256"), await token(ec, "ES256"), await token(wide, "ES384")];
  // It looks for the issuer's document once in ten seconds until it has found it.
  await soon(async () => expect(await bearer(first)).toBe(`${issuer}#ann`));
  expect(await bearer(second)).toBe(`${issuer}#ann`);
  expect(await bearer(third)).toBe(401);
  await publish(wide);
  expect(await bearer(third)).toBe(`${issuer}#ann`);
  // It remembers for ten seconds which tokens it took; these it has not seen.
  for (const late of [await token(rsa, "RS256", "bob"), await token(ec, "ES256", "bob")]) expect(await bearer(late)).toBe(401);
  expect(await bearer(await token(wide, "ES384", "bob"))).toBe(`${issuer}#bob`);
});

test("PyJWT accepts tokens of each published key, also of one that it has not seen yet, and none of a key that is gone once it has looked", async () => {
  const interpreter = execFileSync(process.execPath, [join(import.meta.dirname, "../../tools/python.ts")], { encoding: "utf8" }).trim();
  const [rsa, ec] = [makeCertificate({ keyType: "rsa2048" }), makeCertificate({ keyType: "p256" })];
  const [edwards, wide] = [makeCertificate({ keyType: "ed25519" }), makeCertificate({ keyType: "p384" })];
  const tokens = {
    rsa: await token(rsa, "RS256"),
    ec: await token(ec, "ES256"),
    edwards: await token(edwards, "EdDSA"),
    wide: await token(wide, "ES384"),
  };
  const taken = { subject: "ann" };
  const unknown = { refused: expect.stringContaining("Unable to find a signing key that matches") };
  await publish(rsa, ec);
  using party = startPython(interpreter);
  for (const known of [tokens.rsa, tokens.ec]) expect(await party.ask(known)).toEqual(taken);
  expect(await party.ask(tokens.edwards)).toEqual(unknown);

  await publish(rsa, ec, edwards);
  for (const known of [tokens.edwards, tokens.rsa, tokens.ec]) expect(await party.ask(known)).toEqual(taken);

  await publish(ec, edwards);
  using newcomer = startPython(interpreter);
  for (const known of [tokens.ec, tokens.edwards]) expect(await newcomer.ask(known)).toEqual(taken);
  expect(await newcomer.ask(tokens.rsa)).toEqual(unknown);

  // The key that it does not know makes the first one look again: what it had kept of the one that is gone goes with that.
  await publish(ec, wide);
  for (const known of [tokens.wide, tokens.ec]) expect(await party.ask(known)).toEqual(taken);
  for (const gone of [tokens.rsa, tokens.edwards]) expect(await party.ask(gone)).toEqual(unknown);
  // A good name does not help what was not signed.
  const [head, , signature] = tokens.ec.split(".");
  const [, body] = (await token(ec, "ES256", "bob")).split(".");
  const forged = [head, body, signature].join(".");
  expect(await party.ask(forged)).toEqual({ refused: expect.stringContaining("InvalidSignatureError") });
});
