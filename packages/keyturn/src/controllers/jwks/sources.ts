// The sources of an object, read: the keys in its Secrets and in ConfigMaps of others, what those held since the last run, and what is wrong with them.
import { hash, type KeyObject } from "node:crypto";
import { nameOf, type ObjectKey, type PlannedEvent } from "@keyturn/runtime";
import { type CertificateSecret, readCertificateChain, keyMembersOf, keyUseOf, readPublicKey, thumbprintOf } from "../../public-key.ts";
import { limits } from "../../limits.ts";
import { mergedLabel } from "./api.ts";
import { entriesOf, type History } from "./config-map.ts";
import { algorithmFor, certifiedEntry, type KeyEntry, keyIdOf, plainEntry } from "./jwk.ts";
import type { Source } from "./key-history.ts";
import type { Observation } from "./observe.ts";
import type { KeyReason, SourceReason } from "./reasons.ts";
import type { JwksSettings } from "./settings.ts";

// From a Secret to the key that it gives, or the reason why it gives none.

/** What a Secret gives. The message of a refusal names no more than what is public. */
type SourceResult =
  | { readonly type: "key"; readonly key: KeyEntry }
  | { readonly type: "refused"; readonly reason: SourceReason; readonly message: string };

/** Which key, and how it is to be published. */
export type SourceSettings = Pick<JwksSettings, "keyId" | "algorithm" | "rsaAlgorithm">;

/**
 * Reads the key of a Secret.
 *
 * A certificate that is not valid yet gives its key: verifiers should know a key before it signs, and clocks differ. One that has expired does not, so
 * that a forgotten Secret is noticed; what it gave before stays published. A private key that is missing or cannot be read is no blocker.
 */
export function readSourceKey(secret: CertificateSecret | undefined, settings: SourceSettings, nowMs: number): SourceResult {
  if (!secret) return refused("SecretNotFound", "the Secret does not exist");
  if (secret.type === "empty") return refused("CertificateMissing", "the Secret has no tls.crt");
  const { entry } = secret;
  if (secret.type === "tooLarge") {
    return refused("CertificateTooLarge", `${entry} has ${secret.bytes} bytes; no more than ${limits.certificateBytes} are read`);
  }
  if (secret.type === "publicKey") return readPlainKey(secret, settings);
  const chain = readCertificateChain(secret.pem.certificates);
  if (!chain) return refused("CertificateInvalid", `${entry} cannot be used: ${whyNoChain(secret)}`);
  if (secret.privateKey === "differs") return refused("KeyMismatch", "the certificate in tls.crt is for another key than tls.key");
  if (chain.notAfterMs <= nowMs) return refused("CertificateExpired", `the certificate expired at ${new Date(chain.notAfterMs).toISOString()}`);
  const alg = algorithmOf(chain.publicKey, settings);
  return typeof alg === "object" ? alg : { type: "key", key: certifiedEntry(chain, { kid: keyIdOf(chain, settings.keyId), alg }) };
}

/** A public key without a certificate: its `kid` is its thumbprint, for there is nothing else to make one of. */
function readPlainKey({ entry, spki }: Extract<CertificateSecret, { type: "publicKey" }>, settings: SourceSettings): SourceResult {
  const publicKey = readPublicKey(spki);
  const members = publicKey && keyMembersOf(publicKey);
  if (!members) return refused("CertificateInvalid", `${entry} cannot be used: its public key cannot be read`);
  const alg = algorithmOf(publicKey, settings);
  return typeof alg === "object" ? alg : { type: "key", key: plainEntry(members, { kid: thumbprintOf(members), alg }) };
}

function algorithmOf(publicKey: KeyObject, settings: SourceSettings): string | Extract<SourceResult, { type: "refused" }> {
  const use = keyUseOf(publicKey);
  if ("unsupported" in use) return refused("KeyUnsupported", use.unsupported);
  const alg = algorithmFor(use, settings);
  if (alg !== undefined) return alg;
  return refused("AlgorithmMismatch", `algorithm ${settings.algorithm} does not go with a ${use.kind} key; ${use.algorithms.join(", ")} would`);
}

function refused(reason: SourceReason, message: string): Extract<SourceResult, { type: "refused" }> {
  return { type: "refused", reason, message };
}

type WithCertificates = Extract<CertificateSecret, { type: "certificates" }>;

function whyNoChain({ pem }: WithCertificates): string {
  if (pem.certificates.length > 0) return "its first certificate cannot be read";
  return pem.unfinished ? "it breaks off within a certificate" : "there is no PEM certificate in it";
}

