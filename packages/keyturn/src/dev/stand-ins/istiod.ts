// A stand-in for istiod's injection webhook, over TLS on this machine: what it is asked, by the API server or anybody else, and what it answers.
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { IncomingMessage, type ServerResponse } from "node:http";
import { createServer, request } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { ConfigMap, MutatingWebhook, MutatingWebhookConfiguration, Pod } from "@keyturn/runtime";
import { createAuthority, issueCertificate } from "@keyturn/runtime/testing";
import * as z from "zod";
import { defaultProxySettings, injectionPatch, injectorConfigMap, type ProxySettings, revisionSuffix, wantsInjection } from "./istiod-injection.ts";
import { revisionConfiguration, tagConfiguration, type WebhookOptions } from "./istiod-webhooks.ts";

/** A question that was asked. */
export interface InjectionCall {
  /** Counts the questions to all control planes of this process, so that their order is known. */
  readonly number: number;
  /** The webhook's path, which may name the cluster and network. */
  readonly path: string;
  readonly uid: string;
  readonly namespace: string;
  /** True if nothing comes of it: not asked for a pod that is being made. */
  readonly dryRun: boolean;
  readonly pod: Pod;
}

/** How configurations lead to this control plane. */
type ConfigurationOptions = Omit<WebhookOptions, "clientConfig"> & {
  /** Default `/inject`. */
  readonly path?: string;
  /** By the revision's Service instead of the address on this machine, as within a cluster. Default false. */
  readonly byService?: boolean;
};

/** What to do instead of answering properly. */
export type Misbehaviour =
  /** `allowed: false`, with a message or without any status. */
  | { readonly type: "refuse"; readonly message?: string }
  | { readonly type: "status"; readonly code: number }
  /** Takes the question and never answers. */
  | { readonly type: "silence" }
  /** Begins an answer and never ends it. */
  | { readonly type: "halfAnswer" }
  /** Closes the connection instead of answering. */
  | { readonly type: "hangUp" }
  | { readonly type: "text"; readonly text: string }
  /** An answer of this many bytes. */
  | { readonly type: "huge"; readonly bytes: number }
  /** A proper answer with these fields of its response changed. */
  | { readonly type: "alter"; readonly response: Readonly<Record<string, unknown>> };

/** A running control plane of one revision. */
export interface Istiod extends AsyncDisposable {
  /** `https://127.0.0.1:port`. */
  readonly url: string;
  readonly port: number;
  /** PEM. */
  readonly authority: string;
  /** What it injects now. */
  readonly settings: ProxySettings;
  /** Every question so far. */
  readonly calls: readonly InjectionCall[];
  /** How many connections were ever made to it. */
  readonly connections: number;
  /** How many of them are open. */
  readonly openConnections: number;
  /** Injects according to these settings from now on: an upgrade in place. */
  configure(settings: Partial<Omit<ProxySettings, "revision" | "namespace">>): void;
  /** Fails every caller in this way, or with undefined no longer; with `after`, once such a question was answered. */
  misbehave(how: Misbehaviour | undefined, after?: (call: InjectionCall) => boolean): void;
  /** The webhooks of its revision. */
  revisionConfiguration(options?: ConfigurationOptions): MutatingWebhookConfiguration;
  /** The webhooks of a tag that leads to it. */
  tagConfiguration(tag: string, options?: ConfigurationOptions): MutatingWebhookConfiguration;
  /** The ConfigMap with its current settings. */
  configMap(): ConfigMap;
}

/** Where a real istiod is, whose answers to give. */
interface RealIstiod {
  /** The URL of its injection, with the path. */
  readonly url: string;
  /** PEM; default the machine's own roots. */
  readonly authority?: string;
}

/** Starts a control plane on a free port of 127.0.0.1. With a real istiod behind it, that one injects and this one only writes down what it is asked. */
export async function startIstiod(settings: Partial<ProxySettings> = {}, real?: RealIstiod): Promise<Istiod> {
  const istiod = new StandIn({ ...defaultProxySettings, ...settings }, real);
  await istiod.listen();
  return istiod;
}

const reviewSchema = z.object({
  apiVersion: z.literal("admission.k8s.io/v1"),
  kind: z.literal("AdmissionReview"),
  request: z.object({
    uid: z.string(),
    namespace: z.string().default(""),
    dryRun: z.boolean().default(false),
    object: z.custom<Pod>((value) => typeof value === "object" && value !== null && "metadata" in value),
  }),
});

let questions = 0;

/** The names that istiod has for what its webhook's path may say. */
const pathVariables: Readonly<Record<string, string>> = { cluster: "ISTIO_META_CLUSTER_ID", net: "ISTIO_META_NETWORK" };

class StandIn implements Istiod {
  readonly authority: string;
  readonly calls: InjectionCall[] = [];
  settings: ProxySettings;
  connections = 0;
  openConnections = 0;
  readonly #server: ReturnType<typeof createServer>;
  readonly #real: RealIstiod | undefined;
  #misbehaviour: Misbehaviour | undefined;
  #awaited: { readonly how: Misbehaviour | undefined; readonly after: (call: InjectionCall) => boolean } | undefined;

