// Kills an operator at a chosen point: before or after any request to the identity provider and any write to either API server.
import { readFile } from "node:fs/promises";
import { CutConnection, type Fault, type FaultProxy, type ProxiedRequest, type RunningOperator, startFaultProxy } from "@keyturn/runtime/testing";
import type { ClusterAccess } from "@keyturn/runtime/testing";
import type { Flags, IssuingPlace } from "./issuing-place.ts";

/** Leases are let through: a crashed leader's would only run out later. Events tell people, and nothing is decided from them. */
const counted = /\/(?:eventingauths|secrets)(?:[/?]|$)/;
const spared = /\/leases(?:[/?]|$)/;

/** An identity provider that tells of every request before and after its effect; if the listener throws, the connection ends. */
interface WatchedProvider {
  onStep(listener: (step: string, moment: "before" | "after", userAgent: string) => void): () => void;
}

interface Clusters {
  readonly controlPlane: ClusterAccess;
  readonly target: ClusterAccess;
}

/** Everything between an operator and its world goes past here. */
export class CrashPoints implements AsyncDisposable {
  readonly #place: IssuingPlace;
  readonly #proxies: readonly [controlPlane: FaultProxy, target: FaultProxy];
  readonly #stopListening: () => void;
  #isTurnOf: (point: string) => boolean = () => false;
  /** How often the operator has come to each point. */
  readonly #passed = new Map<string, number>();
  #dead = false;
  #crash = Promise.withResolvers<string>();

  private constructor(place: IssuingPlace, proxies: readonly [FaultProxy, FaultProxy], provider: WatchedProvider) {
    this.#place = place;
    this.#proxies = proxies;
    const [controlPlane, target] = proxies;
    controlPlane.inject(this.#faultOf("control plane"));
    target.inject(this.#faultOf("target"));
    // The test itself fetches tokens too, to see whether they are given.
    this.#stopListening = provider.onStep((step, moment, userAgent) => {
      if (userAgent === "keyturn") this.#pass(`${moment} ${step} at the identity provider`, true);
    });
  }

  /** Puts proxies in front of both clusters, and the way through them into the runtime's kubeconfig. */
  static async around(place: IssuingPlace, clusters: Clusters, provider: WatchedProvider): Promise<CrashPoints> {
    const proxies = [await startFaultProxy(clusters.controlPlane), await startFaultProxy(clusters.target)] as const;
    await place.putKubeconfig(await readFile(proxies[1].through(place.parts.targetKubeconfig), "utf8"));
    return new CrashPoints(place, proxies, provider);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopListening();
    for (const proxy of this.#proxies) await proxy[Symbol.asyncDispose]();
  }

  /** Starts an operator that sees the world through the proxies. */
  async startOperator(flags: Flags): Promise<RunningOperator> {
    return this.#place.startOperator({ flags, kubeconfig: this.#proxies[0].through(await this.#place.kubeconfig(flags)) });
  }

  /**
   * Nothing comes from or gets to the operator from the point on for which `isTurn` says so. Resolves to that point's name when that is.
   * What it is asked about is alike in all worlds: the point without the names of objects, and how often it was passed.
   */
  arm(isTurn: (point: string) => boolean): Promise<string> {
    this.#crash = Promise.withResolvers<string>();
    this.#passed.clear();
    this.#isTurnOf = isTurn;
    return this.#crash.promise;
  }

  /** Lets everything pass that comes from now on. */
  disarm(): void {
    this.#isTurnOf = () => false;
  }

  /** Ends the operator, which cannot leave a trace any more, and lets the world be reached again. */
  async bury(operator: RunningOperator): Promise<void> {
    this.disarm();
    await operator.stop();
    this.#dead = false;
  }

  #faultOf(server: string): Fault {
    return {
      on: {},
      intervene: async (request: ProxiedRequest, next) => {
        if (spared.test(request.path)) return next(request);
        const counts = request.isWrite && counted.test(request.path);
        const what = `${request.method} ${request.path.split("?", 1)[0]} at the ${server}`;
        this.#pass(`before ${what}`, counts);
        const response = await next(request);
        this.#pass(`after ${what}`, counts);
        return response;
      },
    };
  }

  #pass(point: string, counts: boolean): void {
    if (counts && !this.#dead && this.#isTurnOf(this.#inAnyWorld(point))) {
      this.#dead = true;
      this.#crash.resolve(point);
    }
    if (this.#dead) throw new CutConnection();
  }

  #inAnyWorld(point: string): string {
    const kind = point.replace(/ \/\S*\/(eventingauths|secrets)(?:\/[^/ ]+)?/, " $1");
    const times = (this.#passed.get(kind) ?? 0) + 1;
    this.#passed.set(kind, times);
    return `${kind} (${times})`;
  }
}
