// The generated nginx configuration in a real nginx: what clients get, on every path, for every method, while keys change.
import { networkInterfaces } from "node:os";
import { freePort } from "@keyturn/runtime/testing";
import * as fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { JWKSConfig, originPattern } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import type { IpFamily } from "../../packages/keyturn/src/controllers/jwks/flags.ts";
import { nginxPort, nginxRoot, renderNginxConfig } from "../../packages/keyturn/src/controllers/jwks/nginx.ts";
import { settingsOfJwksConfig } from "../../packages/keyturn/src/controllers/jwks/settings.ts";
import { defaultInstallation } from "../../packages/keyturn/test/jwks-world.ts";
import { type Answer, type NginxProcess, problemWithNginxConfig, startNginx } from "./nginx-process.ts";
import "../support/property-seed.ts";

const document = '{\n  "keys": []\n}\n';

/** What every answer has, whatever it is. */
const always = {
  "access-control-allow-methods": "GET, HEAD, OPTIONS",
  "access-control-allow-headers": "Content-Type, If-None-Match",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "x-xss-protection": "1; mode=block",
};

let nginx: NginxProcess;

describe("open to every origin", () => {
  beforeAll(async () => {
    nginx = await startNginx((place) => renderNginxConfig({ cacheSeconds: 3600, corsOrigins: ["*"] }, place));
  });
  afterAll(() => nginx.stop());
  beforeEach(() => nginx.publish(document));

  test.each(["/jwks.json", "/", "/.well-known/jwks.json", "/any/path?with=query"])("serves the document at %s", async (path) => {
    const answer = await nginx.fetch(path);
    expect(answer).toMatchObject({ status: 200, body: document });
    expect(answer.headers).toMatchObject({
      ...always,
      "content-type": "application/jwk-set+json",
      "cache-control": "public, max-age=3600",
      "access-control-allow-origin": "*",
    });
    expect(answer.headers["server"]).toBe("nginx");
  });

  test("HEAD has the headers of GET", async () => {
    const answer = await nginx.fetch("/jwks.json", { method: "HEAD" });
    expect(answer).toMatchObject({ status: 200, body: "", headers: { ...always, "content-length": `${document.length}` } });
  });

  test("answers a preflight", async () => {
    const answer = await nginx.fetch("/jwks.json", {
      method: "OPTIONS",
      headers: { origin: "https://app.example.com", "access-control-request-method": "GET" },
    });
    expect(answer).toMatchObject({ status: 204, body: "", headers: { ...always, "access-control-allow-origin": "*" } });
  });

  test("answers a conditional request without the document, until that changes", async () => {
    const first = await nginx.fetch("/jwks.json");
    const headers = { "if-none-match": String(first.headers["etag"]) };
    const same = await nginx.fetch("/jwks.json", { headers });
    expect(same).toMatchObject({
      status: 304,
      body: "",
      headers: { ...always, "cache-control": "public, max-age=3600", etag: first.headers["etag"] },
    });
    await nginx.publish(`${document}\n`);
    expect(await nginx.fetch("/jwks.json", { headers })).toMatchObject({ status: 200, body: `${document}\n` });
  });

  test("serves a new document from the moment it is in place, and never a mixture", async () => {
    const texts = Array.from({ length: 40 }, (_, index) => `{"keys":["${`${index}`.repeat(2000)}"]}`);
    const answers: Answer[] = [];
    const done = new AbortController();
    const reading = (async () => {
      while (!done.signal.aborted) answers.push(await nginx.fetch("/jwks.json"));
    })();
    for (const text of texts) {
      await nginx.publish(text);
      expect((await nginx.fetch("/jwks.json")).body).toBe(text);
    }
    done.abort();
    await reading;
    const published = new Set([document, ...texts]);
    expect(answers.every(({ status, body }) => status === 200 && published.has(body))).toBe(true);
  });

  test("an error is in the same form and is not kept", async () => {
    await nginx.publish(undefined);
    const answer = await nginx.fetch("/jwks.json");
    expect(answer).toMatchObject({ status: 404, body: '{"error":"404"}' });
    expect(answer.headers).toMatchObject({
      ...always,
      "content-type": "application/json",
      "cache-control": "no-store",
      "access-control-allow-origin": "*",
    });
    await nginx.publish(document);
    expect(await nginx.fetch("/jwks.json")).toMatchObject({ status: 200 });
  });

  test.each(["POST", "PUT", "DELETE", "PATCH"])("refuses %s and says what is allowed", async (method) => {
    const answer = await nginx.fetch("/jwks.json", { method });
    expect(answer).toMatchObject({ status: 405, headers: { ...always, allow: "GET, HEAD, OPTIONS", "cache-control": "no-store" } });
  });

  test("a request that is none is not kept either", async () => {
    const answer = await nginx.sendRaw("nonsense\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer.toLowerCase()).toContain("cache-control: no-store");
  });

  test("is alive without a document", async () => {
    await nginx.publish(undefined);
    expect(await nginx.fetch("/healthz")).toMatchObject({ status: 200, body: '{"status":"ok"}', headers: always });
  });

  test("without an issuer there is no discovery document", async () => {
    expect(await nginx.fetch("/.well-known/openid-configuration")).toMatchObject({ status: 404, headers: { "cache-control": "no-store" } });
  });

  test("nothing but the document can be had", async () => {
    const answer = await nginx.sendRaw("GET /..data/../../nginx.conf HTTP/1.0\r\n\r\n");
    expect(answer).not.toContain("worker_processes");
  });
});

/** An origin of the longest host that the schema takes. */
const longOrigin = `https://${"a".repeat(285)}.example`;

describe("open to some origins", () => {
  beforeAll(async () => {
    const corsOrigins = ["https://App.example.com", "https://app.example.com", "http://localhost:3000", longOrigin];
    nginx = await startNginx((place) => renderNginxConfig({ cacheSeconds: 60, corsOrigins }, place));
    await nginx.publish(document);
  });
  afterAll(() => nginx.stop());

  test.each(["https://app.example.com", "http://localhost:3000", longOrigin])("names %s back", async (origin) => {
    const { headers } = await nginx.fetch("/jwks.json", { headers: { origin } });
    expect(headers).toMatchObject({ "access-control-allow-origin": origin, vary: "Origin", "cache-control": "public, max-age=60" });
  });

  test.each(["https://evil.example.com", "https://app.example.com.evil.net", "https://appXexample.com", "null"])(
    "does not name %s",
    async (origin) => {
      const answer = await nginx.fetch("/jwks.json", { headers: { origin } });
      expect(answer.status).toBe(200);
      expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
    },
  );
});

/** The origin as people also write it. */
const respelled = (origin: string): fc.Arbitrary<string> =>
  fc.constantFrom(
    origin,
    origin.toUpperCase().replace(/^HTTPS?/, (scheme) => scheme.toLowerCase()),
  );
const origins = fc
  .array(
    fc.oneof(
      fc.stringMatching(originPattern),
      fc.nat(270).map((length) => `https://${"a".repeat(length)}.b.example:8443`),
      fc.constant("*"),
    ),
    { maxLength: 32 },
  )
  .chain((once) => fc.tuple(fc.constant(once), ...once.slice(0, 8).map(respelled)))
  .map(([once, ...again]) => [...once, ...again].filter((origin) => origin.length <= 300));
/** What of a spec reaches the configuration. */
const nginxSpec = fc.record(
  { cacheSeconds: fc.oneof(fc.constantFrom(0, 31_536_000), fc.nat(31_536_000)), corsOrigins: origins, tlsSecret: fc.constant("server") },
  { requiredKeys: [] },
);

test("nginx takes the configuration of every spec that the API server takes", async () => {
  await fc.assert(
    fc.asyncProperty(
      nginxSpec,
      fc.option(fc.constantFrom("https://issuer.example", "http://a:1/b/c~d"), { nil: undefined }),
      async (nginx, issuer) => {
        const spec = { certificateSecret: "tls", configMapName: "keys", nginxConfigMapName: "nginx", nginx, ...(issuer !== undefined && { issuer }) };
        const decoded = JWKSConfig.decode(Object.assign({ metadata: { namespace: "shop", name: "site" } }, { spec }));
        const read = decoded.ok ? settingsOfJwksConfig(decoded.object, defaultInstallation) : undefined;
        const answers = read?.ok ? read.settings.nginx?.answers : undefined;
        if (!answers) throw new Error(`the test's own spec is refused: ${JSON.stringify([decoded, read])}`);
        expect(await problemWithNginxConfig((place) => renderNginxConfig(answers, place))).toBeUndefined();
      },
    ),
    { numRuns: 60 },
  );
});

test("listens on IPv4 and IPv6 as the installation says, and serves the document over both", async () => {
  const configOf = (ipFamily: IpFamily): string => renderNginxConfig({ cacheSeconds: 60, corsOrigins: [], ipFamily });
  const listensOf = (config: string): readonly string[] => [...config.matchAll(/^ *listen (\S+);$/gm)].map(([, where = ""]) => where);
  expect(listensOf(configOf("IPv6"))).toEqual([`[::]:${nginxPort}`]);
  expect(listensOf(configOf("DualStack"))).toEqual([`${nginxPort}`, `[::]:${nginxPort}`]);
  if (!Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === "::1"))) {
    process.stderr.write("this machine has no IPv6 loopback: that nginx listens on IPv6 was checked in its configuration alone\n");
    return;
  }
  for (const [ipFamily, hosts] of [
    ["IPv6", ["::1"]],
    ["DualStack", ["127.0.0.1", "::1"]],
  ] as const) {
    const port = await freePort();
    // As in the container, but for the port, and the socket by which the test sees that nginx is ready.
    const server = await startNginx(({ listen, root }) => {
      const config = configOf(ipFamily).replaceAll(`${nginxPort};`, `${port};`);
      return config.replace("  listen ", `  listen ${listen.join()};\n  listen `).replace(`root ${nginxRoot}`, `root ${root}`);
    });
    onTestFinished(() => server.stop());
    await server.publish(document);
    for (const host of hosts) {
      const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}/.well-known/jwks.json`;
      const answer = await fetch(url);
      expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([200, "application/jwk-set+json", document]);
    }
    if (ipFamily === "IPv6") await expect(fetch(`http://127.0.0.1:${port}/jwks.json`)).rejects.toThrow("fetch failed");
  }
});

describe("open to none", () => {
  test("serves the document without the header", async () => {
    nginx = await startNginx((place) => renderNginxConfig({ cacheSeconds: 0, corsOrigins: [] }, place));
    await nginx.publish(document);
    const { headers } = await nginx.fetch("/jwks.json", { headers: { origin: "https://app.example.com" } });
    expect(headers).not.toHaveProperty("access-control-allow-origin");
    expect(headers).toMatchObject({ "cache-control": "public, max-age=0" });
    await nginx.stop();
  });
});
