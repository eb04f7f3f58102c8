// Each fault of the proxy, shown on a real API server to do what it says.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { ConfigMap, ConnectionError, createClient, createHttpTransport, isApiError, loadConfig, type Client, type Transport } from "@keyturn/runtime";
import {
  answerWith,
  cutAt,
  delayBy,
  dropEvents,
  endWatchWith,
  type FaultProxy,
  onWrite,
  openWatch,
  refuseSendInitialEvents,
  startFaultProxy,
  VirtualClock,
  withholdEndBookmark,
  withWatchList,
} from "@keyturn/runtime/testing";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";

const cluster = useCluster(withWatchList);
let proxy: FaultProxy;
let transport: Transport;
let client: Client;
let namespace: string;

beforeEach(async () => {
  proxy = await startFaultProxy(cluster());
  transport = createHttpTransport(await loadConfig({ kubeconfig: proxy.through(cluster().adminKubeconfig), env: {} }));
  client = createClient(transport);
  namespace = await cluster().namespace("proxy");
});
afterEach(async () => {
  transport.close();
  await proxy.stop();
});

const configMap = (name: string): ConfigMap => ({ metadata: { namespace, name }, data: {} });
const stored = async (name: string): Promise<boolean> => (await cluster().client.get(ConfigMap, { namespace, name })) !== undefined;
const collection = (): string => `/api/v1/namespaces/${namespace}/configmaps`;
const watchList = (): string => `${collection()}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;
const names = (lines: readonly { readonly object: { readonly metadata?: { readonly name?: string } } }[]): (string | undefined)[] =>
  lines.map(({ object }) => object.metadata?.name);

describe("without faults", () => {
  it("passes reads, writes and watches, and counts them", async () => {
    const watch = await openWatch(transport, `${collection()}?watch=true`);
    await client.create(ConfigMap, configMap("a"));
    expect((await client.list(ConfigMap, { namespace })).items).toHaveLength(1);
    await soon(() => expect(names(watch.lines)).toEqual(["a"]));
    expect(proxy.requests({ write: true }).map(({ method, status }) => [method, status])).toEqual([["POST", 201]]);
    expect(proxy.requests({ watch: true })).toHaveLength(1);
    expect(proxy.requests({ method: ["GET"], path: /limit=/ })).toHaveLength(1);
    // The client may have the whole of an answer before the proxy is done with it.
    await soon(() => expect(proxy.underWay()).toBe(1));
  });

  it("passes on who the client is, by certificate and by token, and takes nobody's word for it", async () => {
    const whoami = async (kubeconfig: string): Promise<unknown> => {
      const transport = createHttpTransport(await loadConfig({ kubeconfig: proxy.through(kubeconfig), env: {} }));
      const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
      const answer = await createClient(transport).request({
        method: "POST",
        path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        headers: { "content-type": "application/json", "x-remote-user": "system:admin", "x-remote-group": "system:masters" },
        body: JSON.stringify(review),
      });
      transport.close();
      return answer;
    };
    const jane = await cluster().kubeconfigFor({ user: "jane", groups: ["dev", "ops"] });
    expect(await whoami(jane)).toMatchObject({ status: { userInfo: { username: "jane", groups: ["dev", "ops", "system:authenticated"] } } });
    const robot = await cluster().kubeconfigFor({ serviceAccount: { namespace, name: "robot" } });
    expect(await whoami(robot)).toMatchObject({ status: { userInfo: { username: `system:serviceaccount:${namespace}:robot` } } });
  });
});

describe("cutting", () => {
  it("ends open streams with an error, all or one, and nothing else", async () => {
    const first = await openWatch(transport, `${collection()}?watch=true`);
    const second = await openWatch(transport, "/api/v1/secrets?watch=true");
    const third = await openWatch(transport, "/api/v1/secrets?watch=true");
    expect(proxy.cut({ path: /configmaps/ })).toBe(1);
    expect(await first.ended).toBeInstanceOf(ConnectionError);
    expect(proxy.cut({ watch: true }, { limit: 1 })).toBe(1);
    expect(await second.ended).toBeInstanceOf(ConnectionError);
    expect(proxy.cut({}, { manner: "close" })).toBe(1);
    expect(await third.ended).toBeInstanceOf(ConnectionError);
    await client.list(ConfigMap, { namespace });
  });

  it.for([
    ["before", false],
    ["after", true],
  ] as const)("%s the API server acted leaves the client without an answer", async ([point, isStored]) => {
    proxy.inject(cutAt(point, { write: true, times: 1 }));
    await expect(client.create(ConfigMap, configMap("a"))).rejects.toThrow(ConnectionError);
    expect(await stored("a")).toBe(isStored);
    await client.create(ConfigMap, configMap("b"));
  });

  it("in the middle of an answer", async () => {
    await client.create(ConfigMap, configMap("a"));
    proxy.inject(cutAt({ bytes: 40 }, { watch: true }));
    const watch = await openWatch(transport, watchList());
    expect(await watch.ended).toBeInstanceOf(ConnectionError);
    expect(watch.lines).toEqual([]);
  });
});

describe("stalling", () => {
  it("holds open streams and new requests without closing them, and lets all go on after", async () => {
    const watch = await openWatch(transport, `${collection()}?watch=true`);
    const stall = proxy.stall({ path: /configmaps/ });
    await cluster().client.create(ConfigMap, configMap("a"));
    const held = client.create(ConfigMap, configMap("b"));
    await soon(() => expect(proxy.underWay({ write: true })).toBe(1));
    // What is not stalled goes on; by the time it is back, a stream that is not held would have had its event.
    await client.request({ method: "GET", path: "/api/v1/namespaces" });
    expect(watch.lines).toEqual([]);
    expect(await stored("b")).toBe(false);
    stall.undo();
    await held;
    await soon(() => expect(names(watch.lines)).toEqual(["a", "b"]));
  });
});

describe("delaying", () => {
  it("passes a request on late", async () => {
    const clock = new VirtualClock();
    const fault = proxy.inject(delayBy(5000, { method: "POST", times: 1 }, clock));
    const late = client.create(ConfigMap, configMap("late"));
    await soon(() => expect(clock.nextTimerInMs).toBe(5000));
    await client.create(ConfigMap, configMap("a"));
    await clock.advance(4999);
    expect(await stored("late")).toBe(false);
    await clock.advance(1);
    await late;
    expect(fault.hits).toBe(1);
  });
});

describe("answering", () => {
  it.for([
    [401, "Unauthorized"],
    [403, "Forbidden"],
    [409, "Conflict"],
    [410, "Gone"],
    [429, "TooManyRequests"],
    [500, "ServerError"],
    [503, "ServerError"],
  ] as const)("%i reaches the client as such, and not the API server", async ([status, code]) => {
    proxy.inject(answerWith({ status }, { method: "POST", times: 1 }));
    await expect(client.create(ConfigMap, configMap("a"))).rejects.toMatchObject({ code, status });
    expect(await stored("a")).toBe(false);
    await client.create(ConfigMap, configMap("a"));
  });

  it("429 can say when to come back", async () => {
    proxy.inject(answerWith({ status: 429, retryAfterSeconds: 7 }, { method: "POST" }));
    await expect(client.create(ConfigMap, configMap("a"))).rejects.toMatchObject({ retryAfterMs: 7000 });
  });

  it("a watch can end with an error event", async () => {
    proxy.inject(endWatchWith({ status: 410 }, { times: 1 }));
    const watch = await openWatch(transport, watchList());
    expect(await watch.ended).toBe("end");
    expect(watch.lines).toMatchObject([{ type: "ERROR", object: { code: 410 } }]);
  });

  it("stops when it is removed", async () => {
    {
      using fault = proxy.inject(answerWith({ status: 503 }, { method: "POST" }));
      await expect(client.create(ConfigMap, configMap("a"))).rejects.toMatchObject({ status: 503 });
      expect(fault.hits).toBe(1);
    }
    await client.create(ConfigMap, configMap("a"));
  });
});

describe("watch events", () => {
  it("can be dropped one by one", async () => {
    proxy.inject(dropEvents(({ type, object }) => type === "ADDED" && object.metadata?.name === "b"));
    const watch = await openWatch(transport, `${collection()}?watch=true`);
    for (const name of ["a", "b", "c"]) await cluster().client.create(ConfigMap, configMap(name));
    await soon(() => expect(names(watch.lines)).toEqual(["a", "c"]));
  });

  it("can lack the bookmark that ends the initial ones", async () => {
    await client.create(ConfigMap, configMap("a"));
    const isEnd = ({ object }: { readonly object: { readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> } } }): boolean =>
      object.metadata?.annotations?.["k8s.io/initial-events-end"] === "true";
    const whole = await openWatch(transport, watchList());
    await soon(() => expect(whole.lines.some(isEnd)).toBe(true));
    proxy.inject(withholdEndBookmark());
    const lacking = await openWatch(transport, watchList());
    await client.create(ConfigMap, configMap("b"));
    // Other bookmarks may come at any time.
    await soon(() => expect(names(lacking.lines.filter(({ type }) => type === "ADDED"))).toEqual(["a", "b"]));
    expect(lacking.lines.some(isEnd)).toBe(false);
  });

  it("can be refused as initial ones, as a server without WatchList does", async () => {
    proxy.inject(refuseSendInitialEvents());
    await expect(client.request({ method: "GET", path: watchList() })).rejects.toSatisfy((error) => isApiError(error, "Invalid"));
    await openWatch(transport, `${collection()}?watch=true`);
  });
});

describe("connections", () => {
  it("can be refused while open ones go on", async () => {
    const watch = await openWatch(transport, `${collection()}?watch=true`);
    await proxy.refuseConnections();
    await expect(client.create(ConfigMap, configMap("a"))).rejects.toThrow(/ECONNREFUSED/);
    await cluster().client.create(ConfigMap, configMap("b"));
    await soon(() => expect(names(watch.lines)).toEqual(["b"]));
    await proxy.listen();
    await client.create(ConfigMap, configMap("a"));
  });

  it("break when the API server is killed, and work again when it is back", async () => {
    const watch = await openWatch(transport, `${collection()}?watch=true`);
    onTestFinished(() => cluster().apiServer.start());
    await cluster().apiServer.kill();
    expect(await watch.ended).toBeInstanceOf(ConnectionError);
    await expect(client.create(ConfigMap, configMap("a"))).rejects.toThrow(ConnectionError);
    await cluster().apiServer.start();
    await client.create(ConfigMap, configMap("a"));
  });
});

describe("the n-th write", () => {
  const operator = `
    import { createClient, createHttpTransport, loadConfig, ConfigMap } from "@keyturn/runtime";
    const client = createClient(createHttpTransport(await loadConfig({ kubeconfig: process.argv[1], env: {} })));
    for (const name of ["one", "two", "three"]) await client.create(ConfigMap, { metadata: { namespace: process.argv[2], name } });
  `;

  it.for([
    ["before", ["one"]],
    ["after", ["one", "two"]],
  ] as const)("is the moment to kill an operator: %s the second", async ([moment, expected]) => {
    const kubeconfig = proxy.through(cluster().adminKubeconfig);
    const child = spawn(process.execPath, ["--input-type=module", "--eval", operator, kubeconfig, namespace], {
      cwd: import.meta.dirname,
      stdio: ["ignore", "ignore", "inherit"],
    });
    const exited = once(child, "exit");
    proxy.inject(
      onWrite(2, moment, async () => {
        child.kill("SIGKILL");
        await exited;
        // The process may be seen to have ended before its connection is.
        await soon(() => expect(proxy.underWay()).toBe(0));
      }),
    );
    expect(await exited).toEqual([null, "SIGKILL"]);
    await soon(() => expect(proxy.underWay()).toBe(0));
    const { items } = await cluster().client.list(ConfigMap, { namespace });
    expect(items.map(({ metadata }) => metadata.name).filter((name) => name !== "kube-root-ca.crt")).toEqual(expected);
  });
});