// What sources held between two runs: a key that came and went before it could be published may have signed all the same.

/** What a source held since the last run that ended well, each once, the last one last, and how much of it is not remembered. */
export interface Passed<V> {
  readonly states: readonly V[];
  readonly missed: number;
  /** Of all changes that were counted, the last one that is in here. */
  readonly upTo: number;
}

/** What is remembered of a source: its states by their digests, the last one last, with the change that ended each. */
interface Held<V> {
  readonly states: Map<string, { readonly state: V; readonly bytes: number; readonly endedBy: number }>;
  bytes: number;
  missed: number;
}

/**
 * Remembers, for objects that this process works on, what their sources of one kind held since the last run that ended well.
 * In memory alone: what a run has seen of it is written down in the object's status.
 */
export class PassedStates<V> {
  /** By the object, then by the source's name. */
  readonly #held = new Map<ObjectKey, Map<string, Held<V>>>();
  readonly #isNothing: (state: V) => boolean;
  readonly #mostBytes: number;
  #changes = 0;

  /** Of each source so many states are remembered as `limits.passedStates` and `mostBytes` allow, the last ones. */
  constructor({ isNothing, mostBytes }: { readonly isNothing: (state: V) => boolean; readonly mostBytes: number }) {
    this.#isNothing = isNothing;
    this.#mostBytes = mostBytes;
  }

