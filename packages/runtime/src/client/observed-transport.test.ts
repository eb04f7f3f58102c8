// Every request is recorded once.
import { expect, it, test } from "vitest";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { observeServerClock, observeTransport, observeWarnings, type RequestObservation, type ServerClock } from "./observed-transport.ts";
import { scriptedTransport } from "./scripted-transport.fixture.ts";
import { ConnectionError, type Transport } from "./transport.ts";

it("reports answers and failures, with what they were about and how long they took", async () => {
  const clock = new VirtualClock();
  const seen: RequestObservation[] = [];
  const scripted = scriptedTransport({ status: 200 }, { status: 409 }, new ConnectionError("reset"));
  const slow = {
    ...scripted,
    async send(...args: Parameters<typeof scripted.send>) {
      await clock.advance(5);
      return scripted.send(...args);
    },
  };
  const transport = observeTransport(slow, { clock, onRequest: (request) => seen.push(request) });
  await transport.send({ method: "GET", path: "/api/v1/secrets?watch=1" });
  await transport.send({ method: "PATCH", path: "/apis/apps/v1/namespaces/a/deployments/b" });
  await expect(transport.send({ method: "GET", path: "/readyz" })).rejects.toThrow("reset");
  expect(seen).toEqual([
    { method: "GET", resource: "secrets", verb: "watch", status: 200, durationMs: 5 },
    { method: "PATCH", resource: "deployments.apps", verb: "patch", status: 409, durationMs: 5 },
    { method: "GET", resource: "", verb: "get", status: undefined, durationMs: 5 },
  ]);
});

// The server's clock as its answers show it.

const midnightMs = Date.parse("2026-01-01T00:00:00Z");

/** Asks once: the answer carries `date`, and our clock shows `ourMs` after midnight. */
async function asked(date: string | undefined, ourMs: number): Promise<ServerClock> {
  const clock = new VirtualClock(midnightMs + ourMs);
  const wire: Transport = {
    send: async () => ({ status: 200, headers: date === undefined ? {} : { date }, body: (async function* () {})() }),
    close: () => {},
  };
  const { transport, serverClock } = observeServerClock(wire, clock);
  await transport.send({ method: "GET", path: "/version" });
  return serverClock;
}

const atMidnight = "Thu, 01 Jan 2026 00:00:00 GMT";

test("clocks that agree within the second of the header show no difference", async () => {
  expect((await asked(atMidnight, 0)).aheadMs()).toBe(0);
  expect((await asked(atMidnight, 999)).aheadMs()).toBe(0);
});

test("a server that is ahead or behind is seen as such", async () => {
  expect((await asked(atMidnight, -40_000)).aheadMs()).toBe(40_000);
  expect((await asked(atMidnight, 41_000)).aheadMs()).toBe(-40_000);
});

test("without a readable header nothing is known", async () => {
  expect((await asked(undefined, 0)).aheadMs()).toBeUndefined();
  expect((await asked("yesterday", 0)).aheadMs()).toBeUndefined();
});

test("warnings are told once each, in the API server's own words only", async () => {
  const header = String.raw`299 - "unknown field \"spec.replica\"", 299 - "policy/v1beta1 PodSecurityPolicy is deprecated in v1.21+, unavailable in v1.25+", 299 - "you sent hunter2"`;
  const answer = { status: 200, headers: { warning: header } };
  const told: string[] = [];
  const transport = observeWarnings(scriptedTransport(answer, answer, { status: 200 }), ({ request, text }) => void told.push(`${request}: ${text}`));
  for (let index = 0; index < 3; index++) await transport.send({ method: "PATCH", path: "/apis/apps/v1/namespaces/shop/deployments/web?dryRun=All" });
  expect(told).toEqual([
    'patch deployments.apps: unknown field "spec.replica"',
    "patch deployments.apps: policy/v1beta1 PodSecurityPolicy is deprecated in v1.21+, unavailable in v1.25+",
    "patch deployments.apps: a policy or webhook warns, in words that are withheld, for they may quote a secret",
  ]);
});

test("a clock of ours that is set after the answer is seen at once", async () => {
  const virtual = new VirtualClock(midnightMs);
  let setByMs = 0;
  const clock = Object.assign(Object.create(virtual) as VirtualClock, { now: () => virtual.now() + setByMs, monotonic: () => virtual.monotonic() });
  const wire: Transport = { send: async () => ({ status: 200, headers: { date: atMidnight }, body: (async function* () {})() }), close: () => {} };
  const { transport, serverClock } = observeServerClock(wire, clock);
  await transport.send({ method: "GET", path: "/version" });
  setByMs = 31 * 86_400_000;
  expect(serverClock.aheadMs()).toBe(-setByMs);
  setByMs = 300;
  expect(serverClock.aheadMs()).toBe(0);
});
