// What people are told when there is no talking to the API server, and how soon.
import { ConnectionError, type Transport, type TransportRequest } from "@keyturn/runtime";
import { expect, it } from "vitest";
import { impatientTransport } from "./plain-errors.ts";

/** What a failure of the transport becomes; it takes as long as it says. */
async function failing(
  request: Partial<TransportRequest>,
  failure: { readonly cause?: unknown; readonly message?: string; readonly tookMs?: number },
) {
  let nowMs = 0;
  let sent: TransportRequest | undefined;
  const transport: Transport = {
    send(each) {
      sent = each;
      nowMs += failure.tookMs ?? 1;
      return Promise.reject(new ConnectionError(failure.message ?? "broke off", { cause: failure.cause }));
    },
    close: () => {},
  };
  const quick = impatientTransport(transport, { server: "https://api:6443", now: () => nowMs });
  const error = await quick.send({ method: "GET", path: "/version", ...request }).catch((error: unknown) => error);
  return { error, timeoutMs: sent?.timeoutMs };
}

const withCode = (code: string): Error => Object.assign(new Error(`some call ${code}`), { code });

it.each([
  ["ECONNREFUSED", "connection refused"],
  ["ENOTFOUND", "the host name cannot be resolved"],
  ["EHOSTUNREACH", "no route to the host"],
  ["ECONNRESET", "the connection was reset"],
])("%s is said in words", async (code, words) => {
  const said = expect.objectContaining({
    message: `cannot reach the API server at https://api:6443: ${words}; check that it is running, and that --kubeconfig and --context name the right cluster`,
  });
  expect((await failing({}, { cause: withCode(code) })).error).toEqual(said);
  // As of a name with two addresses.
  const both = new AggregateError([withCode(code), withCode(code)]);
  expect((await failing({}, { cause: new Error("tried", { cause: both }) })).error).toEqual(said);
});

it("what has no code is said as the innermost error says it", async () => {
  const { error } = await failing({}, { message: "GET /version at https://api:6443: self-signed", cause: new Error("self-signed certificate") });
  expect(error).toMatchObject({ what: "self-signed certificate" });
});

it("a server that is silent is given up after ten seconds, or sooner where less was asked for", async () => {
  expect(await failing({}, { tookMs: 10_000 })).toEqual({ timeoutMs: 10_000, error: expect.objectContaining({ what: "no answer within 10 s" }) });
  expect(await failing({ timeoutMs: 30_000 }, {})).toMatchObject({ timeoutMs: 10_000 });
  expect(await failing({ timeoutMs: 2000 }, { tookMs: 2000 })).toMatchObject({ timeoutMs: 2000, error: { what: "no answer within 2 s" } });
});

it("a watch keeps its own time and its own errors, because it goes on", async () => {
  const { error, timeoutMs } = await failing({ lane: "watch" }, { cause: withCode("ECONNREFUSED") });
  expect(error).toBeInstanceOf(ConnectionError);
  expect(timeoutMs).toBeUndefined();
});
