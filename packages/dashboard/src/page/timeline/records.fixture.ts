// Records of timelines for tests.
import type { KeySetRecord, KeyView, RotationLane, RotationSetRecord } from "../../contract/index.ts";

const base = { apiVersion: "v1", namespace: "shop" };
const fine = { health: "healthy", reason: "Ready", message: "all is well", detail: "", about: [], conditions: [] } as const;

export function lane(name: string, changes: Partial<RotationLane> = {}): RotationLane {
  return {
    ref: { ...base, kind: "RotationTarget", resource: "rotationtargets.rotator.k8s.telekom.com", name },
    rank: 1,
    order: 1,
    delayMs: 60_000,
    held: [],
    planned: [],
    gapMs: 0,
    ...fine,
    ...changes,
  };
}

export function rotationSet(changes: Partial<RotationSetRecord> = {}): RotationSetRecord {
  return {
    type: "rotationSet",
    id: "rotation/shop/keys",
    step: "rotation",
    ref: { ...base, kind: "RotationTarget", resource: "rotationtargets.rotator.k8s.telekom.com", name: "keys-live" },
    ...fine,
    set: "keys",
    source: { ...base, kind: "Secret", resource: "secrets", name: "signing-key" },
    policy: "Settled",
    lanes: [],
    versions: [],
    frozen: [],
    ...changes,
  };
}

export function key(kid: string, changes: Partial<KeyView> = {}): KeyView {
  return { kid, state: "Active", signs: false, source: "tls", algorithm: "RS256", sinceMs: 1000, ...changes };
}

export function keySet(changes: Partial<KeySetRecord> = {}): KeySetRecord {
  return {
    type: "keySet",
    id: "jwks/JWKSConfig/shop/tokens",
    step: "jwks",
    ref: { ...base, kind: "JWKSConfig", resource: "jwksconfigs.keyturn.io", name: "tokens" },
    ...fine,
    configMap: "tokens-jwks",
    endpoint: "/jwks.json",
    keys: [],
    ...changes,
  };
}
