// How a process of an operator ends when somebody asks it to, and when an error that nobody caught ends it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const entry = fileURLToPath(new URL("../../src/index.ts", import.meta.url));

/** Runs a program over the runtime, and gives its exit code, the signal that ended it, and all that it wrote. */
async function ended(program: string): Promise<{ readonly code: unknown; readonly signal: unknown; readonly written: string }> {
  const source = `import { ConfigMap, runOperator, stopSignal } from ${JSON.stringify(entry)};\n${program}`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 300_000,
    killSignal: "SIGKILL",
  });
  const [exit, ...written] = await Promise.all([once(child, "exit"), text(child.stdout), text(child.stderr)]);
  return { code: exit[0], signal: exit[1], written: written.join("") };
}

describe("the second signal ends the process at once, whichever it is", () => {
  it.each([
    ["SIGTERM", "SIGTERM"],
    ["SIGINT", "SIGINT"],
    ["SIGTERM", "SIGINT"],
    ["SIGINT", "SIGTERM"],
  ])("%s, then %s", async (first, second) => {
    const { signal, written } = await ended(`
      stopSignal().addEventListener("abort", () => { console.log("asked"); process.kill(process.pid, ${JSON.stringify(second)}); });
      setInterval(() => {}, 1000);
      process.kill(process.pid, ${JSON.stringify(first)});
    `);
    expect([signal, written]).toEqual([second, "asked\n"]);
  });
});

describe("an error that nobody caught ends an operator, and is told without its words and the line of code", () => {
  const operate = `
    const controller = { name: "broken", access: [], setup({ watch }) { FAULT; watch(ConfigMap); return () => {}; } };
    const credentials = { authorize: async () => ({ headers: {}, tls: {} }), refresh: async () => false };
    const connection = { server: "http://127.0.0.1:1", credentials };
    await runOperator({ operator: { name: "demo", domain: "demo.example" }, connection, controllers: [controller], leaderElection: { enabled: false } }, stopSignal());
  `;
  it.each([
    ["thrown in a timer", `setTimeout(() => JSON.parse("hunter2-of-a-Secret"))`],
    ["of a class that says what it likes", `setTimeout(() => { throw new Error("hunter2-of-a-Secret"); })`],
    ["rejected", `Promise.reject(new Error("hunter2-of-a-Secret"))`],
    ["that is none", `Promise.reject("hunter2-of-a-Secret")`],
  ])("%s", async (_, fault) => {
    const { code, written } = await ended(operate.replace("FAULT", fault));
    expect(code).toBe(1);
    expect(written).toContain('"msg":"an error that nobody caught ends the process"');
    expect(written).not.toContain("hunter2");
  });
});
