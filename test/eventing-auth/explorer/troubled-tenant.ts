// The tenant of the small world: the stand-in's own handlers, behind a network on which anything can happen to one or two requests.
import { type Clock, ConnectionError, type SendPermit, sleep, type Transport, type TransportRequest, type TransportResponse } from "@keyturn/runtime";
import type { ApplicationDirectory } from "../../../packages/keyturn/src/dev/stand-ins/ias-directory.ts";
import { handlers } from "../../../packages/keyturn/src/dev/stand-ins/ias-directory.ts";
import { routeOf } from "../../../packages/keyturn/src/dev/stand-ins/ias-failures.ts";
import { type Directory, empty, type IasAnswer, json, refusal, TokenSigner } from "../../../packages/keyturn/src/dev/stand-ins/ias-protocol.ts";

/** What can happen at one point. Answers that are wrong stay wrong for a while, or repeating a request would hide them. */
export const mishaps = [
  "cut",
  "lost",
  "late",
  "twice",
  "stale",
  "unshown",
  "401",
  "404 empty",
  "429",
  "500",
  "html",
  "crash before",
  "crash after",
  "the object is deleted",
  "the Secret is deleted",
  "the application is deleted",
  "another leader",
  "the process stands still",
] as const;
export type Mishap = (typeof mishaps)[number];

/** Which points go wrong, by their number, and how. */
export type Trouble = ReadonlyMap<number, Mishap>;

const isWrite = /^(?:POST|PUT|PATCH|DELETE) /;
const wrongForMs = 5_000;
/** For how long an answer may show what was, and a new application be shown to nobody. */
const staleForMs = 20_000;

interface Meddling {
  readonly crash: () => never;
  readonly deleteObject: () => void;
  readonly deleteSecret: () => void;
  readonly otherLeader: () => Promise<unknown>;
  /** Until another leader has done all that there is to do. */
  readonly standStill: () => Promise<unknown>;
}

interface TroubledTenantOptions {
  readonly clock: Clock;
  readonly directory: ApplicationDirectory;
  readonly trouble: Trouble;
  readonly heard: ((answer: IasAnswer, step: string) => IasAnswer) | undefined;
  readonly meddle: Meddling;
}

export class TroubledTenant {
  /** What was met, in order; its index is the point's number. */
  readonly points: string[] = [];
  /** When creations were about to be sent, on the monotonic scale. */
  readonly creations: number[] = [];
  readonly #options: TroubledTenantOptions;
  readonly #signer = new TokenSigner();
  #wrong: { readonly as: Mishap; readonly untilMs: number } | undefined;
  #past: { readonly list: ReturnType<Directory["list"]>; readonly untilMs: number } | undefined;
  #shownAfterMs = 0;
  /** Nothing happens to what another leader does, nor once all is calm. */
  #isNested = false;

  constructor(options: TroubledTenantOptions) {
    this.#options = options;
  }

