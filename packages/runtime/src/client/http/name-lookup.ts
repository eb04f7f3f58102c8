// Finds the addresses of servers that belong to others. The machine's own resolver has two threads in a process: a name whose servers are silent keeps one
// for ten seconds or more, and fifty such names are all that anybody else waits for.
import { readFileSync } from "node:fs";
import { lookup as machineLookup, type LookupAddress, type LookupOptions, Resolver } from "node:dns";
import type { LookupFunction } from "node:net";

/** How names are looked up. */
interface NameLookupOptions {
  /** `address:port` of name servers. Default the machine's. */
  readonly servers?: readonly string[];
  /** The text of the file that says how short names are completed. Default the machine's. */
  readonly resolvConf?: string;
}

/** A server is asked again after so long, once. */
const answerMs = 3_000;
const tries = 2;
/** No server needs more, and each is tried in turn. */
const maxAddresses = 8;

/**
 * Looks names up with a resolver of its own, in which no name waits for another. What that does not know, the machine is asked for, one name at a time: it
 * may be in `/etc/hosts`.
 */
export function createNameLookup({ servers, resolvConf }: NameLookupOptions = {}): LookupFunction {
  let own: { readonly resolver: Resolver; readonly completion: Completion } | undefined;
  /** The last of those for whom the machine is asked. */
  let last: Promise<unknown> = Promise.resolve();
  const askMachine = (name: string): Promise<readonly LookupAddress[]> => {
    const found = last.then(() => machineAddresses(name));
    last = found.catch(() => undefined);
    return found;
  };
  const find = async (name: string): Promise<readonly LookupAddress[]> => {
    // Made when it is needed: most processes talk to nobody but their own cluster.
    own ??= openOwn(servers, resolvConf ?? machineResolvConf());
    for (const candidate of candidatesOf(name, own.completion)) {
      const found = await ask(own.resolver, candidate);
      if (found.length > 0) return found;
    }
    return askMachine(name);
  };
  return (name, options, callback) => void answer(find(name), name, { options, callback });
}

function openOwn(servers: readonly string[] | undefined, resolvConf: string): { readonly resolver: Resolver; readonly completion: Completion } {
  const resolver = new Resolver({ timeout: answerMs, tries });
  if (servers) resolver.setServers(servers);
  return { resolver, completion: readCompletion(resolvConf) };
}

/** The addresses of a whole name; none if it has none. Rejects if nobody says. */
async function ask(resolver: Resolver, name: string): Promise<readonly LookupAddress[]> {
  const families = await Promise.allSettled(
    ([4, 6] as const).map(
      (family) =>
        new Promise<readonly LookupAddress[]>((resolve, reject) => {
          const done = (error: NodeJS.ErrnoException | null, addresses: readonly string[] = []): void => {
            if (error && error.code !== "ENOTFOUND" && error.code !== "ENODATA") reject(error);
            else resolve(addresses.map((address) => ({ address, family })));
          };
          if (family === 4) resolver.resolve4(name, done);
          else resolver.resolve6(name, done);
        }),
    ),
  );
  const found = families.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
  const failed = families.find(({ status }) => status === "rejected");
  if (found.length === 0 && failed?.status === "rejected") throw failed.reason;
  return found;
}

function machineAddresses(name: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    machineLookup(name, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });
}

function fitting(found: readonly LookupAddress[], { family }: LookupOptions): readonly LookupAddress[] {
  const wanted = family === "IPv4" ? 4 : family === "IPv6" ? 6 : family;
  return wanted ? found.filter((each) => each.family === wanted) : found;
}

/** Answers as the machine's own lookup does. */
async function answer(
  finding: Promise<readonly LookupAddress[]>,
  name: string,
  { options, callback }: { readonly options: LookupOptions; readonly callback: Parameters<LookupFunction>[2] },
): Promise<void> {
  let found: readonly LookupAddress[];
  try {
    found = fitting(await finding, options).slice(0, maxAddresses);
  } catch (error) {
    return callback(error as NodeJS.ErrnoException, []);
  }
  const [first] = found;
  if (!first) callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: "ENOTFOUND" }), []);
  else if (options.all) callback(null, [...found]);
  else callback(null, first.address, first.family);
}

// How short names are completed: resolv.conf(5).

interface Completion {
  readonly domains: readonly string[];
  /** A name with so many dots is tried as it is first. */
  readonly dots: number;
}

function machineResolvConf(): string {
  try {
    return readFileSync("/etc/resolv.conf", "utf8");
  } catch {
    // Not every machine has one; names are then whole.
    return "";
  }
}

function readCompletion(text: string): Completion {
  let domains: readonly string[] = [];
  let dots = 1;
  for (const line of text.split("\n")) {
    const [word, ...rest] = line.trim().split(/\s+/);
    if (word === "search" || word === "domain") domains = rest;
    const said = word === "options" ? rest.find((option) => option.startsWith("ndots:")) : undefined;
    if (said !== undefined) dots = Number(said.slice("ndots:".length)) || 0;
  }
  return { domains, dots };
}

/** What a name may stand for, in the order in which that is tried. */
function candidatesOf(name: string, { domains, dots }: Completion): readonly string[] {
  if (name.endsWith(".")) return [name];
  const completed = domains.map((domain) => `${name}.${domain}`);
  return name.split(".").length > dots ? [name, ...completed] : [...completed, name];
}
