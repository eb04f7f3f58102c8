// Exec plugins, as real programs.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { execLogin } from "./exec-plugin.ts";
import { patiently } from "../local-server.fixture.ts";
import type { KubeconfigCluster, KubeconfigExec } from "./kubeconfig.ts";
import type { Login } from "./credentials.ts";
import { temporaryFolder } from "../../testing/vitest/index.ts";
import { fixedText } from "./text-source.ts";

const apiVersion = "client.authentication.k8s.io/v1";

interface Plugin {
  readonly login: Login;
  readonly clock: VirtualClock;
  /** How often the plugin ran. */
  readonly runs: () => Promise<number>;
  readonly dir: string;
}

/** A shell script as plugin; it can count its runs in `$n`. */
async function plugin(script: string, exec: Partial<KubeconfigExec> = {}, cluster: KubeconfigCluster = {}): Promise<Plugin> {
  const dir = await temporaryFolder();
  const clock = new VirtualClock();
  await writeFile(join(dir, "plugin"), `#!/bin/sh\ncd "$(dirname "$0")"\necho >> runs\nn=$(wc -l < runs)\n${script}\n`, { mode: 0o755 });
  const options = { where: "test", dir, clock, env: { PATH: process.env["PATH"], INHERITED: "yes" }, cluster, ca: fixedText("CA") };
  const login = execLogin({ apiVersion, command: "./plugin", interactiveMode: "Never", ...exec }, options);
  return { login, clock, dir, runs: async () => (await readFile(join(dir, "runs"), "utf8")).length };
}

const answer = (status: string, version = apiVersion): string =>
  `echo '{"apiVersion":"${version}","kind":"ExecCredential","status":'"${status.replaceAll('"', '\\"')}"'}'`;

describe("a plugin", () => {
  it("gives a token, once for all who wait, until the server refuses it", async () => {
    const { login, runs } = await plugin(answer('{"token":"token-$n"}'));
    const logins = await Promise.all(Array.from({ length: 20 }, () => login.current()));
    expect(new Set(logins.map(({ headers }) => headers["authorization"]))).toEqual(new Set(["Bearer token-1"]));
    expect(await runs()).toBe(1);
    expect(await login.refresh()).toBe(true);
    expect((await login.current()).headers).toEqual({ authorization: "Bearer token-2" });
    expect(await runs()).toBe(2);
  });

  it("is run again shortly before its answer expires", async () => {
    const expiry = new Date(Date.UTC(2026, 0, 1, 1)).toISOString();
    const { login, clock, runs } = await plugin(answer(`{"token":"token-$n","expirationTimestamp":"${expiry}"}`));
    await login.current();
    await clock.advance(3_600_000 - 30_001);
    await login.current();
    expect(await runs()).toBe(1);
    await clock.advance(1);
    expect((await login.current()).headers).toEqual({ authorization: "Bearer token-2" });
  });

  it("can give a client certificate", async () => {
    const { login } = await plugin(answer('{"clientCertificateData":"CERT","clientKeyData":"KEY"}'));
    expect(await login.current()).toEqual({ headers: {}, tls: { cert: "CERT", key: "KEY" } });
  });

  it("gets its arguments, its environment and the cluster's data", async () => {
    const version = "client.authentication.k8s.io/v1beta1";
    const cluster = {
      server: "https://api.test",
      "tls-server-name": "name",
      "proxy-url": "http://proxy",
      extensions: [{ name: "client.authentication.k8s.io/exec", extension: { audience: "x" } }],
    };
    const exec = { apiVersion: version, args: ["a b", "c"], env: [{ name: "EXTRA", value: "more" }], provideClusterInfo: true };
    const script = `printf '%s' "$KUBERNETES_EXEC_INFO" > info\n${answer('{"token":"$1|$2|$EXTRA|$INHERITED"}', version)}`;
    const { login, dir } = await plugin(script, exec, cluster);
    expect((await login.current()).headers).toEqual({ authorization: "Bearer a b|c|more|yes" });
    expect(JSON.parse(await readFile(join(dir, "info"), "utf8"))).toEqual({
      apiVersion: version,
      kind: "ExecCredential",
      spec: {
        interactive: false,
        cluster: {
          server: "https://api.test",
          "tls-server-name": "name",
          "certificate-authority-data": Buffer.from("CA").toString("base64"),
          "proxy-url": "http://proxy",
          config: { audience: "x" },
        },
      },
    });
  });
});

describe("a plugin that fails", () => {
  const secret = "eyJhbGciOiJSUzI1NiIsImtpZCI6InNlY3JldC10b2tlbiJ9";
  const failureOf = async (script: string, exec: Partial<KubeconfigExec> = {}): Promise<string> => {
    const error = await (await plugin(script, exec)).login.current().catch((error: unknown) => error);
    expect(error).toMatchObject({ name: "CredentialError", code: "Credential" });
    expect(String(error) + String(error instanceof Error ? error.cause : "")).not.toContain(secret);
    return error instanceof Error ? error.message : "";
  };

  it("is quoted with its last words, less what may be a credential", async () => {
    expect(await failureOf(`echo first >&2; echo "cannot log in with ${secret}" >&2; exit 3`)).toBe(
      'exec plugin "./plugin" failed with exit code 3: cannot log in with [long text]',
    );
    expect(await failureOf("kill -9 $$")).toBe('exec plugin "./plugin" failed with SIGKILL');
  });

  it("is not quoted when it prints nonsense", async () => {
    expect(await failureOf(`echo '{"token":"${secret}"'`)).toBe('exec plugin "./plugin" printed something that is no ExecCredential');
    expect(await failureOf(answer("{}"))).toBe('exec plugin "./plugin" gave neither a token nor a client certificate with its key');
    expect(await failureOf(answer(`{"token":"${secret}"}`, "client.authentication.k8s.io/v1beta1"))).toMatch(
      /answered in .*v1beta1, but the kubeconfig asks for/,
    );
  });

  it("is named with its installation hint when it is not there", async () => {
    expect(await failureOf("", { command: "keyturn-no-such-plugin", installHint: "get it from example.org\n" })).toBe(
      'exec plugin "keyturn-no-such-plugin" is not installed: get it from example.org',
    );
  });

  it("is ended when it takes too long", async () => {
    const { login, clock, runs } = await plugin("exec sleep 600");
    const failure = login.current().catch(String);
    await expect.poll(runs, patiently).toBe(1);
    await clock.advance(60_000);
    expect(await failure).toBe('CredentialError: exec plugin "./plugin" did not answer within 60 s');
  });

  it("cannot ask a user where there is none", async () => {
    expect(await failureOf("", { interactiveMode: "Always" })).toMatch(/wants to ask the user, but standard input is no terminal/);
  });
});
