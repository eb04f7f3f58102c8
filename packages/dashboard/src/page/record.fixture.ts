// A record for tests.
import type { ObjectRecord } from "../contract/index.ts";

export function recordFixture(changes: Partial<ObjectRecord> = {}): ObjectRecord {
  const ref = { apiVersion: "v1", namespace: "shop", kind: "JWKSConfig", resource: "jwksconfigs.keyturn.io", name: "tokens" };
  const report = { ref, health: "healthy", reason: "Ready", message: "all is well", detail: "", about: [], conditions: [] } as const;
  const shown = { type: "object", step: "jwks", table: "keySets", facts: [], cells: {}, texts: ["tokens-jwks"] } as const;
  return { id: "jwks/JWKSConfig/shop/tokens", ...report, ...shown, ...changes };
}
