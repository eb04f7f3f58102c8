// The cluster that all test files of a run share.
import { ConfigMap, Namespace, Node } from "@keyturn/runtime";
import { describe, expect, it } from "vitest";
import { tailOfServerLogs, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";

function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

describe("the shared cluster", () => {
  const first = useSharedCluster();
  const second = useSharedCluster();

  const tooEarly = attempt(() => first().folder);

  it("is not to be used while tests are declared", () => {
    expect(tooEarly).toMatchObject({ message: expect.stringContaining("before it is there") });
  });

  it("is one", () => expect(first().folder).toBe(second().folder));

  const bare = useSharedApiServer();

  it("is another than the shared API server, in which nothing happens by itself", async () => {
    expect(bare().folder).not.toBe(first().folder);
    const namespace = await bare().namespace("still");
    await bare().client.delete(Namespace, { name: namespace });
    // Its controllers would finish that.
    expect((await bare().client.get(Namespace, { name: namespace }))?.status?.phase).toBe("Terminating");
    expect((await bare().client.list(Node)).items).toEqual([]);
  });

  it("gives everybody a namespace of their own", async () => {
    const [one, two] = await Promise.all([first().namespace("mine"), second().namespace("mine")]);
    expect(one).not.toBe(two);
    await first().client.create(ConfigMap, { metadata: { namespace: one, name: "a" } });
    expect(await second().client.get(ConfigMap, { namespace: one, name: "a" })).toBeDefined();
    expect(await second().client.get(ConfigMap, { namespace: two, name: "a" })).toBeUndefined();
  });

  it("has the logs of its servers at hand for a test that fails", async () => {
    const tail = await tailOfServerLogs(first().folder, 3);
    expect(tail).toMatch(/^--- etcd\.log, last \d of \d+ lines$/m);
    expect(tail).toMatch(/^--- kube-apiserver\.log, last 3 of \d+ lines$/m);
    expect(tail).toMatch(/^--- kwok\.log/m);
  });
});
