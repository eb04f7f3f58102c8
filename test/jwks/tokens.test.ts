// Tokens, verified without pause by a remote JWKS client against a real nginx, all through rotations, an overlap, a removal and a revocation.
import type { ConfigMap as ConfigMapObject } from "@keyturn/runtime";
import { ConfigMap } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { createRemoteJWKSet, customFetch, errors, jwtVerify, SignJWT } from "jose";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { revokeAnnotation } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { nginxPort, nginxRoot } from "../../packages/keyturn/src/controllers/jwks/nginx.ts";
import { makeCertificate, type TestCertificate, type TestKeyType } from "../../packages/keyturn/test/certificates.ts";
import { type NginxProcess, startNginx } from "./nginx-process.ts";
import { kidOf, type PublishingNamespace, publishingNamespace } from "./publishing-namespace.ts";

const cluster = useSharedCluster();
const cacheSeconds = 1;

/** nginx with the configuration that the operator wrote, but for where it listens and what it serves. */
async function nginxFrom(place: PublishingNamespace): Promise<NginxProcess> {
  const config = await soon(async () => (await place.get(ConfigMap, "site-nginx"))?.data?.["default.conf"] ?? expect.fail("no configuration yet"));
  return startNginx(({ listen, root }) =>
    config.replace(`listen ${nginxPort}`, `listen ${listen.join()}`).replace(`root ${nginxRoot}`, `root ${root}`),
  );
}

/** A document that came into nginx's folder between two moments. */
interface Served {
  readonly kids: readonly string[];
  readonly notBeforeMs: number;
  readonly sinceMs: number;
}

/** Brings each new version of the ConfigMap to nginx's folder, as kubelet would. */
async function actAsKubelet(place: PublishingNamespace, nginx: NginxProcess, options: { served: Served[]; signal: AbortSignal }): Promise<void> {
  let current: string | undefined;
  while (!options.signal.aborted) {
    const configMap: ConfigMapObject | undefined = await place.get(ConfigMap, "site-jwks");
    const text = configMap?.data?.["jwks.json"];
    if (text !== undefined && text !== current) {
      const notBeforeMs = performance.now();
      await nginx.publish(text);
      current = text;
      const { keys } = JSON.parse(text) as { readonly keys: readonly { readonly kid: string }[] };
      options.served.push({ kids: keys.map(({ kid }) => kid), notBeforeMs, sinceMs: performance.now() });
    }
    await pause(20);
  }
}

interface Verification {
  readonly kid: string;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly accepted: boolean;
}

