// What Secrets held between two runs: a key that came and went before it could be published may have signed all the same.
import { type Change, nameOf, type ObjectKey } from "@keyturn/runtime";
import type { CertificateSecret } from "./certificates.ts";

/** So many are remembered of a Secret: more in one go are no keys that anybody signs with. */
const maxPassed = 16;

/**
 * Remembers, for objects that this process works on, what their Secrets held since the last run that ended well.
 * In memory alone: what a run has seen of it is written down in the object's status.
 */
export class PassedSecrets {
  /** By the object, then by the Secret's name. */
  readonly #held = new Map<ObjectKey, Map<string, CertificateSecret[]>>();

  /** A Secret of these objects has changed. */
  changed(change: Change<CertificateSecret>, objects: readonly ObjectKey[]): void {
    if (change.type === "added" || change.previous.type === "empty") return;
    const { name } = nameOf(change.key);
    for (const object of objects) {
      const held = this.#held.get(object);
      held?.set(name, [...(held.get(name) ?? []), change.previous].slice(-maxPassed));
    }
  }

  /** What these Secrets of an object held since the last run. From now on they are looked after. */
  since(object: ObjectKey, names: readonly string[]): ReadonlyMap<string, readonly CertificateSecret[]> {
    const held = this.#held.get(object);
    if (!held) this.#held.set(object, new Map());
    return new Map(names.flatMap((name) => (held?.has(name) ? [[name, [...(held.get(name) ?? [])]] as const] : [])));
  }

  /** A run has ended well: what it had seen is written down. What has come since stays. */
  completed(object: ObjectKey, seen: ReadonlyMap<string, readonly CertificateSecret[]>): void {
    const held = this.#held.get(object);
    for (const [name, secrets] of seen) {
      const left = held?.get(name)?.filter((secret) => !secrets.includes(secret)) ?? [];
      if (left.length > 0) held?.set(name, left);
      else held?.delete(name);
    }
  }

  /** This process no longer works on the object. */
  forget(object: ObjectKey): void {
    this.#held.delete(object);
  }
}