  constructor(settings: ProxySettings, real: RealIstiod | undefined) {
    this.settings = settings;
    this.#real = real;
    const authority = createAuthority("istiod's authority");
    const { certificate, privateKey } = issueCertificate(authority, {
      usage: "server",
      commonName: "istiod",
      hosts: ["127.0.0.1", "localhost", `${this.#service}.${settings.namespace}.svc`],
    });
    this.authority = authority.certificate;
    this.#server = createServer({ cert: certificate, key: privateKey }, (incoming, response) => {
      this.#serve(incoming, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
    });
    this.#server.on("secureConnection", (socket) => {
      this.connections++;
      this.openConnections++;
      socket.once("close", () => this.openConnections--);
    });
    // As istiod's: a server that closes idle connections sooner does so at times while a question is on its way.
    this.#server.keepAliveTimeout = 90_000;
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  get #service(): string {
    return `istiod${revisionSuffix(this.settings)}`;
  }

  configure(settings: Partial<Omit<ProxySettings, "revision" | "namespace">>): void {
    this.settings = { ...this.settings, ...settings };
  }

  misbehave(how: Misbehaviour | undefined, after?: (call: InjectionCall) => boolean): void {
    this.#awaited = after && { how, after };
    if (!after) this.#misbehaviour = how;
  }

  revisionConfiguration(options: ConfigurationOptions = {}): MutatingWebhookConfiguration {
    return revisionConfiguration(this.settings, { ...options, clientConfig: this.#clientConfig(options) });
  }

  tagConfiguration(tag: string, options: ConfigurationOptions = {}): MutatingWebhookConfiguration {
    return tagConfiguration(tag, this.settings, { ...options, clientConfig: this.#clientConfig(options) });
  }

  configMap(): ConfigMap {
    return injectorConfigMap(this.settings);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  #clientConfig({ path = "/inject", byService = false }: ConfigurationOptions): MutatingWebhook["clientConfig"] {
    const caBundle = Buffer.from(this.authority).toString("base64");
    if (!byService) return { url: `${this.url}${path}`, caBundle };
    return { service: { namespace: this.settings.namespace, name: this.#service, path, port: 443 }, caBundle };
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(incoming);
    const [path = ""] = (incoming.url ?? "").split("?", 1);
    if (path !== "/inject" && !path.startsWith("/inject/")) return answer(response, 404, "404 page not found\n");
    if (incoming.headers["content-type"] !== "application/json") return answer(response, 415, "invalid Content-Type, want `application/json`\n");
    if (body === "") return answer(response, 400, "no body found\n");
    const review = reviewSchema.safeParse(JSON.parse(body));
    if (!review.success) return answer(response, 200, reviewOf({ allowed: false, status: { message: "could not decode the AdmissionReview" } }));
    const { uid, namespace, dryRun, object } = review.data.request;
    const call = { number: ++questions, path, uid, namespace, dryRun, pod: object };
    this.calls.push(call);
    const proper = { uid, ...(this.#real ? await ask(this.#real, body) : this.#inject(object, namespace, path)) };
    if (this.#misbehaviour) fail(response, this.#misbehaviour, proper);
    else answer(response, 200, reviewOf(proper));
    if (this.#awaited?.after(call)) this.misbehave(this.#awaited.how);
  }

  #inject(pod: Pod, namespace: string, path: string): object {
    if (!wantsInjection(pod, namespace)) return { allowed: true };
    const patch = injectionPatch(pod, { namespace, settings: this.settings, proxyEnv: variablesIn(path) });
    return { allowed: true, patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") };
  }
}

const answerSchema = z.object({ response: z.looseObject({}) });

async function ask({ url, authority }: RealIstiod, body: string): Promise<object> {
  const outgoing = request(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    ...(authority !== undefined && { ca: authority }),
  });
  outgoing.end(body);
  const [incoming] = z.tuple([z.instanceof(IncomingMessage)]).parse(await once(outgoing, "response"));
  return answerSchema.parse(JSON.parse(await text(incoming))).response;
}

/** `/inject/cluster/one/net/two` gives variables for the proxy. */
function variablesIn(path: string): Readonly<Record<string, string>> {
  const steps = path.split("/").slice(2);
  const pairs = steps.flatMap((name, index) => (index % 2 === 0 ? [[name, steps[index + 1]] as const] : []));
  return Object.fromEntries(
    pairs.flatMap(([name, value]) => (value === undefined ? [] : [[pathVariables[name] ?? name.toUpperCase(), value.replaceAll("--slash--", "/")]])),
  );
}

/** Fails a caller who should have got `proper`. */
function fail(response: ServerResponse, how: Misbehaviour, proper: { readonly uid: string }): void {
  const { uid } = proper;
  switch (how.type) {
    case "refuse":
      return answer(response, 200, reviewOf({ uid, allowed: false, ...(how.message !== undefined && { status: { message: how.message } }) }));
    case "status":
      return answer(response, how.code, "out of order\n");
    case "halfAnswer":
      return void response.writeHead(200, { "content-type": "application/json" }).write('{"kind":');
    case "hangUp":
      return void response.destroy();
    case "text":
      return answer(response, 200, how.text);
    case "huge":
      return answer(response, 200, " ".repeat(how.bytes));
    case "alter":
      return answer(response, 200, reviewOf({ ...proper, ...how.response }));
    case "silence":
    default:
  }
}

/** An AdmissionReview with this response. */
function reviewOf(response: object): string {
  return JSON.stringify({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", response });
}

/** Sends a whole answer. */
function answer(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}
