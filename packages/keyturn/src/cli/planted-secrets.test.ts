// Secrets that a command meets and must not print: in a kubeconfig that is broken, in certificates, in what stands between it and the API server, in a bug.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandsOf, runProgram } from "./program.ts";

const secret = "hunter2-of-the-cluster";
const encoded = Buffer.from(secret).toString("base64");
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keyturn-secrets-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** All that a command prints, given a kubeconfig. */
async function printed(kubeconfig: string, words: readonly string[] = ["status"]): Promise<{ readonly text: string; readonly code: number }> {
  const path = join(folder, "config");
  await writeFile(path, kubeconfig);
  let text = "";
  const write = (piece: string): void => void (text += piece);
  const console = { environment: { KUBECONFIG: path }, out: write, err: write, height: () => undefined, signal: AbortSignal.timeout(60_000) };
  return { code: await runProgram(words, console), text };
}

function kubeconfig(server: string, user: string): string {
  return `{current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: "${server}"}}], users: [{name: u, user: ${user}}]}`;
}

const key = `-----BEGIN PRIVATE KEY-----\n${encoded}\n-----END PRIVATE KEY-----\n`;
const pem = Buffer.from(key).toString("base64");

describe("a kubeconfig", () => {
  test.each([
    ["that is no YAML", `users: [{user: {token: "${secret}`, /no valid YAML/],
    ["with an alias that leads nowhere", `users: [{name: u, user: {token: *${secret}}}]`, /an alias refers to nothing/],
    ["with a text where an object belongs", `users: ${secret}`, /malformed: users/],
    ["with a token that is an object", kubeconfig("https://127.0.0.1:1", `{token: {${secret}: 1}}`), /malformed: users\.0\.user\.token/],
    [
      "with certificates that cannot be read",
      kubeconfig("https://127.0.0.1:1", `{client-certificate-data: ${pem}, client-key-data: ${pem}}`),
      /the certificates cannot be used/,
    ],
    ["with a password in the address", kubeconfig(`ftp://u:${secret}@h`, "{}"), /is no http or https URL/],
  ])("%s", async (_name, text, says) => {
    const { text: said, code } = await printed(text);
    expect(said).toMatch(says);
    expect(code).toBe(2);
    for (const form of [secret, encoded, pem.slice(40, 70)]) expect(said).not.toContain(form);
  });
});

describe("an API server", () => {
  const answers: readonly (readonly [string, RequestListener])[] = [
    [
      "behind a proxy that echoes the request",
      ({ headers }, response) =>
        response
          .writeHead(502, { "content-type": "text/html" })
          .end(`<dl><dt>sent</dt><dd>${headers.authorization?.slice("Bearer ".length)}</dd></dl>`),
    ],
    [
      "that quotes a refused value",
      ({ headers }, response) =>
        response.writeHead(422, { "content-type": "application/json" }).end(
          JSON.stringify({
            kind: "Status",
            status: "Failure",
            code: 422,
            reason: "Invalid",
            message: `admission webhook "w.example" denied the request: ${headers.authorization}`,
            details: { causes: [{ field: "spec.a", reason: "FieldValueInvalid", message: `Invalid value: "${secret}"` }] },
          }),
        ),
    ],
    [
      "that breaks off in the middle of a Secret",
      (_, response) => response.writeHead(200, { "content-type": "application/json" }).end(`{"data":"${secret}`),
    ],
  ];
  test.each(answers)("%s", async (_name, answer) => {
    const server = createServer(answer).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    try {
      for (const words of [["history", "web", "-n", "shop"], ["version"]]) {
        const { text } = await printed(kubeconfig(`http://127.0.0.1:${port}`, `{token: ${secret}}`), words);
        expect(text).not.toBe("");
        expect(text).not.toContain(secret);
      }
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});

test("a bug is told by its name and its place, without its words", async () => {
  let text = "";
  const write = (piece: string): void => void (text += piece);
  const console = { environment: {}, out: write, err: write, height: () => undefined, signal: new AbortController().signal };
  const run = (): void => void JSON.parse(secret);
  const code = await runProgram(["broken"], console, [
    ...commandsOf([]),
    { usage: "broken", group: "Look", examples: [], summary: "fails", flags: [], run },
  ]);
  expect(code).toBe(1);
  expect(text).toMatch(/^keyturn: an unexpected SyntaxError\n {2}at JSON\.parse[^]*planted-secrets\.test\.ts/);
  expect(text).not.toContain("hunter");
});
