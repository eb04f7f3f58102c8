// For `globalSetup` of vitest: clusters for all test files of a run, each started when the first of them asks for it.
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { type Cluster, type ClusterOptions, everything, startCluster, withWatchList } from "../cluster/cluster.ts";
import { Sandbox } from "../cluster/sandbox.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Connecting to this socket gives the shared cluster: one line of JSON, see `SharedClusterAnswer`. */
    readonly keyturnSharedCluster: string;
    /** The same for the shared API server. */
    readonly keyturnSharedApiServer: string;
  }
}

/** What a test file gets when it asks for a shared cluster. */
export type SharedClusterAnswer = { readonly folder: string } | { readonly error: string };

/** Called by vitest before all tests; what it returns is called after them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const sandbox = new Sandbox("keyturn-tests-");
  const paths = { cluster: join(sandbox.folder, "shared-cluster.sock"), apiServer: join(sandbox.folder, "shared-api-server.sock") };
  const ends = [await offer(paths.cluster, everything), await offer(paths.apiServer, withWatchList)];
  project.provide("keyturnSharedCluster", paths.cluster);
  project.provide("keyturnSharedApiServer", paths.apiServer);
  return async () => {
    await Promise.all(ends.map((end) => end()));
    await sandbox.close();
  };
}

/** Starts the cluster when somebody connects to the socket. What is returned ends both. */
async function offer(path: string, options: ClusterOptions): Promise<() => Promise<void>> {
  let cluster: Promise<Cluster> | undefined;
  const server = createServer((socket) => {
    cluster ??= startCluster(options);
    const answered = cluster.then(
      ({ folder }): SharedClusterAnswer => ({ folder }),
      (error: unknown): SharedClusterAnswer => ({ error: error instanceof Error ? error.message : String(error) }),
    );
    void answered.then((answer) => socket.end(`${JSON.stringify(answer)}\n`));
    // A test file that is gone needs no answer.
    socket.on("error", () => socket.destroy());
  });
  server.listen(path);
  await once(server, "listening");
  return async () => {
    server.close();
    await (await cluster)?.stop();
  };
}
