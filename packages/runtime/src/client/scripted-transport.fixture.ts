// For tests: a transport that answers from a script and keeps what it was asked.
import type { Transport, TransportRequest, TransportResponse } from "./transport.ts";

/** What a scripted transport answers: a status with a body (an object becomes JSON), or an error to reject with. */
export type ScriptedAnswer = { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> } | Error;

/** Answers each request with the next of `answers`; the last one for ever. */
export function scriptedTransport(...answers: readonly ScriptedAnswer[]): Transport & { readonly requests: readonly TransportRequest[] } {
  const requests: TransportRequest[] = [];
  return {
    requests,
    async send(request) {
      const answer = answers[Math.min(requests.length, answers.length - 1)];
      requests.push(request);
      if (!answer) throw new Error("the script is empty");
      if (answer instanceof Error) throw answer;
      return respond(answer);
    },
    close: () => undefined,
  };
}

function respond({ status, body = "", headers = {} }: Exclude<ScriptedAnswer, Error>): TransportResponse {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const type = typeof body === "string" ? "text/html" : "application/json";
  const bytes = Buffer.from(text);
  const half = Math.floor(bytes.length / 2);
  return {
    status,
    headers: { "content-type": type, ...headers },
    // In two pieces, so that characters of several bytes may be cut.
    body: (async function* () {
      yield bytes.subarray(0, half);
      yield bytes.subarray(half);
    })(),
  };
}