test("not one good token is refused, and none is accepted once its key is gone and caches may no longer hold it", async () => {
  await using place = await publishingNamespace(cluster(), "tokens");
  await place.startOperator();
  const [rsa, ec, edwards] = [makeCertificate({ keyType: "rsa2048" }), makeCertificate({ keyType: "p256" }), makeCertificate({ keyType: "ed25519" })];
  const spec = { certificateSecrets: ["next"], nginxConfigMapName: "site-nginx", oldKeysTTL: "4s", nginx: { cacheSeconds } };
  await place.putSecret("signer", rsa);
  await place.putSecret("next", ec);
  await place.putConfig("site", spec);
  const nginx = await nginxFrom(place);
  const end = new AbortController();
  try {
    const served: Served[] = [];
    /** The document that took a key away. */
    const removalOf = (kid: string): Served | undefined => {
      const last = served.findLastIndex(({ kids }) => kids.includes(kid));
      return last < 0 ? undefined : served[last + 1];
    };
    const kubelet = actAsKubelet(place, nginx, { served, signal: end.signal });

    // A client that does what the headers say.
    const jwks = createRemoteJWKSet(new URL("http://site.example/jwks.json"), {
      cacheMaxAge: cacheSeconds * 1000,
      cooldownDuration: 0,
      [customFetch]: async (url) => {
        const { status, body, headers } = await nginx.fetch(new URL(url).pathname);
        expect(headers["cache-control"]).toBe(status === 200 ? `public, max-age=${cacheSeconds}` : "no-store");
        return new Response(body, { status });
      },
    });

    const tokens = new Map<string, string>();
    const issue = async (certificate: TestCertificate, alg: string): Promise<void> => {
      const kid = await kidOf(certificate);
      await soon(() => expect(served.at(-1)?.kids).toContain(kid));
      tokens.set(kid, await new SignJWT({}).setProtectedHeader({ alg, kid }).setIssuer("shop").setExpirationTime("1h").sign(certificate.privateKey));
    };
    const verifications: Verification[] = [];
    const stream = (async () => {
      while (!end.signal.aborted) {
        for (const [kid, token] of tokens) {
          const startedMs = performance.now();
          const accepted = await jwtVerify(token, jwks, { issuer: "shop" }).then(
            () => true,
            (error: unknown) => (error instanceof errors.JWKSNoMatchingKey ? false : Promise.reject(error)),
          );
          verifications.push({ kid, startedMs, endedMs: performance.now(), accepted });
        }
        await pause(2);
      }
    })();
    const refused = async (certificate: TestCertificate): Promise<void> => {
      const kid = await kidOf(certificate);
      await soon(() => expect(verifications.findLast((each) => each.kid === kid)?.accepted).toBe(false));
    };

    /** As many as say something, however slow the machine is. */
    const enough = 50;
    const accepted = (kid: string): number => verifications.filter((each) => each.kid === kid && each.accepted).length;
    const isAcceptedOften = async (certificate: TestCertificate): Promise<void> => {
      const kid = await kidOf(certificate);
      await soon(() => expect(accepted(kid)).toBeGreaterThan(enough));
    };

    // The next key is known before it signs.
    await issue(rsa, "RS256");
    await issue(ec, "ES256");
    for (const each of [rsa, ec]) await isAcceptedOften(each);
    // Rotation: the next one signs, the one before retires, one more is announced.
    await place.putSecret("signer", ec);
    await place.putSecret("next", edwards);
    await issue(edwards, "EdDSA");
    // Removal, when its time is over.
    await refused(rsa);
    // Revocation of a key that is in use.
    await place.putSecret("signer", edwards);
    await place.putConfig("site", spec, { [revokeAnnotation]: await kidOf(ec) });
    await refused(ec);
    // Renewal with the same key.
    const last = verifications.length;
    await place.putSecret("signer", makeCertificate({ privateKey: edwards.privateKey }));
    await soon(() => expect(verifications.length).toBeGreaterThan(last + enough));
    await isAcceptedOften(edwards);
    end.abort();
    await Promise.all([kubelet, stream]);

    const wronglyRefused = verifications.filter(({ kid, endedMs, accepted }) => !accepted && endedMs < (removalOf(kid)?.notBeforeMs ?? Infinity));
    // The last look at the old document is one that was under way when it was replaced; from its end on it may be kept, counted in whole milliseconds.
    const keptUntilMs = new Map(
      Array.from(tokens.keys(), (kid) => {
        const removedMs = removalOf(kid)?.sinceMs ?? Infinity;
        const before = verifications.filter(({ startedMs }) => startedMs <= removedMs);
        return [kid, (before.at(-1)?.endedMs ?? Infinity) + cacheSeconds * 1000 + 1];
      }),
    );
    const wronglyAccepted = verifications.filter(({ kid, startedMs, accepted }) => accepted && startedMs > (keptUntilMs.get(kid) ?? 0));
    expect(wronglyRefused).toEqual([]);
    expect(wronglyAccepted).toEqual([]);
    expect(served.at(-1)?.kids).toEqual([await kidOf(edwards)]);
  } finally {
    end.abort();
    await nginx.stop();
  }
});

describe("a token of every algorithm verifies against the published document", { concurrent: true }, () => {
  const pairs: readonly (readonly [TestKeyType, string])[] = [
    ["rsa2048", "RS256"],
    ["rsa2048", "RS384"],
    ["rsa2048", "RS512"],
    ["rsa3072", "PS256"],
    ["rsa2048", "PS384"],
    ["rsa2048", "PS512"],
    ["p256", "ES256"],
    ["p384", "ES384"],
    ["p521", "ES512"],
    ["ed25519", "EdDSA"],
  ];

  test.each(pairs)("%s with %s", async (keyType, algorithm) => {
    await using place = await publishingNamespace(cluster(), "algorithms");
    await place.startOperator();
    const certificate = makeCertificate({ keyType });
    await place.putSecret("signer", certificate);
    await place.putConfig("site", { algorithm });
    await place.published("site-jwks", [certificate]);
    const text = (await place.get(ConfigMap, "site-jwks"))?.data?.["jwks.json"] ?? "";
    const jwks = createRemoteJWKSet(new URL("http://site.example/"), { [customFetch]: async () => new Response(text) });
    const token = await new SignJWT({}).setProtectedHeader({ alg: algorithm, kid: await kidOf(certificate) }).sign(certificate.privateKey);
    await expect(jwtVerify(token, jwks, { algorithms: [algorithm] })).resolves.toBeDefined();
  });
});
