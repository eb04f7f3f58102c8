// For tests: a real Keycloak as an OpenID server with dynamic client registration, from what tools/keycloak.ts has fetched. Its data are in a folder of their own.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep, systemClock } from "@keyturn/runtime";
import { freePort } from "@keyturn/runtime/testing";
import * as z from "zod";

const admin = { username: "admin", password: "keyturn-test" };

/** A running server, in a realm of its own. */
export interface KeycloakServer extends AsyncDisposable {
  readonly issuer: string;
  readonly initialAccessToken: string;
  /** The ids of the clients that were registered. */
  clients(): Promise<readonly string[]>;
  /** As an administrator would, at the server. */
  deleteClient(id: string): Promise<void>;
  /** Ends it, and starts it again on the same data. */
  restart(): Promise<void>;
}

interface Place {
  /** The distribution. */
  readonly home: string;
  readonly port: number;
  /** What it keeps. */
  readonly folder: string;
}

/** Starts the distribution in `home`. Takes half a minute and more. */
export async function startKeycloak(home: string): Promise<KeycloakServer> {
  const port = await freePort();
  const place: Place = { home, port, folder: await mkdtemp(join(tmpdir(), "keyturn-keycloak-")) };
  const url = `http://127.0.0.1:${port}`;
  const realm = `keyturn-${port}`;
  let child = await start(place);

  const asAdmin = async (method: string, path: string, body?: object): Promise<unknown> => {
    const form = new URLSearchParams({ grant_type: "password", client_id: "admin-cli", ...admin });
    const login = await fetch(`${url}/realms/master/protocol/openid-connect/token`, { method: "POST", body: form });
    const { access_token: token } = z.object({ access_token: z.string() }).parse(await login.json());
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const response = await fetch(`${url}/admin/realms${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`);
    const text = await response.text();
    return text === "" ? undefined : JSON.parse(text);
  };
  const all = async (): Promise<readonly { readonly id: string; readonly clientId: string }[]> =>
    z.array(z.object({ id: z.string(), clientId: z.string() })).parse(await asAdmin("GET", `/${realm}/clients`));

  await asAdmin("POST", "", { realm, enabled: true, sslRequired: "none" });
  const own = new Set((await all()).map(({ id }) => id));
  const registered = async (): Promise<Awaited<ReturnType<typeof all>>> => (await all()).filter(({ id }) => !own.has(id));
  const { token } = z
    .object({ token: z.string() })
    .parse(await asAdmin("POST", `/${realm}/clients-initial-access`, { count: 100, expiration: 3_600 }));
  return {
    issuer: `${url}/realms/${realm}`,
    initialAccessToken: token,
    clients: async () => (await registered()).map(({ clientId }) => clientId),
    async deleteClient(clientId) {
      const client = (await registered()).find((each) => each.clientId === clientId);
      await asAdmin("DELETE", `/${realm}/clients/${client?.id ?? ""}`);
    },
    async restart() {
      await stop(child);
      child = await start(place);
    },
    async [Symbol.asyncDispose]() {
      await stop(child);
      await rm(place.folder, { recursive: true, force: true });
    },
  };
}

async function start({ home, port, folder }: Place): Promise<ChildProcess> {
  const env = { ...process.env, KC_BOOTSTRAP_ADMIN_USERNAME: admin.username, KC_BOOTSTRAP_ADMIN_PASSWORD: admin.password };
  const listening = ["--http-enabled=true", "--hostname-strict=false", "--http-host=127.0.0.1", `--http-port=${port}`];
  const options = ["start", "--optimized", "--cache=local", `--db-url=jdbc:h2:file:${folder}/h2;NON_KEYWORDS=VALUE`, ...listening];
  const child = spawn(join(home, "bin", "kc.sh"), options, { env, stdio: "ignore", detached: true });
  const isUp = async (): Promise<boolean> => {
    const answer = await fetch(`http://127.0.0.1:${port}/realms/master/.well-known/openid-configuration`).catch(() => undefined);
    return answer?.ok === true;
  };
  // Longer than anything else takes here: Java, on a busy machine.
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(`Keycloak ended with ${child.exitCode}`);
    await sleep(systemClock, 1_000);
  }
  return child;
}

/** The script starts Java as its child, so the whole group is asked to end. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null) return;
  const ended = once(child, "exit");
  process.kill(-child.pid, "SIGTERM");
  await ended;
}
