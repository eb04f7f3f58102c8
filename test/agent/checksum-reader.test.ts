// An agent reads the ids of a checksum once, however often the operator writes its status.
import {
  createCaches,
  createClient,
  createHttpTransport,
  createLogger,
  loadConfig,
  systemClock,
  systemRandom,
  type Transport,
} from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, onTestFinished, test } from "vitest";
import { ChecksumReader } from "../../packages/keyturn/src/agent/checksum-reader.ts";
import { checkSumObject } from "../../packages/keyturn/src/controllers/checksum/check-sum-object.ts";
import { checksumObserver } from "../../packages/keyturn/src/controllers/checksum/difference.ts";
import { checksumOf } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { SecretCheckSum, verifiedNamespace } from "../checksum/verified-namespace.ts";

const cluster = useSharedCluster();

test("a status that is written again and again costs an agent a few hundred bytes each time", async () => {
  await using place = await verifiedNamespace(cluster(), "reader");
  const { namespace } = place;
  const inner = createHttpTransport(await loadConfig({ kubeconfig: cluster().adminKubeconfig, env: {} }));
  const reads: string[] = [];
  let bytes = 0;
  const transport: Transport = {
    async send(request, signal) {
      if (request.path.includes("/secretchecksums/")) reads.push(request.path);
      const response = await inner.send(request, signal);
      const counted = async function* (): AsyncGenerator<Uint8Array> {
        for await (const chunk of response.body) {
          bytes += chunk.length;
          yield chunk;
        }
      };
      return { ...response, body: counted() };
    },
    close: () => inner.close(),
  };
  const log = createLogger({ level: "error", destination: { write: () => undefined } });
  const caches = createCaches({ transport, clock: systemClock, random: systemRandom, log });
  const stop = new AbortController();
  onTestFinished(() => {
    stop.abort();
    inner.close();
  });
  const client = createClient(transport);
  const source = { caches, client, clock: systemClock, namespace, observe: checksumObserver(undefined) };
  const reader = new ChecksumReader(source, () => undefined, stop.signal);
  caches.start(stop.signal);
  await soon(() => expect(reader.now()).toEqual([]));

  const ids = Array.from({ length: 20_000 }, (_, index) => `${100_000 + index}-1-0123456789abcdef0123456789abcdef01234567`);
  const object = checkSumObject({ ids, checksum: checksumOf(ids), sha256: undefined }, { namespace, prefix: "secret", timestampMs: 0 });
  const { metadata } = await cluster().client.create(SecretCheckSum, object);
  await soon(() => expect(reader.now()).toMatchObject([{ name: metadata.name, checksum: checksumOf(ids) }]));
  const before = bytes;
  const seen = new Set<string>();
  for (let problemCount = 1; problemCount <= 10; problemCount++) {
    const status = { metadata: { name: metadata.name, namespace }, status: { problemCount } };
    await cluster().client.mergePatch(SecretCheckSum, { namespace, name: metadata.name }, status, { subresource: "status" });
    await soon(() => {
      const version = reader.cache.identity(`${namespace}/${metadata.name}`)?.resourceVersion ?? "";
      expect(seen).not.toContain(version);
      seen.add(version);
    });
  }
  expect(reads).toHaveLength(1);
  expect((bytes - before) / 10).toBeLessThan(5000);
});
