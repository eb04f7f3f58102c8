// Whether a server is reached through a proxy, by the environment variables that Go programs and curl obey.
import { BlockList, isIP } from "node:net";

/** The environment, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for `server` or undefined for none. Upper and lower case names count; `NO_PROXY` may list hosts, domains (with or without a
 * leading dot or `*.`), addresses, CIDR ranges, each with an optional port, or `*`. Loopback is never proxied, as in Go.
 */
export function proxyFor(server: URL, env: Environment): string | undefined {
  const name = server.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const proxy = env[name] || env[name.toLowerCase()];
  if (!proxy || bypasses(server, env["NO_PROXY"] || env["no_proxy"] || "")) return undefined;
  return proxy.includes("://") ? proxy : `http://${proxy}`;
}

function bypasses(server: URL, noProxy: string): boolean {
  const host = server.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  const port = server.port || (server.protocol === "https:" ? "443" : "80");
  if (host === "localhost" || matchesRange(host, "127.0.0.0/8") || host === "::1") return true;
  return noProxy
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== "" && matches({ host, port }, entry));
}

function matches({ host, port }: { readonly host: string; readonly port: string }, entry: string): boolean {
  if (entry === "*") return true;
  if (entry.includes("/")) return matchesRange(host, entry);
  const withPort = /^(?:\[(?<bracketed>[^\]]+)\]|(?<plain>[^:]+)):(?<port>\d+)$/.exec(entry)?.groups;
  if (withPort && withPort["port"] !== port) return false;
  const bare = (withPort?.["bracketed"] ?? withPort?.["plain"] ?? entry).replace(/^\[|\]$/g, "");
  if (isIP(bare)) return host === bare;
  // `.example.org` covers only what is below; `example.org` covers itself too.
  const suffix = bare.replace(/^\*/, "");
  return suffix.startsWith(".") ? host.endsWith(suffix) : host === suffix || host.endsWith(`.${suffix}`);
}

function matchesRange(host: string, range: string): boolean {
  const family = isIP(host);
  const [network = "", bits = ""] = range.split("/", 2);
  if (family === 0 || isIP(network) !== family || !/^\d+$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128)) return false;
  const type = family === 4 ? "ipv4" : "ipv6";
  const block = new BlockList();
  block.addSubnet(network, Number(bits), type);
  return block.check(host, type);
}
