// A real nginx that serves TLS from an agent's folder, and a client that does handshakes all the time and remembers what it saw.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { connect } from "node:tls";
import { onTestFinished } from "vitest";
import { authority } from "./agent-namespace.ts";
import { nginxCommand, socketIn, tlsConfiguration } from "./tls-configuration.ts";

/** Which host is served from which Secret. */
type Hosts = Readonly<Record<string, string>>;

/** One handshake, and what nginx said in it. */
interface Handshake {
  readonly host: string;
  /** The certificate's common name: host and version. */
  readonly certificate: string;
  /** The worker that answered. A worker has read its certificates once and keeps them. */
  readonly worker: string;
}

/** A running nginx with its client. */
interface TlsGateway {
  readonly handshakes: readonly Handshake[];
  /** Handshakes that failed, with the reason. */
  readonly failures: readonly string[];
  /** Resolves when the client has seen these certificates, by host. */
  seen(certificates: Readonly<Record<string, string>>): Promise<void>;
  /** Workers that have served certificates of more than one version of the set, with all that they served. */
  mixtures(): readonly (readonly string[])[];
}

/** A folder for a gateway. */
export async function gatewayFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "keyturn-gateway-"));
  // The workers run as another user when the test runs as root.
  await chmod(folder, 0o755);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts nginx and the client on what is in `agentFolder/current`; both end with the test. */
export async function startTlsGateway(folder: string, agentFolder: string, hosts: Hosts): Promise<TlsGateway> {
  const socketPath = socketIn(folder);
  await writeFile(join(folder, "nginx.conf"), tlsConfiguration({ folder, agentFolder, hosts }));
  const log = join(folder, "error.log");
  const [program, ...args] = nginxCommand(folder, "-g", "daemon off;");
  const child = spawn(program, args, { stdio: "ignore" });
  const ended = once(child, "exit");
  await once(child, "spawn");
  while (!(await isThere(join(folder, "nginx.pid"))) || !(await isThere(socketPath))) {
    if (child.exitCode !== null) throw new Error(`nginx refused its configuration: ${await readFile(log, "utf8")}`);
    await pause(20);
  }

  const handshakes: Handshake[] = [];
  const failures: string[] = [];
  const stop = new AbortController();
  const client = (async () => {
    while (!stop.signal.aborted) {
      for (const host of Object.keys(hosts)) {
        const outcome = await shakeHands(socketPath, host).catch((error: unknown) => `${host}: ${String(error)}`);
        if (typeof outcome === "string") failures.push(outcome);
        else handshakes.push(outcome);
      }
      await pause(2);
    }
  })();
  onTestFinished(async () => {
    stop.abort();
    await client;
    child.kill("SIGQUIT");
    await ended;
  });

  return {
    handshakes,
    failures,
    async seen(certificates) {
      const from = handshakes.length;
      const limit = AbortSignal.timeout(300_000);
      const isSeen = ([host, certificate]: [string, string]): boolean =>
        handshakes.slice(from).some((each) => each.host === host && each.certificate === certificate);
      while (!Object.entries(certificates).every(isSeen)) {
        if (limit.aborted)
          throw new Error(
            `${JSON.stringify(certificates)} was not served; last: ${JSON.stringify(handshakes.slice(-2))}; nginx: ${await readFile(log, "utf8")}`,
          );
        await pause(20);
      }
    },
    mixtures() {
      const workers = Map.groupBy(handshakes, ({ worker }) => worker).values();
      const served = Array.from(workers, (all) => Array.from(new Set(all.map(({ certificate }) => certificate))));
      return served.filter((certificates) => new Set(certificates.map((name) => name.split(" ")[1])).size > 1);
    },
  };
}

async function shakeHands(path: string, host: string): Promise<Handshake> {
  const socket = connect({ path, servername: host, ca: authority.certificate });
  await once(socket, "secureConnect");
  const certificate = String(socket.getPeerCertificate().subject.CN);
  socket.end(`GET / HTTP/1.0\r\nHost: ${host}\r\n\r\n`);
  const answer = await text(socket);
  const [, worker] = /worker=(\d+)/.exec(answer) ?? [];
  if (worker === undefined) throw new Error(`nginx answered ${JSON.stringify(answer)}`);
  return { host, certificate, worker };
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