  transport(): Transport {
    return { send: (request) => this.#serve(request), close: () => {} };
  }

  /** Nothing goes wrong from now on. */
  calm(): void {
    this.#isNested = true;
  }

  /** One point of a story: has an effect and an answer, unless something happens to it. Sending it needs a permit; what has been sent does not. */
  async through(
    what: string,
    arrive: () => TransportResponse | Promise<TransportResponse>,
    permit: SendPermit | undefined,
  ): Promise<TransportResponse> {
    const effect: typeof arrive = () => {
      permit?.check();
      return arrive();
    };
    if (this.#isNested) return effect();
    const { trouble, meddle, clock, directory } = this.#options;
    const mishap = trouble.get(this.points.push(what) - 1);
    switch (mishap) {
      case "cut":
        throw new ConnectionError("cut");
      case "lost":
        await effect();
        throw new ConnectionError("lost");
      case "late":
        permit?.check();
        clock.setTimer(staleForMs, () => void arrive());
        await sleep(clock, 10_000);
        throw new ConnectionError("late");
      case "twice":
        await effect();
        return effect();
      case "crash before":
        return meddle.crash();
      case "crash after":
        await effect();
        return meddle.crash();
      case "the object is deleted":
        meddle.deleteObject();
        return effect();
      case "the Secret is deleted":
        meddle.deleteSecret();
        return effect();
      case "the application is deleted":
        for (const { id, body } of directory.list()) if (isMarked(body)) directory.delete(id);
        return effect();
      case "another leader":
        this.#isNested = true;
        // It may fail as this one may: what it leaves behind is what matters.
        await meddle.otherLeader().catch(() => undefined);
        this.#isNested = false;
        return effect();
      case "the process stands still":
        this.#isNested = true;
        await meddle.standStill();
        this.#isNested = false;
        return effect();
      case "stale":
        this.#past = { list: directory.list(), untilMs: clock.monotonic() + staleForMs };
        return effect();
      case "unshown":
        this.#shownAfterMs = staleForMs;
        return effect();
      case undefined:
        return effect();
      case "401":
      case "404 empty":
      case "429":
      case "500":
      case "html":
      default:
        if (!what.endsWith("identity provider")) return effect();
        this.#wrong = { as: mishap, untilMs: clock.monotonic() + wrongForMs };
        return this.#heard(wrongAnswer(mishap), what);
    }
  }

  /** Whether a mishap means anything at a point of this name. */
  static applies(mishap: Mishap, what: string): boolean {
    const isProvider = what.endsWith("identity provider");
    if (/^\d|html|stale|unshown/.test(mishap)) return isProvider;
    return mishap !== "twice" || isProvider || isWrite.test(what);
  }

  async #serve(request: TransportRequest): Promise<TransportResponse> {
    const { clock } = this.#options;
    const url = new URL(request.path, "http://tenant");
    const route = routeOf(request.method, url.pathname);
    if (!route) return response(404, "");
    if (route.step === "create") this.creations.push(clock.monotonic());
    if (this.#wrong && !this.#isNested && clock.monotonic() < this.#wrong.untilMs) return this.#heard(wrongAnswer(this.#wrong.as), route.step);
    const arrive = async (): Promise<TransportResponse> => {
      const { authorization } = request.headers ?? {};
      // Signing would take longer than all the rest.
      if (route.step === "token") return this.#heard(this.#token(request.body ?? ""), route.step);
      const answer = await handlers[route.step]({ ...route, query: url.searchParams, authorization, body: request.body ?? "" }, this.#tenant());
      return this.#heard(answer, route.step);
    };
    return this.through(`${route.step} at the identity provider`, arrive, request.permit);
  }

  #token(body: string): IasAnswer {
    const form = new URLSearchParams(body);
    const { clock, directory } = this.#options;
    const isRight = directory.accepts(form.get("client_id") ?? "", form.get("client_secret") ?? "", clock.now());
    return isRight ? json(200, { access_token: "token" }) : json(401, { error: "invalid_client" });
  }

  #tenant() {
    const { clock, directory } = this.#options;
    const { list, untilMs } = this.#past ?? { list: [], untilMs: 0 };
    const isPast = clock.monotonic() < untilMs;
    const shown: Directory = isPast ? { ...bound(directory), list: () => list, get: (id) => list.find((each) => each.id === id) } : directory;
    const common = { url: "http://tenant", username: "ias-admin", password: "ias-admin-password", clientIdFrom: "first-secret" } as const;
    return { ...common, directory: shown, signer: this.#signer, nowMs: clock.now(), shownAfterMs: this.#shownAfterMs };
  }

  #heard(answer: IasAnswer, step: string): TransportResponse {
    const { status, headers, body } = this.#options.heard?.(answer, step) ?? answer;
    return response(status, body, headers);
  }
}

/** What changes things is done to the directory as it is now. */
function bound(directory: ApplicationDirectory): Directory {
  return {
    list: () => directory.list(),
    get: (id) => directory.get(id),
    create: (...given) => directory.create(...given),
    delete: (id) => directory.delete(id),
    addSecret: (...given) => directory.addSecret(...given),
    deleteSecret: (...given) => directory.deleteSecret(...given),
    accepts: (...given) => directory.accepts(...given),
  };
}

function wrongAnswer(mishap: Mishap): IasAnswer {
  if (mishap === "html") return { status: 200, headers: { "content-type": "text/html" }, body: "<html>please log in</html>" };
  return mishap === "404 empty" ? empty(404) : refusal(Number(mishap), "no");
}

/** Whether an application was made with a mark. */
export function isMarked({ description }: Readonly<Record<string, unknown>>): boolean {
  return typeof description === "string" && description.includes("made by Keyturn");
}

export function response(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = { "content-type": "application/json" },
): TransportResponse {
  async function* stream(): AsyncGenerator<Uint8Array> {
    if (body !== "") yield Buffer.from(body);
  }
  return { status, headers, body: stream() };
}
