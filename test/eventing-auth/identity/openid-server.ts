// For tests: the real `oidc-provider` as an OpenID server with dynamic client registration, on this machine.
import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Adapter, type AdapterPayload, type Configuration, type KoaContextWithOIDC, Provider } from "oidc-provider";

/** What the server is like. */
export interface OpenidServerOptions {
  /** `open`: anybody may register; `token`: whoever has the initial access token. Default `token`. */
  readonly registration?: "open" | "token";
  /** Whether an update issues a new secret. Needs an initial access token, which carries that policy. Default true. */
  readonly rotatesSecrets?: boolean;
  /** Whether the server answers 401 to every registration access token, as after it has invalidated them. Default false. */
  readonly refusesManagement?: boolean;
  /** Whether clients get a registration access token. Default true. */
  readonly givesManagement?: boolean;
  /** Which answers tell the secret besides the one to a registration: those to reading, to updating. Default both. */
  readonly tellsSecretOn?: readonly ("GET" | "PUT")[];
  /** Changes what the server answers to a registration. */
  readonly spoilRegistration?: (body: Readonly<Record<string, unknown>>) => unknown;
}

/** A request that was answered, for those who look on or want to spoil it. */
type Exchange = Pick<KoaContextWithOIDC, "method" | "path">;

/** What somebody else answers. */
interface InsteadAnswer {
  readonly status: number;
  readonly body?: unknown;
}

/** Told of a request: its method and the first part of its path, such as `PUT /reg`; and the client's `User-Agent`. */
type StepListener = (step: string, moment: "before" | "after", userAgent: string) => void;

type Middleware = Parameters<Provider["use"]>[0];

/** A running server. */
export interface OpenidServer extends AsyncDisposable {
  readonly issuer: string;
  /** Undefined where registration is open. */
  readonly initialAccessToken: string | undefined;
  /** How many requests with a registration access token were refused because of `refusesManagement`. */
  readonly refusals: number;
  /** The ids of the clients that exist. */
  clients(): readonly string[];
  /** As an administrator would, at the server. */
  deleteClient(id: string): void;
  /** Ends it, and starts it again on the same data. */
  restart(): Promise<void>;
  /** Calls the listener before each request has its effect, and after that; if it throws, the connection ends. Returns how to stop that. */
  onStep(listener: StepListener): () => void;
  /** Loses the answers to requests for which this is true, after their effect. */
  loseAnswers(when: (exchange: Exchange) => boolean): void;
  /** Answers requests without their effect, as something in between would. A body that is text is sent as a page. */
  answerInstead(answer: (exchange: Exchange) => InsteadAnswer | undefined): void;
}

const resource = "urn:keyturn:eventing";

/** Starts a server. Access tokens are JWTs for one audience. */
export async function startOpenidServer(options: OpenidServerOptions = {}): Promise<OpenidServer> {
  const { registration = "token", rotatesSecrets = true, givesManagement = true, tellsSecretOn = ["GET", "PUT"] } = options;
  const http = createServer();
  const listen = (port: number): Promise<void> => new Promise((resolve) => http.listen(port, "127.0.0.1", resolve));
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      http.close(() => resolve());
      http.closeAllConnections();
    });
  await listen(0);
  const { port } = http.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const stored = new Map<string, AdapterPayload>();
  const configuration: Configuration = {
    ...signing(),
    adapter: (model: string) => memoryAdapter(stored, model),
    ttl: { ClientCredentials: 600 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      registration: {
        enabled: true,
        initialAccessToken: registration === "token",
        issueRegistrationAccessToken: () => givesManagement,
        ...(registration === "token" && {
          policies: {
            "new-secret": (_, metadata) => {
              metadata.client_secret = randomBytes(32).toString("base64url");
            },
          },
        }),
      },
      registrationManagement: { enabled: true, rotateRegistrationAccessToken: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        getResourceServerInfo: () => ({ scope: "", audience: resource, accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } }),
      },
    },
  };
  let lost: (exchange: Exchange) => boolean = () => false;
  let instead: (exchange: Exchange) => InsteadAnswer | undefined = () => undefined;
  let refusals = 0;
  const listeners = new Set<StepListener>();
  const around: Middleware = async (ctx, next) => {
    const tell = (moment: "before" | "after"): boolean => {
      try {
        for (const listener of listeners) listener(`${ctx.method} /${ctx.path.split("/", 2)[1]}`, moment, ctx.get("user-agent"));
        return true;
      } catch {
        // That is how a listener ends a connection.
        ctx.req.socket.destroy();
        return false;
      }
    };
    if (!tell("before")) return;
    if (options.refusesManagement && ctx.path.startsWith("/reg/")) {
      refusals++;
      ctx.status = 401;
      ctx.body = { error: "invalid_token", error_description: "invalid token provided" };
      return;
    }
    const other = instead(ctx);
    if (other) {
      ctx.status = other.status;
      if (other.body !== undefined) ctx.body = other.body;
      return;
    }
    await next();
    if (!tell("after")) return;
    const { body } = ctx;
    const tells = ctx.method === "POST" || tellsSecretOn.some((method) => method === ctx.method);
    if (!tells && isClient(body)) ctx.body = { ...body, client_secret: undefined };
    if (options.spoilRegistration && ctx.method === "POST" && isClient(body)) ctx.body = options.spoilRegistration(body);
    if (lost(ctx)) ctx.req.socket.destroy();
  };
  const start = (): Provider => {
    const started = new Provider(issuer, configuration);
    started.use(around);
    const answer = started.callback();
    http.removeAllListeners("request").on("request", (incoming, outgoing) => void answer(incoming, outgoing));
    return started;
  };
  const provider = start();
  const token =
    registration === "token" ? await new provider.InitialAccessToken(rotatesSecrets ? { policies: ["new-secret"] } : {}).save() : undefined;
  return {
    issuer,
    initialAccessToken: token,
    get refusals() {
      return refusals;
    },
    clients: () => [...stored.keys()].filter((key) => key.startsWith("Client:")).map((key) => key.slice("Client:".length)),
    deleteClient: (id) => void stored.delete(`Client:${id}`),
    async restart() {
      await close();
      start();
      await listen(port);
    },
    onStep(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    loseAnswers: (when) => void (lost = when),
    answerInstead: (answer) => void (instead = answer),
    [Symbol.asyncDispose]: close,
  };
}

function isClient(body: unknown): body is Readonly<Record<string, unknown>> {
  return typeof body === "object" && body !== null && "client_secret" in body;
}

let signingKey: KeyObject | undefined;

/** All servers of a process sign with one key: making one takes long, and no test tells servers apart by it. */
function signing(): Pick<Configuration, "jwks" | "cookies"> {
  signingKey ??= generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  return { jwks: { keys: [{ ...signingKey.export({ format: "jwk" }), alg: "RS256", use: "sig" }] }, cookies: { keys: ["for-tests"] } };
}

/** Keeps everything for as long as the server runs. */
function memoryAdapter(stored: Map<string, AdapterPayload>, model: string): Adapter {
  const absent = (): Promise<undefined> => Promise.resolve(undefined);
  return {
    upsert: (id, payload) => Promise.resolve(void stored.set(`${model}:${id}`, payload)),
    find: (id) => Promise.resolve(stored.get(`${model}:${id}`)),
    destroy: (id) => Promise.resolve(void stored.delete(`${model}:${id}`)),
    findByUserCode: absent,
    findByUid: absent,
    consume: absent,
    revokeByGrantId: absent,
  };
}
