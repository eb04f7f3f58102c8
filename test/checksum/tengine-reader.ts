// Tengine-Ingress's half of the protocol, written from its documented rules and sharing no code with ours: what it would say to what our control plane publishes.
import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { Buffer } from "node:buffer";
import {
  type Cache,
  createCaches,
  createHttpTransport,
  createLogger,
  defineKind,
  type KubeObject,
  loadConfig,
  nameOf,
  Secret,
  type Stored,
  systemClock,
  systemRandom,
} from "@keyturn/runtime";
import type { ClusterAccess } from "@keyturn/runtime/testing";

/** A checksum object as its Go type reads it: version v1, three fields. */
interface CheckSum extends KubeObject {
  readonly spec: { readonly timestamp: string; readonly checksum?: string; readonly ids?: readonly string[] };
}
const CheckSumV1 = defineKind<CheckSum>({
  group: "tengine.taobao.org",
  version: "v1",
  kind: "SecretCheckSum",
  plural: "secretchecksums",
  namespaced: true,
});

/** What a check comes to. `off`: there is no checksum, so everything passes. `undecided`: there is no Secret with an id. */
export type Verdict = "off" | "undecided" | "pass" | `mismatch: ${string}`;

/** A reader that follows one namespace, or all of them as Tengine does by default, from its start on. */
export interface TengineReader extends Disposable {
  check(): Verdict;
  /** Every verdict since the start or the last `forget`, one after each change that it saw; the same one again is left out. */
  readonly verdicts: readonly Verdict[];
  forget(): void;
  /** True once it has heard of a checksum. */
  trusts(checksumName: string): boolean;
  /** Its ids, in no order. */
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
  const store = new Map<string, string>();
  const trusted = new Map<string, Stored<CheckSum>>();
  const verdicts: Verdict[] = [];
  const check = (): Verdict => verdictOf([...store.values()], [...trusted.values()]);
  const note = (): void => {
    const verdict = check();
    if (verdicts.at(-1) !== verdict) verdicts.push(verdict);
  };
  follow(secrets, {
    put(name, secret) {
      const id = idOf(secret);
      // Without a version or number it is no member; one that cannot be parsed keeps its old place.
      if (id.type === "id") store.set(name, id.id);
      else if (id.type === "none") store.delete(name);
      note();
    },
    drop(name) {
      store.delete(name);
      note();
    },
  });
  checksums.subscribe((change) => {
    const { namespace: home, name: own } = nameOf(change.key);
    const name = namespace === undefined ? `${home}/${own}` : own;
    // There is no handler for updates: what was first seen stays.
    if (change.type === "deleted") trusted.delete(name);
    else if (change.type !== "updated") trusted.set(name, change.value);
    note();
  });
  return {
    check,
    verdicts,
    forget: () => void verdicts.splice(0),
    trusts: (checksumName) => trusted.has(checksumName),
    ids: () => [...store.values()],
    [Symbol.dispose]() {
      stop.abort();
      transport.close();
    },
  };
}

function follow(
  cache: Cache<Stored<Secret>>,
  { put, drop }: { readonly put: (name: string, secret: Secret) => void; readonly drop: (name: string) => void },
): void {
  cache.subscribe((change) => {
    const { namespace, name } = nameOf(change.key);
    if (change.type === "deleted") drop(`${namespace}/${name}`);
    else put(`${namespace}/${name}`, change.value);
  });
}

type Id = { readonly type: "id"; readonly id: string } | { readonly type: "none" | "unreadable" };

/** `%d-%d-%s` of the number at the end of the name, the version, and the SHA-1 of the first certificate. */
function idOf({ metadata, data = {} }: Secret): Id {
  const version = atoi(metadata.annotations?.["nginx.ingress.kubernetes.io/version"] ?? "0");
  const parts = (metadata.name ?? "").split("-");
  const number = atoi(parts.at(-1) ?? "");
  if (version === undefined || version === 0n || parts.length < 2 || number === undefined) return { type: "none" };
  try {
    const leaf = new X509Certificate(Buffer.from(data["tls.crt"] ?? "", "base64"));
    if (!leaf.checkPrivateKey(createPrivateKey(Buffer.from(data["tls.key"] ?? "", "base64")))) return { type: "unreadable" };
    const { raw } = leaf;
    return { type: "id", id: `${number}-${version}-${createHash("sha1").update(raw).digest("hex")}` };
  } catch {
    return { type: "unreadable" };
  }
}

/** Go's strconv.Atoi: digits with an optional sign, within 64 bits. */
function atoi(text: string): bigint | undefined {
  const number = /^[+-]?[0-9]{1,30}$/.test(text) ? BigInt(text.replace(/^\+/, "")) : undefined;
  return number !== undefined && BigInt.asIntN(64, number) === number ? number : undefined;
}

function verdictOf(ids: readonly string[], checksums: readonly Stored<CheckSum>[]): Verdict {
  if (checksums.length === 0) return "off";
  if (ids.length === 0) return "undecided";
  const own = createHash("md5").update(ids.toSorted().join(",")).digest("hex");
  if (checksums.some(({ spec }) => spec.checksum === own)) return "pass";
  const created = ({ metadata }: Stored<CheckSum>): string => metadata.creationTimestamp ?? "";
  const [newest] = checksums.toSorted(
    (left, right) => created(right).localeCompare(created(left)) || left.metadata.name.localeCompare(right.metadata.name),
  );
  const listed = newest?.spec.ids ?? [];
  const only = (some: readonly string[], others: readonly string[]): string => some.filter((id) => !others.includes(id)).join(" ");
  return `mismatch: tengine secrets not in SecretCheckSum: <${only(ids, listed)}> and SecretCheckSum secrets not in tengine: <${only(listed, ids)}>`;
}
