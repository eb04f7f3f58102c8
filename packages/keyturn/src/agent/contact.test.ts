// The API server answers, refuses, or is silent: the agent knows which, within seconds.
import { createClient, type Transport } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, onTestFinished, test } from "vitest";
import { Contact, freshMs } from "./contact.ts";

/** Asks a server whose answers have this status; `undefined`: it is silent. */
function contactWith(world: { status: number | undefined }) {
  const clock = new VirtualClock();
  const paths: string[] = [];
  const transport: Transport = {
    send({ path }, signal) {
      paths.push(path);
      const { status } = world;
      if (status === undefined) return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
      const body = Buffer.from(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", reason: "", code: status }));
      const chunks = async function* (): AsyncGenerator<Uint8Array> {
        yield body;
      };
      return Promise.resolve({ status, headers: { "content-type": "application/json" }, body: chunks() });
    },
    close: () => undefined,
  };
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  let changes = 0;
  const contact = new Contact({ client: createClient(transport, { clock }), clock, namespace: "shop" }, () => changes++, stop.signal);
  return { clock, contact, paths, changes: () => changes };
}

test("an answer is heard, also one that there is no such checksum", async () => {
  const { clock, contact, paths, changes } = contactWith({ status: 404 });
  await clock.advance(60_000);
  expect(clock.monotonic() - (contact.heardMs ?? 0)).toBeLessThanOrEqual(freshMs);
  expect({ trouble: contact.trouble, changes: changes(), questions: paths.length }).toEqual({ trouble: undefined, changes: 0, questions: 7 });
  expect(new Set(paths)).toEqual(new Set(["/apis/tengine.taobao.org/v1/namespaces/shop/secretchecksums/contact"]));
});

test.each([
  ["is silent", undefined, "nothing came within 5000 ms"],
  ["cannot ask etcd", 500, "does not answer"],
  ["refuses", 403, "does not answer"],
] as const)("a server that %s has not answered, and when it does again that is known", async (_, status, said) => {
  const world: { status: number | undefined } = { status: 404 };
  const { clock, contact, changes } = contactWith(world);
  await clock.advance(1000);
  world.status = status;
  await clock.advance(freshMs);
  expect(contact.trouble).toContain(said);
  expect(contact.heardMs).toBe(0);
  world.status = 404;
  await clock.advance(freshMs);
  expect({ trouble: contact.trouble, changes: changes() }).toEqual({ trouble: undefined, changes: 2 });
});
