// A small world for exhaustive exploration: one EventingAuth, one tenant, one cluster, in virtual time, and the very functions that decide and act in the product.
import {
  createClient,
  createLogger,
  type Kind,
  type KubeObject,
  Secret,
  type SendPermit,
  sleep,
  type Stored,
  type Transport,
  type TransportResponse,
} from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { SimulatedApiServer } from "@keyturn/runtime/testing";
import { carryOutAct, carryOutLook, type StepContext } from "../../../packages/keyturn/src/controllers/eventing-auth/act.ts";
import { EventingAuth, eventingAuthFinalizer } from "../../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { statusOf } from "../../../packages/keyturn/src/controllers/eventing-auth/conditions.ts";
import { IdentityProviders } from "../../../packages/keyturn/src/controllers/eventing-auth/identity/provider.ts";
import type { Observation } from "../../../packages/keyturn/src/controllers/eventing-auth/observe.ts";
import { type IssuingPlan, planIssuing } from "../../../packages/keyturn/src/controllers/eventing-auth/plan.ts";
import { credentialsIn, keepTargetSecret } from "../../../packages/keyturn/src/controllers/eventing-auth/target-secret.ts";
import { ApplicationDirectory } from "../../../packages/keyturn/src/dev/stand-ins/ias-directory.ts";
import type { IasAnswer } from "../../../packages/keyturn/src/dev/stand-ins/ias-protocol.ts";
import { isMarked, response, TroubledTenant, type Trouble } from "./troubled-tenant.ts";

/** A rule that the product keeps, broken on purpose: the exploration has to notice. */
export interface Mistake {
  /** Changes what is decided from. */
  readonly observed?: (observation: Observation) => Observation;
  /** Swallows a write to the control plane. */
  readonly swallows?: (body: string) => boolean;
  /** Sends whatever it is about to, whoever leads by then. */
  readonly ignoresTerm?: boolean;
  /** Changes what the tenant says. */
  readonly heard?: (answer: IasAnswer, step: string) => IasAnswer;
}

/** Broken by what happened: the promise of this step. */
export class BrokenPromise extends Error {}

/** The end of a process in the middle of a run. */
class Crash extends Error {}

const system = "kcp-system";
const runtime = "runtime";
const name = { namespace: system, name: runtime };
const place = { namespace: "kyma-system", name: "eventing-webhook-auth" };
const minuteMs = 60_000;
const log = createLogger({ level: "silent" });
const middle = (): number => 0.5;

/** What one process remembers. */
interface Memory {
  readonly askedAt: Map<string, number>;
  readonly unheardAt: Map<string, number>;
}

const nothing = (): Memory => ({ askedAt: new Map(), unheardAt: new Map() });

export class SmallWorld {
  readonly clock = new VirtualClock();
  readonly directory = new ApplicationDirectory();
  readonly tenant: TroubledTenant;
  readonly #controlPlane: SimulatedApiServer;
  readonly #target: SimulatedApiServer;
  readonly #mistake: Mistake;
  #providers: IdentityProviders;
  /** Something was changed that a watch would show. */
  #isTouched = false;
  #memory: Memory = nothing();
  /** Whoever leads now. */
  #term = { isOver: false };
  #isDead = false;
  #doubledSinceMs: number | undefined;
  released = false;
  readonly foreign: string;

