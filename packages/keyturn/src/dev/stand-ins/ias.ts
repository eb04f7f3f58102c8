// A stand-in for a tenant of SAP Cloud Identity Services: the Application Directory API and client-credentials tokens, for tests and `keyturn dev`.
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type Clock, sleep, systemClock } from "@keyturn/runtime";
import { type IasAnswer, refusal, TokenSigner } from "./ias-protocol.ts";
import { ApplicationDirectory, type DirectoryCounters, handlers, type StoredApplication } from "./ias-directory.ts";
import { type ActiveFailure, answerInstead, Failures, type IasFailure, type IasStep, routeOf } from "./ias-failures.ts";

/** How the stand-in is to be. */
export interface IasStandInOptions {
  /** Every answer comes at least this late. Default 0. */
  readonly latencyMs?: number;
  /** Default any that is free. */
  readonly port?: number;
  /** Default `ias-admin` and `ias-admin-password`. */
  readonly username?: string;
  readonly password?: string;
  /** Speaks https with this certificate; default http. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** When an application's client ID can be seen. Default `first-secret`, as IAS has it: it is generated with the first API secret. */
  readonly clientIdFrom?: "first-secret" | "creation";
  /** How long after its creation an application can be found, read and used. Default 0. */
  readonly shownAfterMs?: number;
  /** Default the machine's. */
  readonly clock?: Clock;
}

/** When a listener is called: before a request has its effect, or after that and before the answer. */
type StepMoment = "before" | "after";

/** Called for each request, with the client's `User-Agent`; the request waits for it. If it throws, the connection ends without an answer. */
type StepListener = (step: IasStep, moment: StepMoment, userAgent: string) => void | Promise<void>;

/** How the stand-in has been used. */
interface IasCounters extends DirectoryCounters {
  /** Requests that arrived, by step. */
  readonly requests: Readonly<Partial<Record<IasStep, number>>>;
  /** Requests under way now, and the most there ever were. */
  readonly inFlight: number;
  readonly peakInFlight: number;
}

/** Starts a tenant that listens on 127.0.0.1. */
export async function startIasStandIn(options: IasStandInOptions = {}): Promise<IasStandIn> {
  const standIn = new IasStandIn(options);
  await standIn.listen();
  return standIn;
}

/** A running tenant. */
export class IasStandIn implements AsyncDisposable {
  readonly username: string;
  readonly password: string;
  readonly directory = new ApplicationDirectory();
  readonly #failures = new Failures();
  readonly #signer = new TokenSigner();
  readonly #server: Server;
  readonly #options: IasStandInOptions;
  readonly #clock: Clock;
  readonly #requests = new Map<IasStep, number>();
  readonly #listeners = new Set<StepListener>();
  #inFlight = 0;
  #peakInFlight = 0;

  constructor(options: IasStandInOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.username = options.username ?? "ias-admin";
    this.password = options.password ?? "ias-admin-password";
    const answer = (incoming: IncomingMessage, outgoing: ServerResponse): void => void this.#serve(incoming, outgoing);
    this.#server = options.tls ? createHttpsServer(options.tls, answer) : createHttpServer(answer);
    // A minute longer than clients keep a connection, as servers on the internet do: a busy machine should not make a request meet one that is just being closed.
    this.#server.keepAliveTimeout = 120_000;
  }

  /** The tenant's address, as it stands in the Secret with the credentials. */
  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `${this.#options.tls ? "https" : "http"}://127.0.0.1:${port}`;
  }

  get counters(): IasCounters {
    return { ...this.directory.counters, requests: Object.fromEntries(this.#requests), inFlight: this.#inFlight, peakInFlight: this.#peakInFlight };
  }

  /** What exists now, by name if one is given. */
  applications(name?: string): readonly StoredApplication[] {
    return this.directory.list().filter((application) => name === undefined || application.name === name);
  }

  /** Lets the next `times` requests of a step fail; by default all of them until the failure is stopped. */
  fail(step: IasStep, failure: IasFailure, times?: number): ActiveFailure {
    return this.#failures.add(step, failure, times);
  }

  /** Stops all failures. */
  recover(): void {
    this.#failures.clear();
  }

  /** Calls the listener at every request. Returns how to stop that. */
  onStep(listener: StepListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#options.port ?? 0, "127.0.0.1", () => resolve());
    });
  }

  /** Closes all connections, also those of requests that hang. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    this.#peakInFlight = Math.max(this.#peakInFlight, ++this.#inFlight);
    outgoing.once("close", () => this.#inFlight--);
    try {
      await this.#respond(incoming, outgoing);
    } catch {
      // The client has gone away, or a listener wants the connection to end: a server has nothing to add.
      outgoing.destroy();
    }
  }

  async #respond(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await textOf(incoming);
    const { pathname, searchParams } = new URL(incoming.url ?? "/", this.url);
    if (this.#options.latencyMs) await sleep(this.#clock, this.#options.latencyMs);
    const route = routeOf(incoming.method ?? "", pathname);
    if (!route) return send(outgoing, refusal(404, `There is nothing at ${pathname}.`));
    this.#requests.set(route.step, (this.#requests.get(route.step) ?? 0) + 1);
    const userAgent = incoming.headers["user-agent"] ?? "";
    await this.#notify(route.step, "before", userAgent);

    const failure = this.#failures.take(route.step);
    const instead = failure && answerInstead(failure);
    if (instead) return send(outgoing, instead);
    if (failure?.type === "hang") return;
    if (failure?.type === "cut") return void outgoing.destroy();
    const { clientIdFrom = "first-secret", shownAfterMs = 0 } = this.#options;
    const { url, username, password, directory } = this;
    const tenant = { url, username, password, directory, signer: this.#signer, clientIdFrom, shownAfterMs };
    const { authorization } = incoming.headers;
    const answer = await handlers[route.step]({ ...route, query: searchParams, authorization, body }, { ...tenant, nowMs: this.#clock.now() });
    await this.#notify(route.step, "after", userAgent);
    if (failure?.type === "lost-answer") return void outgoing.destroy();
    if (failure?.type === "truncated") return truncate(outgoing, answer);
    if (failure?.type === "slow") await sleep(this.#clock, failure.delayMs);
    send(outgoing, failure?.type === "mixed-up" ? { ...answer, headers: { ...answer.headers, location: failure.location } } : answer);
  }

  async #notify(...step: Parameters<StepListener>): Promise<void> {
    for (const listener of this.#listeners) await listener(...step);
  }
}

function send(outgoing: ServerResponse, { status, headers, body }: IasAnswer): void {
  outgoing.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
  outgoing.end(body);
}

/** Promises the whole body and sends half of it; an empty one is cut off before its headers. */
function truncate(outgoing: ServerResponse, { status, headers, body }: IasAnswer): void {
  if (body === "") return void outgoing.destroy();
  outgoing.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
  outgoing.write(body.slice(0, Math.ceil(body.length / 2)), () => outgoing.destroy());
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString("utf8");
}
