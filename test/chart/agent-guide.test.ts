// The pod that the agent's guide shows: the API server takes it, and its arguments do what the guide says.
import { spawn } from "node:child_process";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { Pod } from "@keyturn/runtime";
import { soon, temporaryFolder, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { agentFlags } from "../../packages/keyturn/src/agent/flags.ts";
import { AgentNamespace, certificateFor } from "../agent/agent-namespace.ts";
import { startKeyturn } from "../support/keyturn-process.ts";

const cluster = useSharedCluster();

const podSchema = z.object({
  spec: z.looseObject({
    serviceAccountName: z.string(),
    initContainers: z.tuple([
      z.looseObject({
        name: z.literal("agent"),
        restartPolicy: z.literal("Always"),
        args: z.array(z.string()),
        startupProbe: z.looseObject({ httpGet: z.object({ path: z.literal("/readyz"), port: z.number() }) }),
      }),
    ]),
    containers: z.tuple([z.looseObject({ name: z.literal("nginx") })]),
  }),
});

async function guidePod(): Promise<z.infer<typeof podSchema>> {
  const guide = await readFile(new URL("../../docs/guides/agent.md", import.meta.url), "utf8");
  const [, text] = guide.match(/<!-- tested: pod -->\n```yaml\n([^]*?)```/) ?? [];
  if (text === undefined) throw new Error("docs/guides/agent.md has no tested pod; the test and the guide must agree");
  return podSchema.parse(parse(text));
}

/** A stand-in for nginx: a process with its id in a file, which leaves another file when it is told to read its certificates. */
function startGateway(folder: string): void {
  const code = `
    const { writeFileSync } = require("node:fs");
    process.on("SIGHUP", () => writeFileSync(${JSON.stringify(join(folder, "told"))}, ""));
    writeFileSync(${JSON.stringify(join(folder, "nginx.pid"))}, String(process.pid));
    setInterval(() => {}, 60_000);`;
  const gateway = spawn(process.execPath, ["-e", code], { stdio: "ignore" });
  onTestFinished(() => void gateway.kill("SIGKILL"));
}

test("the API server takes the pod as the guide writes it, and it runs", async () => {
  const { spec } = await guidePod();
  const namespace = await cluster().namespace("agent-guide");
  await cluster().apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: spec.serviceAccountName, namespace } });
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "gateway", namespace }, spec };
  await cluster().apply(pod);
  const phaseSchema = z.object({ status: z.object({ phase: z.literal("Running") }) });
  await soon(async () => phaseSchema.parse(await cluster().client.get(Pod, { namespace, name: "gateway" })));
});

test("with the guide's arguments the agent puts certificates into the shared volume and tells the gateway", async () => {
  const { spec } = await guidePod();
  const [agent] = spec.initContainers;
  expect(`:${agent.startupProbe.httpGet.port}`).toBe(agentFlags.bindAddress.default);
  const [place, folder] = [await AgentNamespace.make(cluster(), "agent-guide"), await temporaryFolder()];
  const certificate = certificateFor("shop.example.com");
  await place.put("shop-example-com-118", certificate);
  await place.publish();
  startGateway(folder);
  // As in the pod, but for what is a place: the namespace, the volume, and a port that nobody else on this machine has.
  const given = agent.args.map((argument) => argument.replace("=shop", `=${place.namespace}`).replace("/certificates", folder));
  const process = startKeyturn([...given, "--bind-address=0"], { KEYTURN_KUBECONFIG: place.kubeconfig });
  onTestFinished(async () => {
    process.kill("SIGTERM");
    await process.exit;
  });
  await soon(async () => {
    const served = await readFile(join(folder, "agent/current/shop-example-com-118/tls.crt"), "utf8").catch((error: unknown) => {
      throw new Error(`not served yet: ${process.output.out}${process.output.err}`, { cause: error });
    });
    expect(served).toBe(certificate.certificate);
  });
  await soon(() => access(join(folder, "told")));
});