  /** A source of these objects is another than `previous`, if it was anything before. */
  changed(source: ObjectKey, previous: V | undefined, objects: readonly ObjectKey[]): void {
    if (previous === undefined || this.#isNothing(previous)) return;
    const { name } = nameOf(source);
    const text = JSON.stringify(previous);
    const id = hash("sha256", text);
    this.#changes += 1;
    for (const object of objects) {
      const sources = this.#held.get(object);
      if (!sources) continue;
      const held = sources.get(name) ?? { states: new Map(), bytes: 0, missed: 0 };
      sources.set(name, held);
      this.#take(held, id);
      // A source that goes to and fro holds few things, however often.
      held.states.set(id, { state: previous, bytes: text.length, endedBy: this.#changes });
      held.bytes += text.length;
      for (const [oldest] of held.states) {
        if (held.states.size <= limits.passedStates && held.bytes <= this.#mostBytes) break;
        this.#take(held, oldest);
        held.missed += 1;
      }
    }
  }

  #take(held: Held<V>, id: string): void {
    held.bytes -= held.states.get(id)?.bytes ?? 0;
    held.states.delete(id);
  }

  /** What these sources of an object held since the last run. From now on they are looked after. */
  since(object: ObjectKey, names: readonly string[]): ReadonlyMap<string, Passed<V>> {
    const sources = this.#held.get(object);
    if (!sources) this.#held.set(object, new Map());
    return new Map(
      names.flatMap((name) => {
        const held = sources?.get(name);
        const states = Array.from(held?.states.values() ?? [], ({ state }) => state);
        return held ? [[name, { states, missed: held.missed, upTo: this.#changes }] as const] : [];
      }),
    );
  }

  /** A run has ended well: what it had seen is written down. What has come since stays. */
  completed(object: ObjectKey, seen: ReadonlyMap<string, Passed<V>>): void {
    const sources = this.#held.get(object);
    for (const [name, { missed, upTo }] of seen) {
      const held = sources?.get(name);
      if (!held) continue;
      for (const [id, { endedBy }] of held.states) if (endedBy <= upTo) this.#take(held, id);
      held.missed -= missed;
      if (held.states.size === 0 && held.missed === 0) sources?.delete(name);
    }
  }

  /** This process no longer works on the object. */
  forget(object: ObjectKey): void {
    this.#held.delete(object);
  }
}

// From all sources of an object to their keys.

/** A source with what is wrong with it. */
export interface ReadSource extends Source {
  readonly problem: Extract<SourceResult, { type: "refused" }> | undefined;
}

/** All sources of an object, the one whose key signs first. */
export function sourcesOf(
  { secrets, passed, merged, passedMerged }: Observation,
  settings: JwksSettings,
  { before, nowMs }: { readonly before: History; readonly nowMs: number },
): readonly ReadSource[] {
  const own = settings.sources.map((name) => {
    const result = readSourceKey(secrets.get(name), settings, nowMs);
    const before = (passed.get(name)?.states ?? []).map((secret) => readSourceKey(secret, settings, nowMs));
    return {
      name,
      keys: result.type === "key" ? [result.key] : undefined,
      problem: result.type === "refused" ? result : undefined,
      passed: before.flatMap((each) => (each.type === "key" ? each.key : [])),
    };
  });
  const named = [...own.flatMap(({ keys = [], passed: gone }) => [...keys, ...gone]), ...before.keys, ...before.pending];
  const others = settings.mergedConfigMaps.map((name) => {
    const source = mergedSource(name, merged.get(name), passedMerged.get(name)?.states);
    const left = withoutNames(source, named);
    named.push(...(left.keys ?? []));
    return left;
  });
  return [...own, ...others];
}

/**
 * A source of others without the keys that it calls as another key is called already: one of the two would be lost, or both to verifiers that take
 * neither. A name that it has given to another key itself is its own affair.
 */
function withoutNames(source: ReadSource, named: readonly (KeyEntry & { readonly source?: string })[]): ReadSource {
  const taken = Map.groupBy(
    named.filter((key) => key.source !== source.name),
    ({ jwk: { kid } }) => kid,
  );
  const isFree = ({ jwk: { kid }, thumbprint }: KeyEntry): boolean => taken.get(kid)?.some((key) => key.thumbprint === thumbprint) !== false;
  const leftOut = (source.keys ?? []).filter((key) => !isFree(key));
  if (leftOut.length === 0) return { ...source, passed: source.passed.filter(isFree) };
  const message = `other keys are published as ${leftOut
    .map(({ jwk: { kid } }) => kid.slice(0, 100))
    .slice(0, 3)
    .join(", ")} already; its own keys of ${leftOut.length === 1 ? "this name are" : "these names are"} left out`;
  return {
    ...source,
    keys: source.keys?.filter(isFree),
    passed: source.passed.filter(isFree),
    problem: source.problem ?? { type: "refused", reason: "SourceInvalid", message },
  };
}

/** What stands before the name of a ConfigMap that keys come from; no Secret's name has a slash. */
const configMapPrefix = "configmap/";

/** Names of Secrets and of ConfigMaps. */
export interface SourceNames {
  readonly secrets: readonly string[];
  readonly configMaps: readonly string[];
}

/** The names behind what the status calls sources. */
export function namesOfSources(sources: readonly string[]): SourceNames {
  const { secrets = [], configMaps = [] } = Object.groupBy(new Set(sources), (source) =>
    source.startsWith(configMapPrefix) ? "configMaps" : "secrets",
  );
  return { secrets: secrets.filter((name) => name !== ""), configMaps: configMaps.map((source) => source.slice(configMapPrefix.length)) };
}

/** A ConfigMap of others, with all its keys under their own names. */
function mergedSource(name: string, text: string | undefined, before: readonly string[] = []): ReadSource {
  const keys = entriesOf(text ?? "").slice(0, limits.mergedKeys + 1);
  const source = { name: configMapPrefix + name, passed: before.map(entriesOf).flatMap((each) => (each.length > limits.mergedKeys ? [] : each)) };
  if (text === undefined) {
    const message = `there is none with the label ${mergedLabel}: "true"`;
    return { ...source, keys: undefined, problem: { type: "refused", reason: "SourceNotFound", message } };
  }
  if (keys.length === 0) {
    const message = `it holds no JWKS with a key for signatures under jwks.json, or one of more than ${limits.mergedBytes} bytes`;
    return { ...source, keys: undefined, problem: { type: "refused", reason: "SourceInvalid", message } };
  }
  if (keys.length > limits.mergedKeys) {
    const message = `its JWKS has more than ${limits.mergedKeys} keys`;
    return { ...source, keys: undefined, problem: { type: "refused", reason: "SourceInvalid", message } };
  }
  return { ...source, keys, problem: undefined };
}

/** What people call a source. */
export function wordsOfSource(source: string): string {
  return source.startsWith(configMapPrefix) ? `ConfigMap ${source.slice(configMapPrefix.length)}` : `Secret ${source}`;
}

/** What nobody can publish any more: a source changed so often between two runs that not all that it held was remembered. */
export function missedEvents({ passed, passedMerged }: Observation): readonly PlannedEvent[] {
  const sources = [...passed, ...[...passedMerged].map(([name, each]) => [configMapPrefix + name, each] as const)];
  return sources.flatMap(([name, { missed }]): readonly PlannedEvent[] => {
    if (missed === 0) return [];
    const message = `${wordsOfSource(name)} changed so often that ${missed} of its states were not remembered: keys that only they had are not published`;
    return [{ type: "Warning", reason: "KeysMissed" satisfies KeyReason, message }];
  });
}
