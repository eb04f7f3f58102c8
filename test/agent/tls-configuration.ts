// The configuration of an nginx that serves TLS from an agent's folder.
import { join } from "node:path";

/** Where it lives and what it serves. */
interface TlsConfiguration {
  /** For its own files; its socket, log and process id are there. */
  readonly folder: string;
  /** The agent's. */
  readonly agentFolder: string;
  /** The Secret of each host. */
  readonly hosts: Readonly<Record<string, string>>;
}

/** Where such an nginx listens. */
export const socketIn = (folder: string): string => join(folder, "nginx.sock");

/** The command that does something with the nginx in a folder, such as `-s reload`. Known before it runs, since agents are started first. */
export function nginxCommand(folder: string, ...args: readonly string[]): readonly [string, ...string[]] {
  return ["nginx", "-e", join(folder, "error.log"), "-c", join(folder, "nginx.conf"), ...args];
}

/** The text of nginx.conf. Every answer names the worker that gave it: a worker has read its certificates once and keeps them. */
export function tlsConfiguration({ folder, agentFolder, hosts }: TlsConfiguration): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((kind) => `  ${kind}_temp_path ${folder}/${kind};\n`);
  const servers = Object.entries(hosts).map(
    ([host, secret]) => `  server {
    listen unix:${socketIn(folder)} ssl;
    server_name ${host};
    ssl_certificate ${agentFolder}/current/${secret}/tls.crt;
    ssl_certificate_key ${agentFolder}/current/${secret}/tls.key;
    location / { return 200 "worker=$pid"; }
  }
`,
  );
  return `worker_processes 1;
pid ${folder}/nginx.pid;
events { worker_connections 64; }
http {
${temporary.join("")}  access_log off;
  ssl_session_cache off;
  ssl_session_tickets off;
  server_names_hash_max_size 65536;
  server_names_hash_bucket_size 128;
${servers.join("")}}
`;
}
