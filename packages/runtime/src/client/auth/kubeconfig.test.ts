// From kubeconfig entries to what requests are sent with.
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { stringify } from "yaml";
import { systemClock } from "../../clock.ts";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { createAuthority, integer, issueCertificate, sequence } from "../../x509.ts";
import type { ConnectionConfig } from "./connection-config.ts";
import { embeddedKubeconfig, kubeconfigConnection, mergeKubeconfigs, parseKubeconfig, readKubeconfig } from "./kubeconfig.ts";
import { temporaryFolder } from "../../testing/vitest/index.ts";

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

it.each(["clusters: *nope", "[".repeat(30_000), `a: &a [x]\nb: [${"*a,".repeat(200)}*a]`])(
  "YAML that cannot be read (%#) is a ConfigError that quotes nothing",
  (text) => {
    expect(() => parseKubeconfig(text, "in Secret a/b")).toThrow(expect.objectContaining({ name: "ConfigError", code: "YamlBroken" }));
  },
);

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

// Reading and merging kubeconfigs.

describe("parseKubeconfig", () => {
  it("takes the empty values that kubectl writes", () => {
    const config = parseKubeconfig(
      "apiVersion: v1\nkind: Config\nclusters: null\ncontexts: []\ncurrent-context: ''\nusers:\n- name: a\n  user: null\n",
      "/k",
    );
    expect(config).toMatchObject({ currentContext: undefined, files: ["/k"] });
    expect(config.users.get("a")).toEqual({ value: {}, dir: "/" });
    expect(parseKubeconfig("", "/k").contexts.size).toBe(0);
  });

  it("takes JSON, which is YAML", () => {
    expect(parseKubeconfig('{"current-context": "here"}', "/k").currentContext).toBe("here");
  });

  it("says where the YAML is broken, without quoting it", () => {
    const source = "users:\n- name: a\n  user:\n    token: s3cr3t\n   bad: s3cr3t: s3cr3t\n";
    expect(() => parseKubeconfig(source, "/k")).toThrow(
      expect.objectContaining({
        code: "YamlBroken",
        message: expect.stringMatching(/^kubeconfig \/k is no valid YAML: [A-Z_]+ at line \d+, column \d+$/),
      }),
    );
  });

  it("says which field has the wrong shape, without its value", () => {
    const source = "users:\n- name: a\n  user:\n    token: [s3cr3t]\n";
    expect(() => parseKubeconfig(source, "/k")).toThrow(
      "kubeconfig /k is malformed: users.0.user.token: Invalid input: expected string, received array",
    );
    expect(() => parseKubeconfig("s3cr3t", "/k")).toThrow(/^kubeconfig \/k is malformed: the file: (?!.*s3cr3t)/);
  });
});

describe("mergeKubeconfigs", () => {
  it("takes each entry whole from the first file that has it, and paths from that file's folder", () => {
    const first = parseKubeconfig(
      "clusters:\n- name: c\n  cluster: { server: https://first }\nusers:\n- name: u\n  user: { token: a }\n",
      "/one/config",
    );
    const second = parseKubeconfig(
      "current-context: x\nclusters:\n- name: c\n  cluster: { server: https://second, certificate-authority: ca.crt }\n- name: d\n  cluster: { certificate-authority: ca.crt }\n",
      "/two/config",
    );
    const third = parseKubeconfig("current-context: y", "/three/config");
    const merged = mergeKubeconfigs([first, second, third]);
    expect(merged.currentContext).toBe("x");
    expect(merged.clusters.get("c")).toEqual({ value: { server: "https://first" }, dir: "/one" });
    expect(merged.clusters.get("d")).toEqual({ value: { "certificate-authority": "ca.crt" }, dir: "/two" });
    expect(merged.files).toEqual(["/one/config", "/two/config", "/three/config"]);
  });
});

describe("readKubeconfig", () => {
  it("distinguishes a file that is not there from one that cannot be read", async () => {
    const dir = await temporaryFolder();
    expect(await readKubeconfig(join(dir, "none"))).toBeUndefined();
    await expect(readKubeconfig(dir)).rejects.toMatchObject({ code: "FileUnreadable", message: `kubeconfig ${dir} cannot be read: EISDIR` });
  });
});

// What a kubeconfig from somebody else may say, and what it may not.

const authorityEmbeddedKubeconfig = Buffer.from(createAuthority("embedded").certificate).toString("base64");

function kubeconfig(cluster: object, user: object): string {
  return stringify({
    "current-context": "here",
    contexts: [{ name: "here", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: "https://target.example", "certificate-authority-data": authorityEmbeddedKubeconfig, ...cluster } }],
    users: [{ name: "u", user }],
  });
}

const read = (text: string, allowInsecure = false) => embeddedKubeconfig(text, { name: "kubeconfig-a", clock: systemClock, allowInsecure });

test("a token and a certificate authority in the text are all that is needed", async () => {
  const connection = await read(kubeconfig({}, { token: "t0ken" }));
  expect(connection.server).toBe("https://target.example");
  expect(await connection.credentials.authorize()).toMatchObject({ headers: { authorization: "Bearer t0ken" } });
});

/** A PKCS#1 key of made-up numbers: making a real one of this length takes minutes. */
function rsaKeyOf(bits: number): string {
  const odd = (length: number): Buffer => integer(Buffer.from([0xc0, ...randomBytes(length / 8 - 2), 1]));
  const half = Array.from({ length: 5 }, () => odd(bits / 2));
  const key = sequence(integer(Buffer.from([0])), odd(bits), integer(Buffer.from([1, 0, 1])), odd(bits), ...half);
  return `-----BEGIN RSA PRIVATE KEY-----\n${key.toString("base64").replaceAll(/.{1,64}/g, "$&\n")}-----END RSA PRIVATE KEY-----\n`;
}

test("a client key that would take everybody's time is refused", async () => {
  const user = (bits: number): object => ({ "client-certificate-data": base64(jane.certificate), "client-key-data": base64(rsaKeyOf(bits)) });
  await read(kubeconfig({}, user(8192)));
  await expect(read(kubeconfig({}, user(8256)))).rejects.toThrow("client-key-data is a key of more than 8192 bits");
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
