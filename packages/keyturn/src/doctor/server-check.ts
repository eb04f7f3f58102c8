// Is the API server there, of a version that was tested, quick enough, and does its clock agree with ours?
import { type Client, isApiError, maxSkewMs, readText } from "@keyturn/runtime";
import * as z from "zod";
import type { CheckContext } from "./doctor.ts";
import { fail, type Finding, ok, warn } from "../feature/feature.ts";
import { UnreachableError } from "../feature/plain-errors.ts";
import { limits } from "../limits.ts";

// The versions of Kubernetes that the tests run on. A test holds them against the modules that the local control planes are built from.

/** A minor release. */
interface MinorVersion {
  readonly major: number;
  readonly minor: number;
}

export const oldestTested: MinorVersion = { major: 1, minor: 33 };
export const newestTested: MinorVersion = { major: 1, minor: 36 };

/** Reads `v1.36.3`, `v1.36.3-gke.1`, `1.36+`; undefined for anything else. */
export function parseMinorVersion(text: string): MinorVersion | undefined {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(text) ?? [];
  return major === undefined || minor === undefined ? undefined : { major: Number(major), minor: Number(minor) };
}

const versionSchema = z.object({ gitVersion: z.string() });

/** Answers are timed this often; the quickest is judged, since a slow one may be anybody's fault. */
const attempts = 3;
const slowMs = 1000;
const { serverVersionBytes: maxVersionBytes } = limits;
/** Times in status and Leases are whole seconds, and an answer is under way for a while. */
const noticeableSkewMs = 2000;

/** What was found, and whether there is any point in asking further. */
interface ServerFindings {
  readonly findings: readonly Finding[];
  readonly isThere: boolean;
}

/** Asks for the version, several times. */
export async function checkServer(context: CheckContext): Promise<ServerFindings> {
  const { client, clock, server, signal } = context;
  const tookMs: number[] = [];
  let version: string | undefined;
  let priority: Finding;
  try {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const startMs = clock.monotonic();
      version = await versionOf(client, signal);
      tookMs.push(clock.monotonic() - startMs);
    }
    priority = priorityFinding(await flowSchemaOf(context));
  } catch (error) {
    signal.throwIfAborted();
    return { findings: [unreachable(server, error)], isThere: false };
  }
  return {
    findings: [
      version === undefined ? versionUnknown : versionFinding(version),
      latencyFinding(Math.min(...tookMs)),
      skewFinding(context.serverAheadMs()),
      priority,
    ],
    isThere: true,
  };
}

/** The server's version; undefined where people may not ask for it, which is an answer too. */
async function versionOf(client: Client, signal: AbortSignal): Promise<string | undefined> {
  try {
    return versionSchema.parse(await client.request({ method: "GET", path: "/version" }, signal)).gitVersion;
  } catch (error) {
    if (isApiError(error, "Forbidden")) return undefined;
    throw error;
  }
}

const versionUnknown = warn(
  "server version",
  "you may not ask for the server's version",
  `ask somebody who may whether it is one of those that are tested, ${inWords(oldestTested)} to ${inWords(newestTested)}`,
);

function unreachable(server: string, error: unknown): Finding {
  const message = error instanceof Error ? error.message : String(error);
  if (isApiError(error, "Unauthorized"))
    return fail("server", `${server} does not accept your credentials: ${message}`, "log in again, or choose another --context");
  if (error instanceof UnreachableError)
    return fail(
      "server",
      `${server} does not answer: ${error.what}`,
      "see whether kube-apiserver runs, and whether the address, the network, the proxy and the --context are right",
    );
  return fail("server", `${server} gave no version: ${message}`, "see whether this is the address of a Kubernetes API server");
}

/** Judges a version as the server writes it, such as `v1.36.3+k3s1`. */
export function versionFinding(text: string): Finding {
  const version = parseMinorVersion(text);
  const range = `${inWords(oldestTested)} to ${inWords(newestTested)} are tested`;
  if (!version)
    return warn(
      "server version",
      `the server says it is "${text}"; ${range}`,
      "see the server's documentation for the Kubernetes version that it is based on",
    );
  if (compare(version, oldestTested) < 0)
    return warn(
      "server version",
      `Kubernetes ${text} is older than what is tested: ${range}`,
      "upgrade the cluster, or try it on a copy of it first",
    );
  if (compare(version, newestTested) > 0)
    return warn("server version", `Kubernetes ${text} is newer than what is tested: ${range}`, "look for a newer release of keyturn");
  return ok("server version", `Kubernetes ${text}; ${range}`);
}

function inWords({ major, minor }: MinorVersion): string {
  return `${major}.${minor}`;
}

function compare(left: MinorVersion, right: MinorVersion): number {
  return left.major - right.major || left.minor - right.minor;
}

function latencyFinding(bestMs: number): Finding {
  const took = `the quickest of ${attempts} answers took ${Math.round(bestMs)} ms`;
  if (bestMs < slowMs) return ok("latency", took);
  return warn("latency", `${took}; everything will be slow`, "see whether the API server or etcd is overloaded, or the way to it is long");
}

/** Judges the difference of the clocks. */
export function skewFinding(serverAheadMs: number | undefined): Finding {
  if (serverAheadMs === undefined)
    return warn("clock", "the API server's answers have no Date, so that clocks cannot be compared", "see whether a proxy takes the header away");
  const seconds = Math.round(Math.abs(serverAheadMs) / 1000);
  const difference = `this machine's clock is ${seconds} s ${serverAheadMs > 0 ? "behind" : "ahead of"} the API server's`;
  if (Math.abs(serverAheadMs) < noticeableSkewMs) return ok("clock", "this machine's clock agrees with the API server's");
  const todo = "set both by NTP; an operator whose clock is wrong by more than 30 s rotates nothing";
  return Math.abs(serverAheadMs) > maxSkewMs ? fail("clock", difference, todo) : warn("clock", difference, todo);
}

/** The flow schema that the server has put us into, as its answers say; undefined if it has none. */
async function flowSchemaOf({ transport, signal }: CheckContext): Promise<string | undefined> {
  const response = await transport.send({ method: "GET", path: "/version" }, signal);
  await readText(response, maxVersionBytes);
  return response.headers["x-kubernetes-pf-flowschema-uid"];
}

/** Judges whether the server queues requests by priority, so that a busy neighbour cannot starve the operator. */
export function priorityFinding(flowSchema: string | undefined): Finding {
  if (flowSchema) return ok("priority", "API Priority and Fairness is on: a busy neighbour cannot starve the operator");
  return warn(
    "priority",
    "the API server does not say that API Priority and Fairness is on",
    "see the API server's --enable-priority-and-fairness; without it a busy client slows all others",
  );
}
