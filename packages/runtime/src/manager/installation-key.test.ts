// The installation's key: made once, the same for all processes, and done without where the right is missing.
import { expect, test } from "vitest";
import { ApiError } from "../client/api-error.ts";
import type { Secret } from "../client/builtin-kinds.ts";
import type { Client } from "../client/client.ts";
import { type InstallationKey, installationKey } from "./installation-key.ts";

const { signal } = new AbortController();

/** A namespace that has room for one Secret. */
class Place {
  secret: Secret | undefined;
  reads = 0;
  refuses = false;
  nowMs = 0;

  /** What one process knows. */
  process(): InstallationKey {
    const client = {
      get: async () => {
        this.reads += 1;
        if (this.refuses) throw new ApiError("GET", 403, { reason: "Forbidden" });
        return this.secret;
      },
      create: async (_kind: unknown, secret: Secret) => {
        if (this.secret) throw new ApiError("POST", 409, { reason: "AlreadyExists" });
        return (this.secret = secret);
      },
    };
    // Only what the key asks for is there.
    return installationKey(client as unknown as Pick<Client, "get" | "create">, {
      operator: { name: "op", domain: "op.example" },
      namespace: "system",
      nowMs: () => this.nowMs,
    });
  }
}

test("is made if there is none, read once, and the same for every process, also if two make it at once", async () => {
  const place = new Place();
  const [one, two] = [place.process(), place.process()];
  const keys = await Promise.all([one(signal), two(signal)]);
  expect(keys[0]?.byteLength).toBe(32);
  expect(keys[1]).toEqual(keys[0]);
  const { reads } = place;
  expect(await one(signal)).toEqual(keys[0]);
  expect(place.reads).toBe(reads);
  expect(place.secret?.metadata).toEqual({ namespace: "system", name: "op-installation-key" });
});

test("who may not read it does without, asks again after a while, and then has it", async () => {
  const place = new Place();
  place.refuses = true;
  const key = place.process();
  expect(await key(signal)).toBeUndefined();
  expect(await key(signal)).toBeUndefined();
  expect(place.reads).toBe(1);
  place.refuses = false;
  place.nowMs = 300_000;
  expect((await key(signal))?.byteLength).toBe(32);
});
