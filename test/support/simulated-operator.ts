// One operator on a simulated API server in virtual time, whose requests are listed and can be refused.
import {
  apiVersionOf,
  type ControllerDefinition,
  type Kind,
  type KubeObject,
  objectPath,
  seededRandom,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from "@keyturn/runtime";
import {
  type JsonObject,
  modelOperator,
  objectOr,
  ProcessClock,
  SimulatedApiServer,
  SimulatedNetwork,
  stringOr,
  VirtualClock,
} from "@keyturn/runtime/testing";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";

/** The namespace of everything in it. */
export const namespace = "default";

const installationKey = new Uint8Array(32).fill(7);

export interface Refusal {
  readonly status: number;
  readonly reason: string;
}

/** What a user writes of an object. */
export interface Written {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly data?: object;
  readonly type?: string;
}

export class SimulatedOperator {
  readonly #clock = new VirtualClock();
  readonly #server = new SimulatedApiServer({ clock: this.#clock, random: seededRandom(1) });
  #requests: string[] = [];
  /** Since the last look: `KeyAdded site`. */
  readonly events: string[] = [];
  /** How a request is refused instead of being served. */
  refuse: (request: TransportRequest) => Refusal | undefined = () => undefined;

  constructor(controllers: readonly ControllerDefinition[], kinds: readonly Kind[]) {
    for (const kind of kinds) this.#server.serve(kind);
    const network = new SimulatedNetwork({ server: this.#server, clock: this.#clock, random: seededRandom(2) });
    const transport = this.#listing(network.connect({ name: "one", clock: new ProcessClock(this.#clock) }));
    const context = { name: "one", transport, clock: this.#clock, random: seededRandom(3), incarnation: 1, signal: new AbortController().signal };
    void modelOperator("one", { controllers, operator: keyturn, installationKey }).start(context);
  }

  #listing(wire: Transport): Transport {
    return {
      send: async (request, signal) => {
        if (isBackground(request)) return wire.send(request, signal);
        const refusal = this.refuse(request);
        const path = pathInNamespace(request);
        if (path.startsWith("events") && !refusal) {
          const event = objectOr(JSON.parse(request.body ?? "{}"));
          this.events.push(`${stringOr(event["reason"], "")} ${stringOr(objectOr(event["regarding"])["name"], "")}`);
        }
        this.#requests.push(`${request.method} ${path}${refusal ? ` ${refusal.status}` : ""}`);
        return refusal ? statusResponse(refusal) : wire.send(request, signal);
      },
      close: () => wire.close(),
    };
  }

  put(kind: Kind, name: string, { annotations = {}, ...content }: Written): void {
    this.#apply(kind, { metadata: { namespace, name, annotations }, ...content });
  }

  /** As the controllers of the cluster write it. */
  putStatus(kind: Kind, name: string, status: object): void {
    this.#apply(kind, { metadata: { namespace, name }, status }, "/status");
  }

  #apply(kind: Kind, object: KubeObject & Readonly<Record<string, unknown>>, subresource = ""): void {
    this.#ask({
      method: "PATCH",
      path: `${objectPath(kind, { namespace, name: object.metadata.name ?? "" })}${subresource}?fieldManager=user&force=true`,
      headers: { "content-type": "application/apply-patch+yaml" },
      body: JSON.stringify({ apiVersion: apiVersionOf(kind), kind: kind.kind, ...object }),
    });
  }

  delete(kind: Kind, name: string): void {
    this.#ask({ method: "DELETE", path: objectPath(kind, { namespace, name }) });
  }

  #ask(request: TransportRequest): void {
    const answer = this.#server.handle(request);
    if (answer.type === "answer" && answer.status >= 300) throw new Error(answer.body);
  }

  /** Lets time pass and returns the requests that were made meanwhile, without lists, watches and Leases. */
  async during(ms: number): Promise<readonly string[]> {
    this.#requests = [];
    this.events.length = 0;
    await this.#clock.advance(ms);
    return this.#requests;
  }

  stored(kind: Kind, name: string): JsonObject {
    return objectOr(this.#server.store.get(kind.group ? `${kind.plural}.${kind.group}` : kind.plural, `${namespace}/${name}`));
  }

  /** What Ready says: `True UpToDate`. */
  ready(kind: Kind, name: string): string {
    const { conditions } = objectOr(this.stored(kind, name)["status"]);
    const ready = objectOr((Array.isArray(conditions) ? conditions : []).find((each) => objectOr(each)["type"] === "Ready"));
    return `${stringOr(ready["status"], "")} ${stringOr(ready["reason"], "")}`;
  }
}

/** Lists, watches and Leases: what an operator costs that does nothing. */
function isBackground({ method, path }: TransportRequest): boolean {
  return (method === "GET" && /[?&](watch|limit|resourceVersion)=/.test(path)) || path.includes("/leases");
}

/** `secrets/a` of the whole path. */
function pathInNamespace({ path }: TransportRequest): string {
  return path.replace(/\?.*/, "").replace(/.*\/namespaces\/[^/]+\//, "");
}

/** How an API server refuses: what it says of an object names it. */
export function statusResponse({ status, reason, name }: Refusal & { readonly name?: string }): TransportResponse {
  const details = name ? { details: { name, kind: "objects" } } : {};
  const answer = { kind: "Status", status: "Failure", code: status, reason, message: "no", ...details };
  const body = new TextEncoder().encode(JSON.stringify(answer));
  return { status, headers: { "content-type": "application/json" }, body: ReadableStream.from([body]) };
}
