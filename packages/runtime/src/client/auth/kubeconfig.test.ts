// From kubeconfig entries to what requests are sent with.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { createAuthority, issueCertificate } from "../../testing/x509/certificate.ts";
import type { ConnectionConfig } from "./connection-config.ts";
import { kubeconfigConnection } from "./kubeconfig.ts";
import { parseKubeconfig } from "./kubeconfig-file.ts";
import { temporaryFolder } from "./temporary-folder.fixture.ts";

const authority = createAuthority("test");
const jane = issueCertificate(authority, { usage: "client", commonName: "jane" });
const base64 = (text: string): string => Buffer.from(text).toString("base64");

function connect(user: object, cluster: object = {}, path = "/dir/config"): Promise<ConnectionConfig> {
  const config = {
    "current-context": "here",
    contexts: [{ name: "here", context: { cluster: "c", user: "u", namespace: "team" } }],
    clusters: [{ name: "c", cluster: { server: "https://api.test:6443", ...cluster } }],
    users: [{ name: "u", user }],
  };
  return kubeconfigConnection(parseKubeconfig(JSON.stringify(config), path), { clock: new VirtualClock(), env: {} });
}

const headersOf = async (user: object): Promise<unknown> => (await (await connect(user)).credentials.authorize()).headers;

describe("clusters", () => {
  it("carry over everything about the connection", async () => {
    const cluster = { "tls-server-name": "other.test", "insecure-skip-tls-verify": true, "proxy-url": "http://proxy:3128" };
    expect(await connect({}, cluster)).toMatchObject({
      server: "https://api.test:6443",
      tlsServerName: "other.test",
      insecureSkipTlsVerify: true,
      proxyUrl: "http://proxy:3128",
      namespace: "team",
      source: 'kubeconfig /dir/config, context "here"',
    });
  });
});

describe("users", () => {
  it("log in with certificates, inline or in files beside the kubeconfig that may change", async () => {
    const inline = await connect(
      { "client-certificate-data": base64(jane.certificate), "client-key-data": base64(jane.privateKey) },
      { "certificate-authority-data": base64(authority.certificate) },
    );
    const material = { ca: authority.certificate, cert: jane.certificate, key: jane.privateKey };
    expect(await inline.credentials.authorize()).toEqual({ headers: {}, tls: material });

    const dir = await temporaryFolder();
    const write = async ({ certificate, privateKey }: typeof jane): Promise<void> => {
      await writeFile(join(dir, "jane.crt"), certificate);
      await writeFile(join(dir, "jane.key"), privateKey);
    };
    await write(jane);
    await writeFile(join(dir, "ca.crt"), authority.certificate);
    const files = await connect(
      { "client-certificate": "jane.crt", "client-key": join(dir, "jane.key") },
      { "certificate-authority": "ca.crt" },
      join(dir, "config"),
    );
    expect((await files.credentials.authorize()).tls).toEqual(material);
    const renewed = issueCertificate(authority, { usage: "client", commonName: "jane" });
    await write(renewed);
    expect(await files.credentials.refresh()).toBe(true);
    expect((await files.credentials.authorize()).tls).toEqual({ ca: authority.certificate, cert: renewed.certificate, key: renewed.privateKey });
  });

  it("log in with a token, a token file, or a password", async () => {
    expect(await headersOf({ token: "abc" })).toEqual({ authorization: "Bearer abc" });
    expect(await headersOf({ username: "jane", password: "pw" })).toEqual({ authorization: `Basic ${base64("jane:pw")}` });
    const file = join(await temporaryFolder(), "token");
    await writeFile(file, "from-file\n");
    const { credentials } = await connect({ token: "abc", tokenFile: file });
    expect((await credentials.authorize()).headers).toEqual({ authorization: "Bearer from-file" });
    await writeFile(file, "newer\n");
    expect(await credentials.refresh()).toBe(true);
    expect((await credentials.authorize()).headers).toEqual({ authorization: "Bearer newer" });
    expect(await headersOf({})).toEqual({});
    await expect(headersOf({ token: "s3cr3t\nother: header" })).rejects.toThrow(/^the token is empty or holds characters that no token has$/);
  });

  it("can act as others", async () => {
    const user = { token: "abc", as: "joe", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": { "example.org/Team": ["x", "y"] } };
    expect(await headersOf(user)).toEqual({
      authorization: "Bearer abc",
      "impersonate-user": "joe",
      "impersonate-uid": "7",
      "impersonate-group": ["a", "b"],
      "impersonate-extra-example.org%2Fteam": ["x", "y"],
    });
  });
});

describe("errors", () => {
  const source = `
current-context: gone
contexts:
- { name: a, context: { cluster: c, user: nobody } }
- { name: b, context: { cluster: nothing } }
- { name: d, context: { cluster: empty } }
clusters:
- { name: c, cluster: { server: "https://x" } }
- { name: empty, cluster: {} }
`;
  const choose = (context?: string): Promise<ConnectionConfig> =>
    kubeconfigConnection(parseKubeconfig(source, "/k"), { clock: new VirtualClock(), env: {}, ...(context && { context }) });

  it.each([
    [undefined, "ContextNotFound", 'kubeconfig /k has no context "gone": it has "a", "b", "d"'],
    ["x", "ContextNotFound", 'kubeconfig /k has no context "x": it has "a", "b", "d"'],
    ["a", "UserNotFound", 'kubeconfig /k: context "a" names the user "nobody", which is not there'],
    ["b", "ClusterNotFound", 'kubeconfig /k: context "b" names the cluster "nothing", which is not there'],
    ["d", "Malformed", 'kubeconfig /k: cluster "empty" has no server'],
  ])("for context %s: %s", async (context, code, message) => {
    await expect(choose(context)).rejects.toMatchObject({ name: "ConfigError", code, message });
  });

  it("says that no context is chosen", async () => {
    const config = parseKubeconfig("contexts: [{ name: a }]", "/k");
    await expect(kubeconfigConnection(config, { clock: new VirtualClock(), env: {} })).rejects.toThrow(
      'kubeconfig /k has no current-context: choose one of "a"',
    );
  });

  it.each([
    [{ "client-certificate-data": base64(jane.certificate) }, "Malformed", /a client-certificate without a client-key$/],
    [
      { "client-certificate-data": "!!", "client-key-data": base64(jane.privateKey) },
      "Unusable",
      /client-certificate-data is no base64 of a PEM file$/,
    ],
    [
      { "client-certificate": "/none", "client-key": "/none" },
      "FileUnreadable",
      /cannot read client-certificate from \/none: there is no such file$/,
    ],
    [
      {
        "client-certificate-data": base64(jane.certificate),
        "client-key-data": base64(issueCertificate(authority, { usage: "client", commonName: "joe" }).privateKey),
      },
      "Unusable",
      /the certificates cannot be used: /,
    ],
    [{ "auth-provider": { name: "gcp" } }, "Unsupported", /auth-provider "gcp" is not supported/],
    [{ exec: { apiVersion: "client.authentication.k8s.io/v1alpha1", command: "x" } }, "Unsupported", /v1alpha1" is not supported/],
    [{ "auth-provider": { name: "oidc", config: {} } }, "Malformed", /auth-provider oidc needs idp-issuer-url and client-id$/],
  ])("for a user that cannot log in: case %#", async (user, code, message) => {
    await expect(connect(user)).rejects.toMatchObject({ name: "ConfigError", code, message: expect.stringMatching(message) });
  });
});
