// Whether the API server answers: a watch in which nothing happens does not tell for minutes.
import { type Client, type Clock, isApiError, messageOf, objectPath, sleep } from "@keyturn/runtime";
import { SecretCheckSum } from "../controllers/checksum/api.ts";

const askEveryMs = 10_000;
const timeoutMs = 5_000;

/** An answer this old is as good as a new one: the next question is not overdue yet. */
export const freshMs = askEveryMs + timeoutMs;

/** No checksum has this name. To say so, the API server has to ask etcd, and the answer is short. */
const nobody = "contact";

/** Asks the API server again and again. */
export class Contact {
  #heardMs: number | undefined;
  #trouble: string | undefined;

  /** Asks from now on, until the signal aborts; `onChange` is called when answers stop coming, or come again. */
  constructor(
    { client, clock, namespace }: { readonly client: Pick<Client, "request">; readonly clock: Clock; readonly namespace: string },
    onChange: () => void,
    signal: AbortSignal,
  ) {
    const path = objectPath(SecretCheckSum, { namespace, name: nobody });
    const ask = async (): Promise<string | undefined> => {
      const overdue = new AbortController();
      const timer = clock.setTimer(timeoutMs, () => overdue.abort(new Error(`nothing came within ${timeoutMs} ms`)));
      try {
        await client.request({ method: "GET", path }, AbortSignal.any([signal, overdue.signal]));
      } catch (error) {
        if (!isApiError(error, "NotFound")) return `the API server does not answer: ${messageOf(error)}`;
      } finally {
        timer.cancel();
      }
      this.#heardMs = clock.monotonic();
      return undefined;
    };
    const askAgainAndAgain = async (): Promise<void> => {
      while (!signal.aborted) {
        const trouble = await ask();
        const isNews = trouble !== this.#trouble && !signal.aborted;
        this.#trouble = trouble;
        if (isNews) onChange();
        await sleep(clock, askEveryMs, signal).catch(() => undefined);
      }
    };
    void askAgainAndAgain();
  }

  /** When it last answered, on the monotonic scale; undefined if it has not yet. */
  get heardMs(): number | undefined {
    return this.#heardMs;
  }

  /** Why it did not answer the last question; undefined if it did. */
  get trouble(): string | undefined {
    return this.#trouble;
  }
}
