// A real nginx for tests: the generated configuration, a folder laid out as kubelet lays out a ConfigMap volume, and a socket instead of a port.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";

import { createAuthority, issueCertificate } from "@keyturn/runtime/testing";

/** An answer of nginx. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** A running nginx. */
export interface NginxProcess {
  fetch(path: string, options?: { readonly method?: string; readonly headers?: Record<string, string> }): Promise<Answer>;
  /** Sends bytes as they are and returns all that comes back. */
  sendRaw(bytes: string): Promise<string>;
  /** Puts the document in place as kubelet does, and other files with it: a new folder, and one symbolic link moved over. Undefined removes it. */
  publish(document: string | undefined, others?: Readonly<Record<string, string>>): Promise<void>;
  stop(): Promise<void>;
}

/** Makes the configuration for a place to listen on and a folder to serve. */
type RenderConfig = (place: {
  readonly listen: readonly string[];
  readonly listenTls: readonly string[];
  readonly root: string;
  readonly certificates: string;
}) => string;

/** What `nginx -t` has against a configuration, and the server's certificate if it is not the usual one; undefined if nothing. */
export async function problemWithNginxConfig(render: RenderConfig, server?: Readonly<Record<string, string>>): Promise<string | undefined> {
  const { folder } = await nginxFolder(render);
  for (const file of server ? ["tls.crt", "tls.key"] : []) {
    const content = server?.[file];
    if (content === undefined) await rm(join(folder, file));
    else await writeFile(join(folder, file), content, "latin1");
  }
  const child = spawn("nginx", ["-e", "stderr", "-t", "-q", "-c", join(folder, "nginx.conf")], { stdio: ["ignore", "ignore", "pipe"] });
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
  await rm(folder, { recursive: true, force: true });
  return code === 0 ? undefined : said;
}

/** Starts nginx with the configuration that `render` makes. */
export async function startNginx(render: RenderConfig): Promise<NginxProcess> {
  const { folder, socketPath, root } = await nginxFolder(render);
  const log = join(folder, "error.log");
  const child = spawn("nginx", ["-e", log, "-c", join(folder, "nginx.conf"), "-g", "daemon off;"], { stdio: "ignore" });
  const ended = once(child, "exit");
  ended.catch(() => undefined);
  await once(child, "spawn").catch((error: unknown) => {
    throw new Error("nginx could not be started; install it with the system's package manager (apt-get install nginx)", { cause: error });
  });

  let generation = 0;
  const nginx: NginxProcess = {
    fetch(path, { method = "GET", headers = {} } = {}) {
      return new Promise((resolve, reject) => {
        const sent = request({ socketPath, path, method, headers, agent: false }, (response) => {
          const chunks: Uint8Array[] = [];
          response.on("data", (chunk: Uint8Array) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString() }));
        });
        sent.on("error", reject);
        sent.end();
      });
    },
    async sendRaw(bytes) {
      const socket = connect(socketPath);
      socket.end(bytes);
      return (await socket.setEncoding("latin1").toArray()).join("");
    },
    async publish(document, others = {}) {
      const previous = `..${generation}`;
      generation += 1;
      const next = `..${generation}`;
      await mkdir(join(root, next));
      if (document !== undefined) await writeFile(join(root, next, "jwks.json"), document);
      for (const [file, content] of Object.entries(others)) await writeFile(join(root, next, file), content);
      await symlink(next, join(root, "..data_tmp"));
      await rename(join(root, "..data_tmp"), join(root, "..data"));
      for (const file of generation === 1 ? ["jwks.json", ...Object.keys(others)] : []) await symlink(join("..data", file), join(root, file));
      await rm(join(root, previous), { recursive: true, force: true });
    },
    async stop() {
      child.kill("SIGQUIT");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };

  for (;;) {
    if (child.exitCode !== null) throw new Error(`nginx refused its configuration: ${await readFile(log, "utf8")}`);
    const answer = await nginx.fetch("/healthz").catch(() => undefined);
    if (answer) return nginx;
    await pause(10);
  }
}

/** A folder with everything that nginx needs. */
async function nginxFolder(render: RenderConfig): Promise<{ readonly folder: string; readonly socketPath: string; readonly root: string }> {
  const folder = await mkdtemp(join(tmpdir(), "keyturn-nginx-"));
  // The workers run as another user when the test runs as root.
  await chmod(folder, 0o755);
  const socketPath = join(folder, "nginx.sock");
  const root = join(folder, "html");
  await mkdir(root);
  const authority = createAuthority("nginx");
  const server = issueCertificate(authority, { usage: "server", commonName: "localhost", hosts: ["localhost", "127.0.0.1"] });
  await writeFile(join(folder, "ca.crt"), authority.certificate);
  await writeFile(join(folder, "tls.crt"), server.certificate);
  await writeFile(join(folder, "tls.key"), server.privateKey);
  const listening = { listen: [`unix:${socketPath}`], listenTls: [`unix:${socketPath}.tls`] };
  await writeFile(join(folder, "default.conf"), render({ ...listening, root, certificates: folder }));
  await writeFile(join(folder, "nginx.conf"), mainConfig(folder));
  return { folder, socketPath, root };
}

/** What the image's own nginx.conf does, with everything writable in the test's folder. */
function mainConfig(folder: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((kind) => `  ${kind}_temp_path ${folder}/${kind};\n`);
  return `worker_processes 1;
pid ${folder}/nginx.pid;
events { worker_connections 64; }
http {
${temporary.join("")}  access_log off;
  sendfile on;
  include ${folder}/default.conf;
}
`;
}