  constructor(trouble: Trouble, mistake: Mistake = {}) {
    const { clock, directory } = this;
    this.#mistake = mistake;
    this.#controlPlane = new SimulatedApiServer({ clock, random: middle });
    this.#controlPlane.serve(EventingAuth, { status: true });
    this.#target = new SimulatedApiServer({ clock, random: middle });
    for (const server of [this.#controlPlane, this.#target]) {
      for (const namespace of [system, place.namespace]) server.seed({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    }
    this.#controlPlane.seed({
      apiVersion: "operator.kyma-project.io/v1alpha1",
      kind: "EventingAuth",
      metadata: { ...name, finalizers: [eventingAuthFinalizer] },
    });
    this.foreign = directory.create("payroll-sso", { description: "not Keyturn's" }).id;
    this.tenant = new TroubledTenant({
      clock,
      directory,
      trouble,
      heard: mistake.heard,
      meddle: {
        crash: () => {
          this.#isDead = true;
          throw new Crash();
        },
        deleteObject: () => this.deleteObject(),
        deleteSecret: () => this.deleteSecret(),
        otherLeader: async () => {
          const own = this.#providers;
          this.#providers = this.#open();
          await this.run(nothing()).finally(() => (this.#providers = own));
        },
        standStill: () => this.#standStill(),
      },
    });
    this.#providers = this.#open();
  }

  #open(): IdentityProviders {
    const { clock } = this;
    return new IdentityProviders({
      type: "ias",
      allowHttp: true,
      timeoutMs: 10_000,
      clock,
      random: middle,
      openTransport: () => this.tenant.transport(),
    });
  }

  get object(): Stored<EventingAuth> | undefined {
    return this.#read(EventingAuth, this.#controlPlane, `/apis/operator.kyma-project.io/v1alpha1/namespaces/${system}/eventingauths/${runtime}`);
  }

  get secret(): Stored<Secret> | undefined {
    return this.#read(Secret, this.#target, `/api/v1/namespaces/${place.namespace}/secrets/${place.name}`);
  }

  /** Applications of this object. */
  get ours(): readonly string[] {
    return this.directory.list().flatMap(({ id, body }) => (isMarked(body) ? [id] : []));
  }

  /** Makes an application of the runtime's name, as somebody else would. */
  makeNamesake(description: string): string {
    return this.directory.create(runtime, { description }).id;
  }

  deleteObject(): void {
    this.#isTouched = true;
    this.#controlPlane.handle({ method: "DELETE", path: `/apis/operator.kyma-project.io/v1alpha1/namespaces/${system}/eventingauths/${runtime}` });
  }

  deleteSecret(): void {
    this.#isTouched = true;
    this.#target.handle({ method: "DELETE", path: `/api/v1/namespaces/${place.namespace}/secrets/${place.name}` });
  }

  /** Lets the operator work until nothing is due for minutes, a crash and failures in between. */
  async settle(): Promise<void> {
    let failures = 0;
    for (let runs = 0; runs < 60; runs++) {
      this.#isTouched = false;
      const outcome = await this.#complete(this.run(this.#memory));
      this.check();
      if (this.released) return;
      if (outcome === "crashed") {
        [this.#memory, this.#isDead] = [nothing(), false];
        continue;
      }
      if (outcome === "failed") {
        await this.pass(Math.min(1_000 * 2 ** failures++, minuteMs));
        continue;
      }
      failures = 0;
      if (this.#isTouched) continue;
      if (outcome > minuteMs) return;
      await this.pass(Math.max(outcome, 10));
    }
    throw new BrokenPromise("there is no end to it");
  }

  /** Stops whoever leads where it is, while another one takes over; it goes on when that one has done everything. */
  async #standStill(): Promise<void> {
    this.#term.isOver = true;
    [this.#term, this.#memory, this.#providers] = [{ isOver: false }, nothing(), this.#open()];
    const untilMs = this.clock.monotonic() + 3 * minuteMs;
    while (this.clock.monotonic() < untilMs && !this.released) {
      const waitMs = await this.run(this.#memory).catch(() => 10_000);
      this.check();
      await sleep(this.clock, Math.min(Math.max(waitMs, 10), minuteMs));
    }
  }

  /** Lets time go by. */
  async pass(byMs: number): Promise<void> {
    await this.clock.advance(byMs);
    this.check();
  }

  /** What holds at every moment. */
  check(): void {
    const nowMs = this.clock.monotonic();
    if (this.ours.length <= 1) this.#doubledSinceMs = undefined;
    else this.#doubledSinceMs ??= nowMs;
    if (this.#doubledSinceMs !== undefined && nowMs - this.#doubledSinceMs > minuteMs)
      throw new BrokenPromise("two applications for more than a minute");
    const [first = -Infinity, ...others] = this.tenant.creations;
    let last = first;
    for (const atMs of others) {
      // Annotations have whole milliseconds.
      if (atMs - last < minuteMs - 1) throw new BrokenPromise("two creations within a minute");
      last = atMs;
    }
    if (!this.directory.get(this.foreign)) throw new BrokenPromise("somebody else's application is gone");
    if (this.directory.get(this.foreign)?.secrets.length) throw new BrokenPromise("somebody else's application has a secret");
    if (this.released && this.ours.length > 0) throw new BrokenPromise("the object is gone and its application is not");
  }

  /** What holds once nothing happens any more. */
  checkWhole(): void {
    const [id, ...others] = this.ours;
    if (id === undefined || others.length > 0) throw new BrokenPromise(`${this.ours.length} applications`);
    const credentials = this.secret && credentialsIn(this.secret);
    if (!credentials || !this.directory.accepts(credentials.clientId, credentials.clientSecret, this.clock.now())) {
      throw new BrokenPromise("the credentials in the cluster do not work");
    }
    if (this.object?.status?.state !== "Ready") throw new BrokenPromise(`not ready: ${JSON.stringify(this.object?.status)}`);
  }

  checkGone(): void {
    if (!this.released || this.object) throw new BrokenPromise("the object is still there");
    if (this.ours.length > 0) throw new BrokenPromise("an application is left");
    if (this.secret) throw new BrokenPromise("a Secret is left");
  }

  /** One run, as the engine does it: how long until the next is due. Rejects with what failed. */
  async run(memory: Memory): Promise<number> {
    const object = this.object;
    if (!object) {
      this.released = true;
      return Infinity;
    }
    const provider = this.#providers.forSecret(credentials);
    const startedMs = this.clock.now();
    const context = this.#context(object, memory);
    let observation = this.#observe(object, memory);
    for (let rounds = 0; rounds < 32; rounds++) {
      const seen = this.#mistake.observed?.(observation) ?? observation;
      const plan: IssuingPlan = planIssuing({ observation: seen, idleUntilMs: undefined, checkAfterMs: 3_600_000 }, { nowMs: this.clock.now() });
      for (const step of plan.steps) {
        const at = { ...context, provider, nowMs: this.clock.now() };
        if (step.verb === "look") observation = await carryOutLook(step.at, observation, at);
        if (step.verb === "do") observation = await carryOutAct(step.action, observation, at);
      }
      if (plan.more) continue;
      const client = context.run.client;
      if (plan.release) {
        await client.mergePatch(EventingAuth, name, { metadata: { finalizers: null } });
        this.released = true;
        return Infinity;
      }
      if (plan.end?.report)
        await client.mergePatch(EventingAuth, name, { status: statusOf(plan.end.report, observation.object, startedMs) }, { subresource: "status" });
      return (plan.nextAtMs ?? Infinity) - this.clock.now();
    }
    throw new BrokenPromise("32 steps in a run");
  }

  #observe(object: Stored<EventingAuth>, { askedAt, unheardAt }: Memory): Observation {
    const { secret } = this;
    const askedAtMs = askedAt.get(object.metadata.uid);
    const unheardAtMs = unheardAt.get(object.metadata.uid);
    return {
      object,
      target: { type: "observed", secret: secret && keepTargetSecret(secret) },
      provider: { type: "open", url: "http://tenant", secretsOverlap: true, keepsGrants: false, replaces: false },
      tenant: {},
      ...(askedAtMs !== undefined && { askedAtMs }),
      ...(unheardAtMs !== undefined && { unheardAtMs }),
      settings: {
        targetSecret: place,
        rotateAfterMs: 86_400_000,
        overlapMs: 600_000,
        checkCredentials: true,
        deletionPatienceMs: 3_600_000,
        shownWithinMs: minuteMs,
      },
    };
  }

  #context({ metadata }: Stored<EventingAuth>, { askedAt, unheardAt }: Memory): Omit<StepContext, "provider" | "nowMs"> {
    const { signal } = new AbortController();
    const permit = this.#permit(signal);
    const options = { clock: this.clock, sender: { flow: "", permit } };
    const client = createClient(this.#transportTo(this.#controlPlane, "control plane"), options);
    return {
      run: { key: `${system}/${runtime}`, signal, client, permit, log, now: this.clock.now(), failures: 0, done: () => {} },
      controller: "eventing-auth",
      target: { client: createClient(this.#transportTo(this.#target, "target"), options), wrote: () => {} },
      shared: {
        grants: { read: () => Promise.resolve(undefined), keep: () => Promise.resolve(), forget: () => Promise.resolve() },
        hasAsked: false,
        firstSecret: undefined,
      },
      record: () => {},
      onWritten: () => {},
      onIssued: () => {},
      onAsked: (atMs) => void (atMs === undefined ? askedAt.delete(metadata.uid) : askedAt.set(metadata.uid, atMs)),
      onUnheard: (atMs) => void unheardAt.set(metadata.uid, atMs),
      lookForOthers: () => Promise.resolve({ asked: 0, missing: 0 }),
    };
  }

  #permit(signal: AbortSignal): SendPermit {
    const term = this.#term;
    const check = (): void => {
      if (term.isOver && !this.#mistake.ignoresTerm) throw new Error("another one leads");
    };
    return { signal, check };
  }

  /** Requests to an API server are points too, where they write. */
  #transportTo(server: SimulatedApiServer, which: string): Transport {
    return {
      send: async (request): Promise<TransportResponse> => {
        if (this.#isDead) throw new Crash();
        const arrive = (): TransportResponse => {
          const isSwallowed = this.#mistake.swallows?.(request.body ?? "") === true;
          const answer = server.handle(isSwallowed ? { method: "GET", path: request.path.split("?", 1)[0] ?? "" } : request);
          if (answer.type !== "answer") throw new Error("nobody watches here");
          return response(answer.status, answer.body);
        };
        return request.method === "GET" ? arrive() : this.tenant.through(`${request.method} ${which}`, arrive, request.permit);
      },
      close: () => {},
    };
  }

  #read<T extends KubeObject>(_kind: Kind<T>, server: SimulatedApiServer, path: string): Stored<T> | undefined {
    const answer = server.handle({ method: "GET", path });
    return answer.type === "answer" && answer.status === 200 ? (JSON.parse(answer.body) as Stored<T>) : undefined;
  }

  /** Drives virtual time until the run is over. */
  async #complete(run: Promise<number>): Promise<number | "failed" | "crashed"> {
    const end: { outcome?: number | "failed" | "crashed"; broken?: BrokenPromise } = {};
    run.then(
      (waitMs) => (end.outcome = waitMs),
      (error: unknown) => {
        if (error instanceof BrokenPromise) end.broken = error;
        end.outcome = this.#isDead ? "crashed" : "failed";
      },
    );
    for (let turns = 0; turns < 10_000; turns++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (end.broken) throw end.broken;
      if (end.outcome !== undefined) return end.outcome;
      if (this.clock.nextTimerInMs !== undefined) await this.clock.advance(this.clock.nextTimerInMs);
    }
    throw new BrokenPromise("a run waits for nothing");
  }
}

const encode = (text: string): string => Buffer.from(text).toString("base64");
const credentials = { url: encode("http://tenant"), username: encode("ias-admin"), password: encode("ias-admin-password") };
