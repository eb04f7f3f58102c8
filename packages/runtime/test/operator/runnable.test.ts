// What runs beside the controllers: in every process, through the same caches, from the start to the end.
import { type Runnable, ConfigMap, managedBySelector, Secret } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, it } from "vitest";
import { startOperator } from "@keyturn/runtime/testing";
import { digestController, digestRules, leaseRules } from "./digest-controller.ts";

const cluster = useSharedCluster();
const selection = { labels: managedBySelector({ name: "demo", domain: "demo.example" }) };

async function place(name: string): Promise<{ readonly namespace: string; readonly kubeconfig: string }> {
  const namespace = await cluster().namespace(name);
  const rules = { [namespace]: [...digestRules, ...leaseRules] };
  return { namespace, kubeconfig: await cluster().kubeconfigFor({ serviceAccount: { namespace, name: "operator" }, namespacedRules: rules }) };
}

it("sees what the controllers see without a watch of its own, also where another replica leads, and ends with the operator", async () => {
  const { namespace, kubeconfig } = await place("runnables");
  const seen: string[][] = [];
  const ended: number[] = [];
  const runnable = (index: number): Runnable => ({
    async start({ caches, namespaces }) {
      expect(namespaces).toEqual([]);
      const names: string[] = [];
      seen[index] = names;
      const before = caches.statuses().length;
      caches.watch(ConfigMap, { namespace, ...selection }).subscribe(({ key }) => names.push(key));
      expect(caches.statuses().length).toBe(before);
      return { [Symbol.asyncDispose]: async () => void ended.push(index) };
    },
  });
  const start = (index: number) =>
    startOperator({ kubeconfig, controllers: [digestController(namespace)], runnables: [runnable(index)], leaderElection: { namespace } });
  await using first = await start(0);
  await using second = await start(1);
  await cluster().client.create(Secret, { metadata: { namespace, name: "one", labels: { digest: "yes" } }, data: { a: "MQ==" } });
  await soon(() => expect(seen.map((names) => names.includes(`${namespace}/one`))).toEqual([true, true]));
  await second.stop();
  expect(ended).toEqual([1]);
  await first.stop();
  expect(ended).toEqual([1, 0]);
});

it("that cannot start makes the start of the operator impossible, and those before it end", async () => {
  const { namespace, kubeconfig } = await place("no-runnable");
  let ended = false;
  const good: Runnable = { start: async () => ({ [Symbol.asyncDispose]: async () => void (ended = true) }) };
  const bad: Runnable = { start: () => Promise.reject(new Error("the address is taken")) };
  const starting = startOperator({ kubeconfig, controllers: [digestController(namespace)], runnables: [good, bad], leaderElection: { namespace } });
  await expect(starting).rejects.toThrow("the address is taken");
  expect(ended).toBe(true);
});
