// What new pods would get, asked once per question and kept until the configuration changes or a restart depends on it.
import { type Clock, LruMap, type Timer } from "@keyturn/runtime";
import { limits } from "../../limits.ts";
import type { Expectation } from "./injection/expectation.ts";

/** What is known about one question. */
export interface Answer {
  readonly expectation: Expectation | { readonly type: "pending" };
  /** When to look again: what failed, or was refused, is asked again then. Undefined if the asker will be called. */
  readonly againInMs: number | undefined;
}

interface Question {
  expectation: Answer["expectation"];
  asking: boolean;
  /** Who is called when there is an answer. */
  readonly waiting: Set<string>;
  failures: number;
  /** On the monotonic clock: when it may be asked again. */
  againMs: number;
}

const firstRetryMs = 5000;
const maxRetryMs = 300_000;
/** Making a pod and its question takes up to a millisecond; other things get their turn in between. */
const questionsPerTurn = 4;

/**
 * Keeps answers by their key. Asking never waits: whoever asks is called later, by `onAnswer`, when there is an answer. So a webhook that is slow holds no
 * worker, and one call serves everybody with the same question. What failed or was refused is asked again after 5 s, 10 s … 5 min.
 */
export class Expectations {
  #questions = new LruMap<string, Question>(limits.keptInjections);
  readonly #asked = new Set<Promise<void>>();
  readonly #line: (() => void)[] = [];
  #turnTimer: Timer | undefined;
  readonly #clock: Clock;
  readonly #onAnswer: (asker: string) => void;

  /** `onAnswer` gets the name of each asker who should look again. */
  constructor({ clock, onAnswer }: { readonly clock: Clock; readonly onAnswer: (asker: string) => void }) {
    this.#clock = clock;
    this.#onAnswer = onAnswer;
  }

  /** What is known. If there is no answer, or it is time to try again, `ask` is called, unless that is under way. */
  get(key: string, asker: string, ask: () => Promise<Expectation>): Answer {
    const question = this.#question(key);
    const { type } = question.expectation;
    if (type === "known" || type === "undecidable") return { expectation: question.expectation, againInMs: undefined };
    const nowMs = this.#clock.monotonic();
    if (!question.asking && question.againMs > nowMs) return { expectation: question.expectation, againInMs: question.againMs - nowMs };
    question.waiting.add(asker);
    if (!question.asking) {
      question.asking = true;
      const asked = this.#turn()
        .then(async () => void (await this.#ask(question, ask)))
        .finally(() => this.#asked.delete(asked));
      this.#asked.add(asked);
    }
    return { expectation: question.expectation, againInMs: undefined };
  }

  /** Asks now, whatever is known. Resolves to the answer, which is kept; never rejects. */
  renew(key: string, asker: string, ask: () => Promise<Expectation>): Promise<Expectation> {
    const question = this.#question(key);
    question.waiting.add(asker);
    return this.#ask(question, ask);
  }

  /** Forgets what this webhook has said, because it no longer answers: none of that is to be acted upon until it is asked again. `askers` are called. */
  doubt(webhook: string, askers: readonly string[]): void {
    for (const [key, { expectation }] of this.#questions.entries()) {
      if (expectation.type === "known" && expectation.webhooks.includes(webhook)) this.#questions.delete(key);
    }
    for (const asker of askers) this.#onAnswer(asker);
  }

  /** Resolves when nothing is being asked. */
  async answered(): Promise<void> {
    while (this.#asked.size > 0) await Promise.all(this.#asked);
  }

  /** Forgets everything. What is under way is still answered, and asked again. */
  clear(): void {
    this.#questions = new LruMap(limits.keptInjections);
  }

  #question(key: string): Question {
    const question = this.#questions.get(key) ?? { expectation: { type: "pending" }, asking: false, waiting: new Set(), failures: 0, againMs: 0 };
    this.#questions.set(key, question);
    return question;
  }

  /** Resolves when the next question may be put. */
  #turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#line.push(resolve);
      this.#startTurn();
    });
  }

  #startTurn(): void {
    if (this.#turnTimer || this.#line.length === 0) return;
    this.#turnTimer = this.#clock.setTimer(0, () => {
      this.#turnTimer = undefined;
      for (const begin of this.#line.splice(0, questionsPerTurn)) begin();
      this.#startTurn();
    });
  }

  async #ask(question: Question, ask: () => Promise<Expectation>): Promise<Expectation> {
    const expectation = await ask().catch((error: unknown): Expectation => {
      return { type: "failed", webhook: "", message: error instanceof Error ? error.message : String(error) };
    });
    question.expectation = expectation;
    question.asking = false;
    const isFailed = expectation.type === "failed" || expectation.type === "refused";
    question.againMs = this.#clock.monotonic() + Math.min(firstRetryMs * 2 ** question.failures, maxRetryMs);
    question.failures = isFailed ? question.failures + 1 : 0;
    const askers = Array.from(question.waiting);
    question.waiting.clear();
    for (const asker of askers) this.#onAnswer(asker);
    return expectation;
  }
}
