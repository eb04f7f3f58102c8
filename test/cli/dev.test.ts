// The walking skeleton: one command from nothing to a running cluster with the examples in it, and back to nothing.
import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { soon } from "@keyturn/runtime/testing/vitest";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { realPodsObstacle } from "../../packages/keyturn/src/dev/images.ts";
import { startKeyturn } from "../support/keyturn-process.ts";
import { typed } from "../support/typed-command.ts";

/** Images are built and pods come up first, on a machine that may be busy with something else. */
const mostMs = 500_000;

/** What is told of each step of a credential's life within a while of the start. */
const happenings = [
  /runtime 0b5e3c2a got its first credentials/,
  /signing-key-live (?:got its first version|moved on to version \d+)/,
  /the certificates of keyturn-examples-verify are published as one set/,
  /web is restarted, because its sidecar is outdated/,
  /web has been restarted, and is healthy/,
  /signing-key was renewed/,
];

const statusSchema = z.object({
  steps: z.array(z.object({ step: z.string(), objects: z.array(z.object({ name: z.string(), health: z.string() })) })),
});

it("keyturn dev starts a cluster, tells what all steps do with the examples, and leaves nothing behind after Ctrl-C", async () => {
  const keyturn = startKeyturn(["dev"], { HOME: homedir() });
  onTestFinished(async () => {
    keyturn.kill("SIGINT");
    await keyturn.exit;
  });
  await soon(() => happenings.forEach((happening) => expect(keyturn.output.out).toMatch(happening)), mostMs);
  const kubeconfig = /KUBECONFIG=(\S+)/.exec(keyturn.output.out)?.[1] ?? "";
  await access(kubeconfig);
  // To a pipe, nothing is drawn, and nothing is said twice.
  expect(keyturn.output.out).not.toContain("\u001b");
  const lines = keyturn.output.out.split("\n").filter((line) => line !== "");
  expect(new Set(lines).size).toBe(lines.length);
  await soon(async () => {
    const { out } = await typed("status", "-A", "-o", "json", "--kubeconfig", kubeconfig);
    const { steps } = statusSchema.parse(JSON.parse(out));
    const healthy = steps.flatMap(({ objects }) => objects.filter(({ health }) => health === "healthy").map(({ name }) => name));
    expect(healthy).toEqual(expect.arrayContaining(["0b5e3c2a-7a2f-4d6e-9b1c-3f8d2e4a6c10", "rotated-tokens"]));
  }, mostMs);
  const address = z.url().parse(/^http:\S+$/m.exec(keyturn.output.out)?.[0]);
  await soon(async () => expect((await fetch(address)).status).toBe(200));
  // On a real node the keys, which nginx serves, are reached through their Service.
  if (realPodsObstacle() === undefined) {
    const keys = await soon(() => z.url().parse(/the public keys are served: (\S+)/.exec(keyturn.output.out)?.[1]));
    await soon(async () => expect((await fetch(keys)).status).toBe(200));
  }
  keyturn.kill("SIGINT");
  expect(await keyturn.exit).toBe(0);
  await expect(access(kubeconfig)).rejects.toThrow("ENOENT");
  expect(keyturn.output.err).toBe("");
});
