// Who may read metrics by HTTPS, over real sockets, with an API server that says what the test tells it. On a real one: test/observe/secure-metrics.test.ts.
import { once } from "node:events";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request as send } from "node:https";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createClient } from "../client/kube-client.ts";
import type { TransportRequest } from "../client/transport.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { createAuthority, issueCertificate } from "../x509.ts";
import { type HealthServer, startHealthServer } from "./health.ts";
import { createLogger } from "./logger.ts";
import { createMetrics } from "./metrics.ts";
import { ScrapeGate } from "./scrape-gate.ts";
import { certificateFromFiles, selfSignedCertificate, type ServingCertificate } from "./serving-certificate.ts";

const stack: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of stack.splice(0).toReversed()) await end();
});

/** What the API server says: about a token, its owner; about an owner, whether they may. */
interface Answers {
  owners: Record<string, string>;
  allowed: string[];
  /** Default 201. */
  status?: number | "silent";
}

async function serve(answers: Answers, certificate?: (clock: VirtualClock) => ServingCertificate) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const logged: string[] = [];
  const log = createLogger({ level: "info", destination: { write: (line: string) => void logged.push(line) } });
  const answer = ({ path, body = "{}" }: TransportRequest): object => {
    const { spec } = JSON.parse(body) as { spec: { token?: string; user?: string; nonResourceAttributes?: object } };
    asked.push(path.split("?")[0]?.split("/").at(-1) ?? "");
    if (spec.token !== undefined) {
      const username = answers.owners[spec.token];
      return { metadata: {}, status: username === undefined ? {} : { authenticated: true, user: { username } } };
    }
    expect(spec.nonResourceAttributes).toEqual({ path: "/metrics", verb: "get" });
    return { metadata: {}, status: { allowed: answers.allowed.includes(spec.user ?? "") } };
  };
  const client = createClient(
    {
      send: async (request, signal) => {
        if (answers.status === "silent") {
          await new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true }));
        }
        const content = JSON.stringify(answer(request));
        async function* bytes(): AsyncGenerator<Uint8Array> {
          yield Buffer.from(content);
        }
        return { status: Number(answers.status ?? 201), headers: { "content-type": "application/json" }, body: bytes() };
      },
      close() {},
    },
    { clock },
  );
  const server: HealthServer = await startHealthServer({
    healthBindAddress: "0",
    metricsBindAddress: "127.0.0.1:0",
    liveness: [],
    readiness: [],
    metrics: createMetrics(),
    scrapes: { certificate: certificate?.(clock) ?? selfSignedCertificate(clock), gate: new ScrapeGate({ client, clock, log }) },
    log,
  });
  stack.push(() => server.close());
  const port = Number(new URL(server.metricsUrl ?? "").port);
  /** The status, and the text for people. */
  const scrape = async (token?: string, { localAddress = "127.0.0.1", ...options }: { localAddress?: string; ca?: string; method?: string } = {}) => {
    const request = send({
      host: "127.0.0.1",
      port,
      path: "/metrics",
      agent: false,
      localAddress,
      rejectUnauthorized: options.ca !== undefined,
      ...(token !== undefined && { headers: { authorization: token } }),
      ...options,
    });
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const text = Buffer.concat((await response.toArray()) as Buffer[]).toString();
    return `${response.statusCode} ${text.split("\n")[0]}`;
  };
  return { clock, asked, logged, server, port, scrape };
}

const anna = (): Answers => ({ owners: { good: "anna", other: "bert" }, allowed: ["anna"] });

