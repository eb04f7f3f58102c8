// What Tengine-Ingress keeps of Secrets and checksums, and its check of the one against the other: written from its source and sharing no code with ours.
// Its own functions gave the answers in tengine.vectors.json, by which this is tested.
import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { Buffer } from "node:buffer";
import type { KubeObject, Secret } from "@keyturn/runtime";

/** A checksum object as its Go type reads it: three fields, and whatever else there is passed over. */
export interface CheckSum extends KubeObject {
  readonly spec: { readonly timestamp: string; readonly checksum?: string; readonly ids?: readonly string[] };
}

/** What a check comes to. `off`: there is no checksum, so everything passes. `undecided`: there is no Secret that it can read. */
export type Verdict = "off" | "undecided" | "pass" | `mismatch: ${string}`;

/** Its stores. */
export class TengineStore {
  /** The id of every Secret that it could read, by namespace and name; undefined if that one has none. */
  readonly #secrets = new Map<string, string | undefined>();
  readonly #checksums = new Map<string, CheckSum>();

  /** A Secret that was added or changed. One that cannot be read keeps its old place, with the version that it had. */
  put(secret: Secret): void {
    const fingerprint = fingerprintOf(secret.data ?? {});
    if (fingerprint !== undefined) this.#secrets.set(keyOf(secret), idOf(secret, fingerprint));
  }

  drop(key: string): void {
    this.#secrets.delete(key);
  }

  /** A checksum that was added. There is no handler for updates: what was first seen stays. */
  see(checksum: CheckSum): void {
    const key = keyOf(checksum);
    if (!this.#checksums.has(key)) this.#checksums.set(key, checksum);
  }

  forget(key: string): void {
    this.#checksums.delete(key);
  }

  /** True if a checksum of this name was seen. */
  trusts(key: string): boolean {
    return this.#checksums.has(key);
  }

  /** Sorted as bytes. */
  ids(): readonly string[] {
    return [...this.#secrets.values()].filter((id) => id !== undefined).toSorted();
  }

  check(): Verdict {
    if (this.#checksums.size === 0) return "off";
    if (this.#secrets.size === 0) return "undecided";
    const ids = this.ids();
    const own = createHash("md5").update(ids.join(",")).digest("hex");
    const checksums = [...this.#checksums.values()];
    if (checksums.some(({ spec }) => spec.checksum === own)) return "pass";
    const [newest] = checksums.toSorted((left, right) => createdMs(right) - createdMs(left) || (keyOf(left) < keyOf(right) ? -1 : 1));
    const listed = newest?.spec.ids ?? [];
    const only = (some: readonly string[], others: readonly string[]): string => some.filter((id) => !others.includes(id)).join(",");
    const difference = `tengine secrets not in SecretCheckSum: <${only(ids, listed)}> and SecretCheckSum secrets not in tengine: <${only(listed, ids)}>`;
    return `mismatch: Check Secret ID: {md5[${own}]} is wrong, diff: {${difference}}`;
  }
}

function keyOf({ metadata: { namespace = "", name = "" } }: KubeObject): string {
  return `${namespace}/${name}`;
}

function createdMs({ metadata }: KubeObject): number {
  return Date.parse(metadata.creationTimestamp ?? "") || 0;
}

/** `%d-%d-%s` of the number at the end of the name, the version, and the SHA-1 of the first certificate. */
function idOf({ metadata }: Secret, fingerprint: string): string | undefined {
  const version = atoi(metadata.annotations?.["nginx.ingress.kubernetes.io/version"] ?? "0");
  const parts = (metadata.name ?? "").split("-");
  const number = atoi(parts.at(-1) ?? "");
  if (version === undefined || version === 0n || parts.length < 2 || number === undefined) return undefined;
  return `${number}-${version}-${fingerprint}`;
}

/** Of a key pair the SHA-1 of the first certificate; of a CA without one nothing; undefined if it cannot be read. */
function fingerprintOf(data: Readonly<Record<string, string>>): string | undefined {
  const [certificate, key, authority] = [data["tls.crt"], data["tls.key"], data["ca.crt"]].map((text) => text && Buffer.from(text, "base64"));
  try {
    if (authority) void new X509Certificate(authority);
    if (data["tls.crt"] === undefined || data["tls.key"] === undefined) return authority ? "" : undefined;
    const [, first] = /-----BEGIN ([^-]*)-----/.exec(certificate?.toString() ?? "") ?? [];
    if (first !== "CERTIFICATE") return undefined;
    const leaf = new X509Certificate(certificate || "");
    if (!leaf.checkPrivateKey(createPrivateKey(key || ""))) return undefined;
    return createHash("sha1").update(leaf.raw).digest("hex");
  } catch {
    return undefined;
  }
}

/** Go's strconv.Atoi: digits with an optional sign, within 64 bits. */
function atoi(text: string): bigint | undefined {
  const number = /^[+-]?[0-9]+$/.test(text) ? BigInt(text.replace(/^\+/, "")) : undefined;
  return number !== undefined && BigInt.asIntN(64, number) === number ? number : undefined;
}
