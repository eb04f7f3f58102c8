// Plants secrets in everything that leaves the process, and then looks for them everywhere.
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { useSharedApiServer } from "@keyturn/runtime/testing/vitest";
import { ApiError } from "../../src/client/api-error.ts";
import { ConfigMap, Event } from "../../src/client/builtin-kinds.ts";
import { systemClock } from "../../src/clock.ts";
import { TransientError } from "../../src/controller/failure.ts";
import { setCondition } from "../../src/controller/status.ts";
import { errorFields } from "../../src/observe/redaction.ts";
import { startHealthServer, watchCheck } from "../../src/observe/health.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import { createLogger } from "../../src/observe/logger.ts";
import { SeriesEventRecorder } from "../../src/observe/events.ts";
import { systemRandom } from "../../src/random.ts";

const opaque = (): string => randomBytes(18).toString("base64url");
const password = opaque();
const bearer = opaque();
const clientSecret = opaque();
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const jwk = privateKey.export({ format: "jwk" });

const cluster = useSharedApiServer();
let token: string;
beforeAll(async () => {
  await cluster().apply([{ apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace: "default", name: "planted" } }]);
  token = await cluster().tokenFor({ namespace: "default", name: "planted" });
});

/** Every form in which a planted secret would be one. */
function planted(): readonly string[] {
  const parts = token.split(".");
  const keyLines = pem.split("\n").filter((line) => line !== "" && !line.startsWith("-----"));
  const base64 = [password, clientSecret, pem].map((secret) => Buffer.from(secret).toString("base64").slice(0, 24));
  return [password, bearer, clientSecret, jwk.d ?? "", ...parts, ...keyLines, ...base64];
}

/** Texts in which secrets really turn up. */
function sentences(): readonly string[] {
  const secret = {
    kind: "Secret",
    metadata: { name: "a" },
    data: { password: Buffer.from(password).toString("base64") },
    stringData: { plain: password },
  };
  return [
    `could not log in with Authorization: Bearer ${bearer}`,
    `POST https://idp.example/token?client_secret=${clientSecret}&x=1 failed`,
    `could not parse ${pem}`,
    `token ${token} has expired`,
    `postgres://admin:${password}@db/x refused`,
    `invalid body ${JSON.stringify(secret)}`,
    `invalid body ${JSON.stringify(JSON.stringify({ client_secret: clientSecret, jwk }))}`,
    `password=${password}`,
    `data ${Buffer.from(pem).toString("base64")} is no certificate`,
  ];
}

test("no planted secret is in logs, errors, Events, metrics, conditions or probes", async () => {
  const written: string[] = [];
  const destination = { write: (line: string) => written.push(line) };
  const metrics = createMetrics();
  const log = createLogger({ level: "debug", destination });
  const text = createLogger({ level: "debug", format: "text", destination });
  const recorder = new SeriesEventRecorder({
    client: cluster().client,
    clock: systemClock,
    random: systemRandom,
    log,
    metrics,
    reportingDomain: "keyturn.io",
    reportingInstance: "pod",
  });
  const errors: string[] = [];

  for (const [index, sentence] of sentences().entries()) {
    const cause = new ApiError("create secret default/a", 422, { message: sentence, details: { causes: [{ message: sentence }] } });
    const error = new TransientError(`could not go on: ${sentence}`, {
      reason: "Planted",
      cause: new AggregateError([cause, new Error(sentence)], sentence),
    });
    errors.push(JSON.stringify(errorFields(error)));
    for (const logger of [log, text]) {
      const child = logger.child({ note: sentence, headers: { authorization: `Bearer ${bearer}` } });
      child.info({ sentence, list: [sentence], deep: { deeper: { sentence } } }, sentence);
      child.error({ err: error }, `failed: ${sentence}`);
      child.warn(error, "failed");
    }
    const object = { namespace: "default", name: `planted-${index}` };
    recorder.forController("test").record({ kind: ConfigMap, object, type: "Warning", reason: "Planted", message: `${sentence}: ${error.message}` });
  }
  const secretObject = {
    metadata: { name: "a" },
    type: "Opaque",
    data: { password: Buffer.from(password).toString("base64"), "tls.key": Buffer.from(pem).toString("base64") },
  };
  for (const logger of [log, text]) {
    logger.info({ object: secretObject, items: [secretObject], jwk, password, token, clientSecret, bytes: Buffer.from(password) }, "objects");
    logger.info({ map: new Map([["client_secret", clientSecret]]), url: new URL(`https://u:${password}@h/`) }, "others");
  }
  await recorder.close(AbortSignal.timeout(300_000));

  const conditions = sentences().flatMap((message) => setCondition([], { type: "Ready", status: "False", reason: "Planted", message }, 0));
  const watches = sentences().map(
    (error) => ({ resource: "secrets", namespace: undefined, state: { type: "retrying", error }, synced: true, objects: 1, quietForMs: 1 }) as const,
  );
  const server = await startHealthServer({
    healthBindAddress: "127.0.0.1:0",
    metricsBindAddress: "127.0.0.1:0",
    liveness: [],
    readiness: [watchCheck(() => watches)],
    metrics,
    log,
  });
  const served = await Promise.all(
    ["readyz?verbose", "healthz?verbose", "metrics"].map(async (path) => (await fetch(`${server.healthUrl}/${path}`)).text()),
  );
  await server.close();
  const { items: events } = await cluster().client.list(Event, { namespace: "default" });
  expect(events.filter(({ reason }) => reason === "Planted")).toHaveLength(sentences().length);
  expect(written.length).toBeGreaterThan(50);

  const everything = [...written, ...errors, ...served, JSON.stringify(events), JSON.stringify(conditions)].join("\n");
  const found = planted().filter((secret) => everything.includes(secret));
  expect(found).toEqual([]);
  // The search itself finds what is there.
  expect(planted().filter((secret) => sentences().join("\n").includes(secret)).length).toBeGreaterThan(5);
});
