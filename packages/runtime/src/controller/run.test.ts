// Which writes are recorded, and which are not.
import { expect, it } from "vitest";
import { ConfigMap } from "../client/builtin-kinds.ts";
import { createClient } from "../client/kube-client.ts";
import { scriptedTransport, type ScriptedAnswer } from "../client/scripted-transport.fixture.ts";
import { trackAnswers, type WriteRecord } from "./run.ts";
import type { Answer, Client, CreateOptions } from "../client/client.ts";

const name = { namespace: "a", name: "b" };
const metadata = { ...name, uid: "u", resourceVersion: "7", labels: { l: "1" } };
const written = { type: "written", kind: ConfigMap, key: "a/b", uid: "u", resourceVersion: "7", labels: { l: "1" } };

async function recordsOf(act: (client: Client) => Promise<unknown>, answer: ScriptedAnswer): Promise<readonly WriteRecord[]> {
  const records: WriteRecord[] = [];
  const client = trackAnswers(createClient(scriptedTransport(answer)), (record) => records.push(record));
  await act(client).catch(() => undefined);
  return records;
}

const writes: ((client: Client, dryRun: boolean) => Promise<unknown>)[] = [
  (client, dryRun) => client.create(ConfigMap, { metadata: name }, { dryRun }),
  (client, dryRun) => client.replace(ConfigMap, { metadata: name }, { dryRun }),
  (client, dryRun) => client.apply(ConfigMap, { metadata: name }, { fieldManager: "me", dryRun }),
  (client, dryRun) => client.jsonPatch(ConfigMap, name, [], { dryRun }),
  (client, dryRun) => client.mergePatch(ConfigMap, name, {}, { dryRun }),
];

it("records what was stored, and neither dry runs nor failures", async () => {
  for (const write of writes) {
    expect(await recordsOf((client) => write(client, false), { status: 200, body: { metadata } })).toMatchObject([written]);
    expect(await recordsOf((client) => write(client, true), { status: 200, body: { metadata } })).toEqual([]);
    expect(await recordsOf((client) => write(client, false), { status: 409, body: { kind: "Status" } })).toEqual([]);
  }
});

it("records a delete as such, or as a write where the object waits for finalizers", async () => {
  const gone = { status: 200, body: { kind: "Status", status: "Success" } };
  const waiting = { status: 200, body: { metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["x/y"] } } };
  expect(await recordsOf((client) => client.delete(ConfigMap, name, { uid: "u" }), gone)).toEqual([
    { type: "deleted", kind: ConfigMap, key: "a/b", uid: "u" },
  ]);
  expect(await recordsOf((client) => client.delete(ConfigMap, name), waiting)).toMatchObject([written]);
  for (const answer of [gone, waiting]) expect(await recordsOf((client) => client.delete(ConfigMap, name, { dryRun: true }), answer)).toEqual([]);
});

it("records as deleted what goes with its last finalizer", async () => {
  const last = { status: 200, body: { metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 } } };
  const records = await recordsOf((client) => client.mergePatch(ConfigMap, name, { metadata: { finalizers: null } }), last);
  expect(records).toEqual([{ type: "deleted", kind: ConfigMap, key: "a/b", uid: "u" }]);
});

it("records what a read found, and nothing where it found nothing", async () => {
  expect(await recordsOf((client) => client.get(ConfigMap, name), { status: 200, body: { metadata } })).toMatchObject([written]);
  const missing = { status: 404, body: { kind: "Status", details: { name: "b" } } };
  expect(await recordsOf((client) => client.get(ConfigMap, name), missing)).toEqual([]);
});

it("records the object as it is after the write, if the answer is whole", async () => {
  const whole = { status: 200, body: { metadata, data: { k: "v" } } };
  const short = { status: 200, body: { kind: "PartialObjectMetadata", metadata } };
  const contentOf = async (answer: ScriptedAnswer, options: CreateOptions<Answer>, answersWhole = false): Promise<unknown> => {
    const transport = scriptedTransport(answer);
    const sender = { flow: "test", answersWhole: () => answersWhole };
    const records: WriteRecord[] = [];
    const client = trackAnswers(createClient(transport, { sender }), (record) => records.push(record), sender.answersWhole);
    await client.create(ConfigMap, { metadata: name, data: { k: "sent" } }, options);
    const [record] = records;
    return [transport.requests[0]?.headers?.["accept"]?.includes("PartialObjectMetadata") ?? false, record?.type === "written" && record.content];
  };
  expect(await contentOf(whole, {})).toMatchObject([false, { data: { k: "v" } }]);
  expect(await contentOf(short, { answer: "metadata" })).toEqual([true, undefined]);
  expect(await contentOf(whole, { answer: "metadata" }, true)).toMatchObject([false, { data: { k: "v" } }]);
});
