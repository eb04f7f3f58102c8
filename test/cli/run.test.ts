// `keyturn run` as a process on a real API server.
import { expect, it } from "vitest";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { startKeyturn } from "../support/keyturn-process.ts";

const cluster = useSharedCluster();

it("keyturn run starts, logs what it runs as JSON, and exits with 0 on SIGTERM", async () => {
  // Over objects that no operator of another test serves, beside which it would not start.
  const flags = ["--namespaces=nobody-elses", "--metrics-bind-address=0", "--health-probe-bind-address=0"];
  const keyturn = startKeyturn(["run", ...flags], { KUBECONFIG: cluster().adminKubeconfig });
  await soon(() => expect(keyturn.output.out).toContain("keyturn starts"));
  // Opens no debugger, and ends nothing: standard error stays empty.
  keyturn.kill("SIGUSR1");
  keyturn.kill("SIGTERM");
  expect(await keyturn.exit).toBe(0);
  const lines = keyturn.output.out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.at(-1)).toMatchObject({ level: "info", msg: "keyturn has stopped" });
  expect(keyturn.output.err).toBe("");
});
