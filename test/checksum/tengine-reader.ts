// A reader with Tengine-Ingress's rules that follows a cluster: what it would say to what our control plane publishes.
import {
  createCaches,
  createHttpTransport,
  createLogger,
  defineKind,
  loadConfig,
  nameOf,
  type ObjectKey,
  Secret,
  systemClock,
  systemRandom,
} from "@keyturn/runtime";
import type { ClusterAccess } from "@keyturn/runtime/testing";
import { type CheckSum, TengineStore, type Verdict } from "./tengine-store.ts";

/** The version that its code asks for. */
const CheckSumV1 = defineKind<CheckSum>({
  group: "tengine.taobao.org",
  version: "v1",
  kind: "SecretCheckSum",
  plural: "secretchecksums",
  namespaced: true,
});

/** A reader that follows one namespace, or all of them as Tengine does by default, from its start on. */
interface TengineReader extends Disposable {
  check(): Verdict;
  /** Every verdict since the start or the last `forget`, one after each change that it saw; the same one again is left out. */
  readonly verdicts: readonly Verdict[];
  forget(): void;
  /** True once it has heard of a checksum; with all namespaces, by namespace and name. */
  trusts(checksumName: string): boolean;
  /** Its ids. */
  ids(): readonly string[];
}

/** Starts a reader and waits until it knows what there is. */
export async function startTengineReader(cluster: ClusterAccess, namespace?: string): Promise<TengineReader> {
  const transport = createHttpTransport(await loadConfig({ kubeconfig: cluster.adminKubeconfig, env: {} }));
  const caches = createCaches({
    transport,
    clock: systemClock,
    random: systemRandom,
    log: createLogger({ level: "error", destination: { write: () => undefined } }),
  });
  const stop = new AbortController();
  const place = namespace === undefined ? {} : { namespace };
  const secrets = caches.watch(Secret, { ...place, whole: true });
  const checksums = caches.watch(CheckSumV1, place);
  caches.start(stop.signal);
  await Promise.all([secrets.whenSynced(), checksums.whenSynced()]);
  const store = new TengineStore();
  const verdicts: Verdict[] = [];
  const note = (): void => {
    const verdict = store.check();
    if (verdicts.at(-1) !== verdict) verdicts.push(verdict);
  };
  const keyed = (key: ObjectKey): string => {
    const { namespace: home = "", name } = nameOf(key);
    return `${home}/${name}`;
  };
  secrets.subscribe((change) => {
    if (change.type === "deleted") store.drop(keyed(change.key));
    else store.put(change.value);
    note();
  });
  checksums.subscribe((change) => {
    if (change.type === "deleted") store.forget(keyed(change.key));
    else if (change.type !== "updated") store.see(change.value);
    note();
  });
  return {
    check: () => store.check(),
    verdicts,
    forget: () => void verdicts.splice(0),
    trusts: (checksumName) => store.trusts(namespace === undefined ? checksumName : `${namespace}/${checksumName}`),
    ids: () => store.ids(),
    [Symbol.dispose]() {
      stop.abort();
      transport.close();
    },
  };
}