test("metrics are for those whose token is good and who may get the path", async () => {
  const { scrape, server } = await serve(anna());
  expect(server.metricsUrl).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  expect(await scrape("Bearer good")).toMatch(/^200 # HELP /);
  expect(await scrape("bearer good")).toMatch(/^200 # HELP /);
  expect(await scrape("Bearer good", { method: "HEAD" })).toBe("200 ");
  expect(await scrape()).toBe("401 a bearer token of this cluster is needed");
  expect(await scrape("Basic Z29vZA==")).toBe("401 a bearer token of this cluster is needed");
  expect(await scrape("Bearer wrong")).toBe("401 the token is not valid");
  expect(await scrape(`Bearer ${"x".repeat(7000)}`)).toBe("401 the token is not valid");
  expect(await scrape("Bearer other")).toMatch(/^403 the owner of this token may not get the path \/metrics/);
});

test("an answer holds for a minute, a refusal for ten seconds, and many scrapes at once are one question", async () => {
  const answers = anna();
  const { scrape, asked, clock } = await serve(answers);
  const statuses = await Promise.all(Array.from({ length: 8 }, () => scrape("Bearer good")));
  expect(statuses.filter((text) => text.startsWith("200 "))).toHaveLength(8);
  expect(asked).toEqual(["tokenreviews", "subjectaccessreviews"]);
  await clock.advance(59_999);
  answers.allowed = [];
  expect(await scrape("Bearer good")).toMatch(/^200 /);
  await clock.advance(1);
  expect(await scrape("Bearer good")).toMatch(/^403 /);
  answers.allowed = ["anna"];
  expect(await scrape("Bearer good")).toMatch(/^403 /);
  await clock.advance(10_000);
  expect(await scrape("Bearer good")).toMatch(/^200 /);
});

test.each<[string, Partial<Answers>, string]>([
  ["refuses the question", { status: 403 }, "Forbidden"],
  ["fails", { status: 500 }, "could not ask"],
  ["does not answer", { status: "silent" }, "there was no answer for 5 s"],
])(
  "where the API server %s nobody is let in, which is logged once, and who was in goes on for as long as the answer holds",
  async (_case, broken, words) => {
    const answers = anna();
    const { scrape, logged, clock } = await serve(answers);
    expect(await scrape("Bearer good")).toMatch(/^200 /);
    Object.assign(answers, broken);
    expect(await scrape("Bearer good")).toMatch(/^200 /);
    await clock.advance(60_000);
    for (let i = 0; i < 3; i++) {
      const answer: string[] = [];
      const answered = scrape("Bearer good").then((text) => answer.push(text));
      while (answer.length === 0) {
        await clock.advance(5000);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await answered;
      expect(answer).toEqual(["503 the API server could not be asked about the token"]);
    }
    const warnings = logged.filter((line) => line.includes("who reads the metrics"));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(words);
    expect(warnings[0]).not.toContain("good");
    answers.status = 201;
    expect(await scrape("Bearer good")).toMatch(/^200 /);
  },
);

test("who tries tokens is slowed down, and keeps nobody out whose token was good", async () => {
  const { scrape, asked, clock } = await serve({ owners: { good: "anna", newer: "anna" }, allowed: ["anna"] });
  expect(await scrape("Bearer good")).toMatch(/^200 /);
  const tried = [];
  for (let i = 0; i < 15; i++) tried.push((await scrape(`Bearer wrong-${i}`)).slice(0, 3));
  expect(tried).toEqual([...Array.from({ length: 10 }, () => "401"), ...Array.from({ length: 5 }, () => "429")]);
  expect(asked.filter((review) => review === "tokenreviews")).toHaveLength(11);
  expect(await scrape("Bearer newer", { localAddress: "127.0.0.2" })).toMatch(/^200 /);
  await clock.advance(60_000);
  expect(await scrape("Bearer good")).toMatch(/^200 /);
});

test("what is open and says nothing, also before encryption begins, keeps no scraper out", async () => {
  const { scrape, port } = await serve(anna());
  const clients: Socket[] = [];
  stack.push(() => clients.forEach((client) => client.destroy()));
  for (let i = 0; i < 200; i++) {
    const client = connect({ host: "127.0.0.1", port });
    client.on("error", () => client.destroy());
    clients.push(client);
    await once(client, "connect");
  }
  expect(await scrape("Bearer good")).toMatch(/^200 /);
});

test("a certificate from files is followed when it is renewed; one that does not fit its key is not used", async () => {
  const folder = mkdtempSync(join(tmpdir(), "keyturn-serving-"));
  stack.push(() => rmSync(folder, { recursive: true }));
  const files = { certificate: join(folder, "tls.crt"), key: join(folder, "tls.key") };
  const authorities = ["first", "second"].map((name) => createAuthority(name));
  const pairs = authorities.map((authority) => issueCertificate(authority, { usage: "server", commonName: "keyturn", hosts: ["127.0.0.1"] }));
  const put = (path: string, text = ""): void => {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };
  put(files.certificate, pairs[0]?.certificate);
  put(files.key, pairs[0]?.privateKey);
  const log = createLogger({ level: "silent" });
  const clock = new VirtualClock();
  const certificate = await certificateFromFiles(files, { clock, log });
  const { scrape } = await serve(anna(), () => ({ now: certificate.now, follow: (server) => certificate.follow(server) }));
  const [first, second] = authorities.map((authority) => ({ ca: authority.certificate }));
  const looked = async (): Promise<void> => {
    await clock.advance(10_000);
    // The next look is planned when this one is over, which takes real reads of files.
    while (clock.nextTimerInMs === undefined) await new Promise((resolve) => setImmediate(resolve));
  };
  expect(await scrape("Bearer good", first)).toMatch(/^200 /);
  put(files.certificate, pairs[1]?.certificate);
  await looked();
  expect(await scrape("Bearer good", first)).toMatch(/^200 /);
  put(files.key, pairs[1]?.privateKey);
  await looked();
  expect(await scrape("Bearer good", second)).toMatch(/^200 /);
  await expect(scrape("Bearer good", first)).rejects.toThrow(/certificate/);
  rmSync(files.key);
  await looked();
  expect(await scrape("Bearer good", second)).toMatch(/^200 /);
});

test("files that cannot be read, or hold no certificate, are said at the start", async () => {
  const folder = mkdtempSync(join(tmpdir(), "keyturn-serving-"));
  stack.push(() => rmSync(folder, { recursive: true }));
  const files = { certificate: join(folder, "tls.crt"), key: join(folder, "tls.key") };
  const how = { clock: new VirtualClock(), log: createLogger({ level: "silent" }) };
  await expect(certificateFromFiles(files, how)).rejects.toThrow(
    `cannot read the certificate for metrics from ${files.certificate}: there is no such file`,
  );
  writeFileSync(files.certificate, "nothing of the kind");
  writeFileSync(files.key, "nothing of the kind");
  await expect(certificateFromFiles(files, how)).rejects.toThrow(/PEM/i);
});
