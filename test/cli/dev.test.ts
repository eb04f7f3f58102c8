// The walking skeleton: one command from nothing to a running cluster with the examples in it, and back to nothing.
import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { expect, it, vi } from "vitest";
import { startKeyturn } from "./keyturn-process.ts";

it("keyturn dev starts a cluster, applies the examples, shows them, and leaves nothing behind after Ctrl-C", async () => {
  const keyturn = startKeyturn(["dev"], { HOME: homedir() });
  await vi.waitFor(() => expect(keyturn.output.out).toMatch(/keyturn-examples/), { timeout: 50_000 });
  const kubeconfig = /KUBECONFIG=(\S+)/.exec(keyturn.output.out)?.[1] ?? "";
  await access(kubeconfig);
  keyturn.kill("SIGINT");
  expect(await keyturn.exit).toBe(0);
  await expect(access(kubeconfig)).rejects.toThrow("ENOENT");
  expect(keyturn.output.err).toBe("");
});
