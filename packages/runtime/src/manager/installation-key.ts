// A key that the installation keeps for itself: what is signed with it was written by this operator, and digests made with it give nothing away.
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { isApiError } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import { Secret } from "../client/builtin-kinds.ts";
import type { AccessRule } from "../controller/controller.ts";
import type { Operator } from "../controller/owned-objects.ts";

/** What a controller needs that asks for the key: nobody else can read it, and of other Secrets it shows nothing. */
export function installationKeyAccess(operator: Operator): readonly AccessRule[] {
  const why = "to keep the installation's own key, with which it knows what it has written";
  return [
    { kind: Secret, verbs: ["get"], resourceNames: [nameOfKey(operator)], inOwnNamespace: true, why },
    // A name cannot be asked for here.
    { kind: Secret, verbs: ["create"], inOwnNamespace: true, why },
  ];
}

function nameOfKey({ name }: Operator): string {
  return `${name}-installation-key`;
}

const keyBytes = 32;
const dataKey = "key";
/** How long a missing right is not asked for again. */
const retryMs = 300_000;

/** The key, made if there is none; undefined while the right to read it is missing. */
export type InstallationKey = (signal: AbortSignal) => Promise<Uint8Array | undefined>;

/** The key of an operator, read once. Two processes that make it at the same time get the same one: the second finds its name taken. */
export function installationKey(
  client: Pick<Client, "get" | "create">,
  { operator, namespace, nowMs }: { readonly operator: Operator; readonly namespace: string; readonly nowMs: () => number },
): InstallationKey {
  const name = { namespace, name: nameOfKey(operator) };
  let known: Uint8Array | undefined;
  let refusedMs: number | undefined;
  const read = async (signal: AbortSignal): Promise<Uint8Array | undefined> => {
    const bytes = Buffer.from((await client.get(Secret, name, signal))?.data?.[dataKey] ?? "", "base64");
    return bytes.byteLength >= keyBytes ? bytes : undefined;
  };
  const make = async (signal: AbortSignal): Promise<Uint8Array | undefined> => {
    const made = randomBytes(keyBytes);
    const secret = { metadata: name, type: "Opaque", immutable: true, data: { [dataKey]: made.toString("base64") } };
    try {
      await client.create(Secret, secret, { fieldManager: operator.name }, signal);
      return made;
    } catch (error) {
      if (!isApiError(error, "AlreadyExists")) throw error;
      return read(signal);
    }
  };
  return async (signal) => {
    if (known || (refusedMs !== undefined && nowMs() < refusedMs + retryMs)) return known;
    try {
      known = (await read(signal)) ?? (await make(signal));
    } catch (error) {
      // Who has not been given the right yet works without.
      if (!isApiError(error, "Forbidden")) throw error;
      refusedMs = nowMs();
    }
    return known;
  };
}
