// What a kubeconfig from somebody else may say, and what it may not.
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { systemClock } from "../../clock.ts";
import { createAuthority } from "../../testing/x509/certificate.ts";
import { embeddedKubeconfig } from "./embedded-kubeconfig.ts";

const authority = Buffer.from(createAuthority("embedded").certificate).toString("base64");

function kubeconfig(cluster: object, user: object): string {
  return stringify({
    "current-context": "here",
    contexts: [{ name: "here", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: "https://target.example", "certificate-authority-data": authority, ...cluster } }],
    users: [{ name: "u", user }],
  });
}

const read = (text: string, allowInsecure = false) => embeddedKubeconfig(text, { name: "kubeconfig-a", clock: systemClock, allowInsecure });

test("a token and a certificate authority in the text are all that is needed", async () => {
  const connection = await read(kubeconfig({}, { token: "t0ken" }));
  expect(connection.server).toBe("https://target.example");
  expect(await connection.credentials.authorize()).toMatchObject({ headers: { authorization: "Bearer t0ken" } });
});

describe("is refused, without a word of its content", () => {
  test.each([
    ["exec", {}, { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "/bin/sh", args: ["-c", "s3cret"] } }],
    ["auth-provider", {}, { "auth-provider": { name: "oidc", config: { "idp-issuer-url": "https://s3cret" } } }],
    ["tokenFile", {}, { tokenFile: "/var/run/secrets/s3cret" }],
    ["client-certificate", {}, { "client-certificate": "/s3cret", "client-key": "/s3cret" }],
    ["client-key", {}, { "client-key": "s3cret" }],
    ["certificate-authority", { "certificate-authority": "/s3cret", "certificate-authority-data": null }, { token: "t" }],
    ["proxy-url", { "proxy-url": "http://s3cret:8080" }, { token: "t" }],
    ["insecure-skip-tls-verify", { "insecure-skip-tls-verify": true, "certificate-authority-data": null }, { token: "s3cret" }],
    ["http://", { server: "http://s3cret.example" }, { token: "s3cret" }],
    ["http://", { server: " http://s3cret.example" }, { token: "s3cret" }],
    ["http://", { server: "\u0000\u001fHTTP://s3cret.example" }, { token: "s3cret" }],
    ["http://", { server: "ht\ttp://s3cret.example" }, { token: "s3cret" }],
    ["http://", { server: "http\n://s3cret.example" }, { token: "s3cret" }],
  ])("%s", async (what, cluster, user) => {
    const refusal = await read(kubeconfig(cluster, user)).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "Unsupported", message: expect.stringContaining(what) as string });
    expect(String(refusal)).not.toContain("s3cret");
  });

  test("even where TLS may be insecure, programs and files may not", async () => {
    await expect(read(kubeconfig({ "insecure-skip-tls-verify": true }, { tokenFile: "/etc/passwd" }), true)).rejects.toThrow("tokenFile");
  });
});

test("insecure TLS and http:// are accepted where that is allowed", async () => {
  expect(await read(kubeconfig({ "insecure-skip-tls-verify": true, "certificate-authority-data": null }, {}), true)).toMatchObject({
    insecureSkipTlsVerify: true,
  });
  expect((await read(kubeconfig({ server: "http://127.0.0.1:1" }, {}), true)).server).toBe("http://127.0.0.1:1");
});

test("what other contexts say does not matter: they are never used", async () => {
  const text = kubeconfig({}, { token: "t" }).replace("users:\n", "users:\n  - name: other\n    user:\n      tokenFile: /x\n");
  expect((await read(text)).server).toBe("https://target.example");
});
