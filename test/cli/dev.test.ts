// The walking skeleton: one command from nothing to a running cluster with the examples in it, and back to nothing.
import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { soon } from "@keyturn/runtime/testing/vitest";
import { expect, it } from "vitest";
import { startKeyturn } from "../support/keyturn-process.ts";

/** One line of the table for each step of a credential's life, as it should be a while after the start. */
const steps = [
  /EventingAuth +kcp-system +\S+ +True/,
  /Secret +kyma-system +eventing-webhook-auth/,
  /RotationTarget +keyturn-examples +signing-key-live +True/,
  /JWKSConfig +keyturn-examples +rotated-tokens +True/,
  /SecretCheckSum +keyturn-examples-verify +secret-/,
  /Deployment +keyturn-examples-mesh +web +True/,
];

it("keyturn dev starts a cluster, shows all five steps at work on the examples, and leaves nothing behind after Ctrl-C", async () => {
  const keyturn = startKeyturn(["dev"], { HOME: homedir() });
  await soon(() => steps.forEach((step) => expect(keyturn.output.out).toMatch(step)));
  const kubeconfig = /KUBECONFIG=(\S+)/.exec(keyturn.output.out)?.[1] ?? "";
  await access(kubeconfig);
  keyturn.kill("SIGINT");
  expect(await keyturn.exit).toBe(0);
  await expect(access(kubeconfig)).rejects.toThrow("ENOENT");
  expect(keyturn.output.err).toBe("");
});
