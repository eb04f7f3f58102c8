// A relying party that nobody here wrote: kube-apiserver, with go-oidc and go-jose. It finds the keys by the issuer's discovery document, from a real nginx over TLS.
import { request } from "node:https";
import { join } from "node:path";
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

beforeAll(async () => {
  const port = await freePort();
  issuer = `https://localhost:${port}`;
  world = new JwksWorld({ issuer, updateStrategy: "immediate", nginx: { tlsSecret: "server", cacheSeconds: 0 } });
  const settings = settingsOfJwksConfig(world.object, defaultInstallation);
  const answers = settings.ok ? settings.settings.nginx?.answers : undefined;
  if (!answers) throw new Error("the test's own spec is refused");
  let folder = "";
  nginx = await startNginx((place) => {
    folder = place.certificates;
    return renderNginxConfig(answers, { ...place, listenTls: [`127.0.0.1:${port}`] });
  });
  await publish(makeCertificate());
  const flags = { "issuer-url": issuer, "client-id": "shop", "ca-file": join(folder, "ca.crt"), "signing-algs": "RS256,PS256,ES256,ES384" };
  cluster = await startCluster({ apiServerArgs: Object.entries(flags).map(([flag, value]) => `--oidc-${flag}=${value}`) });
});

afterAll(async () => {
  await cluster.stop();
  await nginx.stop();
});

test("accepts tokens of each published key, at once when it was published after the last look, and none of a key that is gone", async () => {
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
