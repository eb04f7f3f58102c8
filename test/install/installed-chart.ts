// The chart, installed with Helm into a real cluster, and its containers as processes: what kubelet would start, started here.
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type ClusterAccess, findBinaries, writeKubeconfig } from "@keyturn/runtime/testing";
import * as z from "zod";
import { type KeyturnProcess, startKeyturn } from "../support/keyturn-process.ts";

const chart = fileURLToPath(new URL("../../charts/keyturn", import.meta.url));

/** Where the chart is installed, and as what. */
export const release = { name: "keyturn", namespace: "keyturn-system" } as const;

/** Runs Helm as the cluster's administrator; resolves to what it printed. */
export async function helm(cluster: ClusterAccess, ...args: readonly string[]): Promise<string> {
  const binaries = await findBinaries(["helm"]);
  // Folders of its own: Helm keeps a cache, and reads settings.
  const environment = { PATH: process.env["PATH"], HOME: cluster.folder, KUBECONFIG: cluster.adminKubeconfig };
  const { stdout } = await promisify(execFile)(binaries.helm, [...args, `--namespace=${release.namespace}`], {
    env: environment,
    maxBuffer: 2 ** 26,
  });
  return stdout;
}

/** Installs the chart, or upgrades it, with these values. */
export function install(cluster: ClusterAccess, values: object, ...args: readonly string[]): Promise<void> {
  return installFrom(cluster, chart, values, ...args);
}

/** The same with another chart: its folder, or an archive. */
export async function installFrom(cluster: ClusterAccess, path: string, values: object, ...args: readonly string[]): Promise<void> {
  const file = join(cluster.folder, "values.json");
  await writeFile(file, JSON.stringify(values));
  // Without values Helm would take those of the release before.
  await helm(cluster, "upgrade", "--install", release.name, path, "--create-namespace", "--reset-values", `--values=${file}`, ...args);
}

const workloadSchema = z.object({
  metadata: z.object({ namespace: z.string() }),
  spec: z.object({
    template: z.object({
      spec: z.object({
        serviceAccountName: z.string(),
        containers: z.array(
          z.object({
            name: z.string(),
            command: z.array(z.string()).optional(),
            args: z.array(z.string()),
            // What comes from the pod, such as its uid, has no value here.
            env: z.array(z.object({ name: z.string(), value: z.string().optional() })).default([]),
          }),
        ),
      }),
    }),
  }),
});

/** What the API server has stored of a Deployment of ours: how its container is started, and as whom. */
export async function readContainer(
  cluster: ClusterAccess,
  deployment: { readonly namespace: string; readonly name: string; readonly container: string },
) {
  const answer = await cluster.client.request({
    method: "GET",
    path: `/apis/apps/v1/namespaces/${deployment.namespace}/deployments/${deployment.name}`,
  });
  const { metadata, spec } = workloadSchema.parse(answer);
  const { serviceAccountName, containers } = spec.template.spec;
  const container = containers.find(({ name }) => name === deployment.container);
  if (!container) throw new Error(`reading Deployment ${deployment.name}: it has no container ${deployment.container}`);
  return { ...container, serviceAccount: { namespace: metadata.namespace, name: serviceAccountName } };
}

/**
 * Starts a container of the installed chart: the bundle with exactly its arguments and environment, logged in by a token of its
 * ServiceAccount, which has the rights that the chart gave it and no others.
 */
export async function startContainer(
  cluster: ClusterAccess,
  deployment: { readonly namespace: string; readonly name: string; readonly container: string },
): Promise<KeyturnProcess> {
  const { command, args, env, serviceAccount } = await readContainer(cluster, deployment);
  if (command) throw new Error(`starting Deployment ${deployment.name}: it sets a command, and so does not start what the image starts`);
  const kubeconfig = writeKubeconfig(join(cluster.folder, `${deployment.name}.kubeconfig`), {
    server: cluster.url,
    authority: cluster.ca,
    login: { type: "token", token: await cluster.tokenFor(serviceAccount) },
    // In a pod, the program reads its namespace beside its token.
    namespace: serviceAccount.namespace,
  });
  const environment = Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
  return startKeyturn(args, { ...environment, KUBECONFIG: kubeconfig });
}
