// What somebody on the same node, or who reads its log, gets out of the operator's process: no arguments with secrets, no core dump with Secrets in it, no words of an error that nobody caught. That no signal opens a
// debugger is in test/cli/run.test.ts.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { soon, temporaryFolder } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { program } from "../support/program.ts";

const token = "planted-bearer-token-of-the-operator";

test("an error that nobody caught is told by its name and its place, without its words and the line of code", async () => {
  // As soon as the program listens for such errors, and before Node would print one itself.
  const fault = `const t = setInterval(() => { if (process.listenerCount("uncaughtException") > 0) JSON.parse("${token}"); }, 10)`;
  const file = join(await temporaryFolder(), "fault.mjs");
  await writeFile(file, fault);
  const [command, ...first] = program;
  const env = { PATH: process.env["PATH"] ?? "", NODE_OPTIONS: `--import=${file}` };
  const child = spawn(command, [...first, "version", "--help"], { stdio: ["ignore", "pipe", "pipe"], env });
  const [[code], out, err] = await Promise.all([once(child, "exit"), text(child.stdout), text(child.stderr)]);
  expect(err).toMatch(/^keyturn: an unexpected SyntaxError\n {2}at JSON\.parse/);
  expect(code).toBe(1);
  expect(out + err).not.toContain(token);
});

test("a core dump holds nothing of the process's memory, and its arguments no credentials", async () => {
  const file = join(await temporaryFolder(), "kubeconfig");
  // Nobody answers there: it goes on trying.
  const cluster = { server: "http://127.0.0.1:1" };
  const contexts = [{ name: "c", context: { cluster: "c", user: "u" } }];
  await writeFile(file, stringify({ clusters: [{ name: "c", cluster }], users: [{ name: "u", user: { token } }], contexts, "current-context": "c" }));
  const [command, ...first] = program;
  const child = spawn(
    command,
    [...first, "run", "--controllers=rotation", "--metrics-bind-address=0", "--health-probe-bind-address=0", `--kubeconfig=${file}`],
    { stdio: "ignore" },
  );
  try {
    // The shell that starts it has become it by then.
    await soon(async () => expect((await readFile(`/proc/${child.pid}/coredump_filter`, "utf8")).trim()).toBe("00000000"));
    expect(await readFile(`/proc/${child.pid}/cmdline`, "utf8")).toContain("--kubeconfig=");
    expect(await readFile(`/proc/${child.pid}/cmdline`, "utf8")).not.toContain(token);
  } finally {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
});
