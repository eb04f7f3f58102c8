// The walking skeleton: one command from nothing to a running cluster with the examples in it, and back to nothing.
import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { soon } from "@keyturn/runtime/testing/vitest";
import { expect, it } from "vitest";
import * as z from "zod";
import { realPodsObstacle } from "../../packages/keyturn/src/dev/images.ts";
import { startKeyturn } from "../support/keyturn-process.ts";

/** Images are built and pods come up first, on a machine that may be busy with something else. */
const mostMs = 500_000;

/** One line of the table for each step of a credential's life, as it should be a while after the start. */
const steps = [
  /EventingAuth +kcp-system +\S+ +True/,
  /Secret +kyma-system +eventing-webhook-auth/,
  /RotationTarget +keyturn-examples +signing-key-live +True/,
  /JWKSConfig +keyturn-examples +rotated-tokens +True/,
  /SecretCheckSum +keyturn-examples-verify +secret-/,
  /Deployment +keyturn-examples-mesh +web +True/,
  /Deployment web +SidecarRolloutFinished/,
];

it("keyturn dev starts a cluster, shows all steps at work on the examples, and leaves nothing behind after Ctrl-C", async () => {
  const keyturn = startKeyturn(["dev"], { HOME: homedir() });
  await soon(() => steps.forEach((step) => expect(keyturn.output.out).toMatch(step)), mostMs);
  const kubeconfig = /KUBECONFIG=(\S+)/.exec(keyturn.output.out)?.[1] ?? "";
  await access(kubeconfig);
  // On a real node the page is reached through its Service, and so are the keys, which nginx serves.
  if (realPodsObstacle() === undefined) {
    for (const service of [/the dashboard, through its Service: (\S+)/, /through their Service: (\S+)/]) {
      const url = await soon(() => z.url().parse(service.exec(keyturn.output.out)?.[1]));
      await soon(async () => expect((await fetch(url)).status).toBe(200));
    }
  }
  keyturn.kill("SIGINT");
  expect(await keyturn.exit).toBe(0);
  await expect(access(kubeconfig)).rejects.toThrow("ENOENT");
  expect(keyturn.output.err).toBe("");
});
