// The clusters of all runtimes: opened once, opened anew when their kubeconfig changes, closed when nobody asks for them.
import { Buffer } from "node:buffer";
import { type Client, createClient, createLogger, type Transport } from "@keyturn/runtime";
import { createAuthority, VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { readSettings } from "./settings.ts";
import { TargetPool } from "./target-pool.ts";

const authority = Buffer.from(createAuthority("pool").certificate).toString("base64");
const kubeconfig = (user: object) =>
  JSON.stringify({
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "c" } }],
    clusters: [{ name: "c", cluster: { server: "https://runtime.example", "certificate-authority-data": authority } }],
    users: [{ name: "c", user }],
  });

/** A control plane in which every Secret holds this kubeconfig. */
function controlPlane(text: string | undefined): Client {
  const metadata = { namespace: "kcp-system", name: "kubeconfig-a", uid: "u", resourceVersion: "1" };
  const secret = { apiVersion: "v1", kind: "Secret", metadata, data: text === undefined ? {} : { config: Buffer.from(text).toString("base64") } };
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(JSON.stringify(secret));
  }
  return createClient({ send: () => Promise.resolve({ status: 200, headers: { "content-type": "application/json" }, body: body() }), close() {} });
}

function open() {
  const clock = new VirtualClock();
  const closed: string[] = [];
  const silent = (): Transport => ({ send: () => new Promise(() => {}), close: () => void closed.push("closed") });
  const settings = readSettings((flag) => flag.parse(undefined));
  const pool = new TargetPool({ settings, clock, random: () => 0, log: createLogger({ level: "silent" }), onChange() {}, openTransport: silent });
  return { clock, closed, pool };
}

test("the same kubeconfig gives the same connection, a changed one another, and the old one is closed", async () => {
  const { pool, closed } = open();
  const client = controlPlane(kubeconfig({ token: "t" }));
  const first = await pool.open("a", "digest-1", client);
  expect(first.type).toBe("open");
  expect(await pool.open("a", "digest-1", client)).toBe(first);
  expect(await pool.open("a", "digest-2", client)).not.toBe(first);
  expect(closed).toHaveLength(1);
  expect(pool.size).toBe(1);
});

test("a kubeconfig that is missing, broken or wants too much opens nothing, and says why", async () => {
  const { pool } = open();
  expect(await pool.open("a", "1", controlPlane(undefined))).toMatchObject({ type: "refused", trouble: { reason: "KubeconfigRefused" } });
  expect(await pool.open("a", "2", controlPlane("{"))).toMatchObject({ type: "refused", trouble: { reason: "KubeconfigRefused" } });
  const refused = await pool.open("a", "3", controlPlane(kubeconfig({ tokenFile: "/etc/passwd" })));
  expect(refused).toMatchObject({
    trouble: { message: expect.stringContaining("in Secret kcp-system/kubeconfig-a is refused: tokenFile") as string },
  });
});

test("what nobody asks for is closed, and so is everything at the end", async () => {
  const { pool, clock, closed } = open();
  const client = controlPlane(kubeconfig({ token: "t" }));
  await pool.open("a", "1", client);
  await pool.open("b", "1", client);
  await clock.advance(10_000);
  await pool.open("b", "1", client);
  pool.closeUnused(5_000);
  expect([pool.size, closed.length]).toEqual([1, 1]);
  pool.closeAll();
  expect([pool.size, closed.length]).toEqual([0, 2]);
});
