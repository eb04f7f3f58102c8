// Clusters for test files: the one that all files of a run share, or one of their own for tests with faults.
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, inject } from "vitest";
import * as z from "zod";
import { accessCluster, type ClusterAccess } from "../cluster/cluster-access.ts";
import { type Cluster, type ClusterOptions, startCluster } from "../cluster/cluster.ts";
import type { SharedClusterAnswer } from "./global-setup.ts";

const widestLine = 300;

/** The end of every server's log in the cluster's folder, with a heading each. */
export async function tailOfServerLogs(folder: string, lastLines = 30): Promise<string> {
  const logs = join(folder, "logs");
  const names = (await readdir(logs)).sort();
  const tails = names.map(async (name) => {
    const lines = (await readFile(join(logs, name), "utf8")).trimEnd().split("\n");
    return [
      `--- ${name}, last ${Math.min(lastLines, lines.length)} of ${lines.length} lines`,
      ...lines.slice(-lastLines).map((line) => line.slice(0, widestLine)),
    ].join("\n");
  });
  return `${(await Promise.all(tails)).join("\n")}\n`;
}

/**
 * Call in a file or `describe`: gives the cluster that all files of this run share, with every controller and three nodes.
 * Use namespaces of your own (`cluster().namespace("x")`), and do not stop its servers. Needs `global-setup.ts` in vitest's configuration.
 * Tests that do so wait far more than they compute: let them run side by side (`{ concurrent: true }`).
 */
export function useSharedCluster(): () => ClusterAccess {
  return useShared("keyturnSharedCluster");
}

/**
 * Like `useSharedCluster`, but an API server (with WatchList) and etcd alone, in which nothing happens by itself: for tests of single requests, and as
 * the other cluster of an operator that works in two.
 */
export function useSharedApiServer(): () => ClusterAccess {
  return useShared("keyturnSharedApiServer");
}

function useShared(which: "keyturnSharedCluster" | "keyturnSharedApiServer"): () => ClusterAccess {
  let cluster: ClusterAccess | undefined;
  beforeAll(async () => {
    cluster = accessCluster(await askForFolder(inject(which)));
  });
  return whenThere(() => cluster);
}

/** Call in a file or `describe`: gives a cluster of its own, to stop, kill and pause at will, until the last of its tests is done. */
export function useCluster(options: ClusterOptions = {}): () => Cluster {
  let cluster: Cluster | undefined;
  beforeAll(async () => {
    cluster = await startCluster(options);
  });
  afterAll(async () => {
    await cluster?.stop();
  });
  return whenThere(() => cluster);
}

function whenThere<T extends ClusterAccess>(get: () => T | undefined): () => T {
  afterEach(async ({ task }) => {
    const cluster = get();
    if (cluster && task.result?.state === "fail")
      process.stderr.write(`servers of the cluster used by "${task.name}":\n${await tailOfServerLogs(cluster.folder)}`);
  });
  return () => {
    const cluster = get();
    if (!cluster) throw new Error("using the cluster before it is there: use it in tests and hooks, not while they are declared");
    return cluster;
  };
}

const answerSchema: z.ZodType<SharedClusterAnswer> = z.union([z.object({ folder: z.string() }), z.object({ error: z.string() })]);

async function askForFolder(socketPath: string | undefined): Promise<string> {
  if (socketPath === undefined)
    throw new Error("using the shared cluster: name testing/vitest/global-setup.ts as globalSetup in vitest's configuration");
  const socket = connect(socketPath);
  await once(socket, "connect");
  const answer = answerSchema.parse(JSON.parse(await text(socket)));
  if ("error" in answer) throw new Error(`starting the shared cluster: ${answer.error}`);
  return answer.folder;
}
