// For `globalSetup` of vitest: one cluster for all test files of a run, started when the first of them asks for it.
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { everything, startCluster } from "../cluster/cluster.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { Sandbox } from "../cluster/sandbox.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Connecting to this socket gives the shared cluster: one line of JSON, see `SharedClusterAnswer`. */
    readonly keyturnSharedCluster: string;
  }
}

/** What a test file gets when it asks for the shared cluster. */
export type SharedClusterAnswer = { readonly folder: string } | { readonly error: string };

/** Called by vitest before all tests; what it returns is called after them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const sandbox = new Sandbox("keyturn-tests-");
  let cluster: Promise<Cluster> | undefined;
  const server = createServer((socket) => {
    cluster ??= startCluster(everything);
    const answered = cluster.then(
      ({ folder }): SharedClusterAnswer => ({ folder }),
      (error: unknown): SharedClusterAnswer => ({ error: error instanceof Error ? error.message : String(error) }),
    );
    void answered.then((answer) => socket.end(`${JSON.stringify(answer)}\n`));
    // A test file that is gone needs no answer.
    socket.on("error", () => socket.destroy());
  });
  const path = join(sandbox.folder, "shared-cluster.sock");
  server.listen(path);
  await once(server, "listening");
  project.provide("keyturnSharedCluster", path);
  return async () => {
    server.close();
    await (await cluster)?.stop();
    await sandbox.close();
  };
}
