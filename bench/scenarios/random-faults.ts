// Lets a share of all requests fail, in the ways in which an API server and a network fail.
import type { Random } from "@keyturn/runtime";
import { answerWith, CutConnection, type Fault } from "@keyturn/runtime/testing";

const serverError = answerWith({ status: 500 });
const tooMany = answerWith({ status: 429, retryAfterSeconds: 1 });
const failures: readonly Fault["intervene"][] = [
  (request, next) => serverError.intervene(request, next),
  (request, next) => tooMany.intervene(request, next),
  () => Promise.reject(new CutConnection()),
  // The request is served, and only its answer is lost.
  async (request, next) => {
    const { body } = await next(request);
    await Array.fromAsync(body);
    throw new CutConnection();
  },
];

/**
 * A fault that lets `share` of the requests fail, all ways equally often: answered with 500, with 429 and `Retry-After: 1`, reset before the API server gets them,
 * reset after it has served them. The n-th request has the same fate with the same `random`.
 */
export function randomFaults(random: Random, share: number): Fault {
  return {
    on: {},
    intervene(request, next) {
      const drawn = random();
      const failure = drawn < share ? failures[Math.floor((drawn / share) * failures.length)] : undefined;
      // A watch has no end to wait for: one that fails is not begun.
      return failure && !(request.isWatch && failure === failures.at(-1)) ? failure(request, next) : next(request);
    },
  };
}
