// Output that somebody stops reading.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Lease } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, it } from "vitest";
import { program } from "../support/program.ts";

const cluster = useSharedCluster();

it("keyturn status --watch ends without a complaint when nobody reads it any more", async () => {
  const namespace = await cluster().namespace("unread");
  const [command, ...first] = program;
  const words = [...first, "status", "--watch", "-A", "-o", "json", "--kubeconfig", cluster().adminKubeconfig];
  const child = spawn(command, words, { stdio: ["ignore", "pipe", "pipe"] });
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complaints += text));
  // Something to write: the first line, and one for each change after the reader has gone.
  const put = (name: string): Promise<unknown> =>
    cluster().client.create(Lease, {
      metadata: { namespace, name, labels: { "app.kubernetes.io/component": "agent", "app.kubernetes.io/managed-by": "keyturn" } },
      spec: { holderIdentity: name, leaseDurationSeconds: 60, renewTime: new Date().toISOString().replace("Z", "000Z") },
    });
  await put("first");
  await once(child.stdout, "data");
  child.stdout.destroy();
  const ended = once(child, "close");
  let count = 0;
  await soon(async () => {
    await put(`more-${count++}`);
    expect(child.exitCode ?? child.signalCode).not.toBeNull();
  });
  await ended;
  expect(complaints).toBe("");
  expect(child.exitCode).toBe(0);
});
