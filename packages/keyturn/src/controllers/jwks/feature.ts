// The feature "publish": what the command line, the manifests and the docs know about it.
import type { DecodedObject, KubeObject } from "@keyturn/runtime";
import { selectionOf } from "../attention.ts";
import type { Feature } from "../feature.ts";
import { JWKS, JWKSConfig } from "./api.ts";
import { jwksFlags } from "./flags.ts";
import { jwksMetrics } from "./metrics.ts";
import { jwksController } from "./reconcile.ts";
import { type SettingsResult, settingsOfJwks, settingsOfJwksConfig } from "./settings.ts";

export const jwksFeature: Feature = {
  name: "jwks",
  summary: "publishes the public keys of certificates as a JWKS, through rotations",
  flags: Object.values(jwksFlags),
  metrics: jwksMetrics,
  kinds: [JWKSConfig, JWKS],
  controllers(flag) {
    const limits = { intervalMs: flag(jwksFlags.reconcileInterval), perMinute: flag(jwksFlags.reconcilesPerMinute) };
    const common = { limits, configMapIntervalMs: flag(jwksFlags.configMapInterval), selects: selectionOf(flag) };
    return [
      jwksController({ name: "jwks", kind: JWKSConfig, readSettings: decoded(JWKSConfig.decode, settingsOfJwksConfig), ...common }),
      jwksController({ name: "jwks-rieset", kind: JWKS, readSettings: decoded(JWKS.decode, settingsOfJwks), ...common }),
    ];
  },
};

/** Reads an object that the API server may have checked against an older CRD, with defaults filled in. */
function decoded<T>(decode: (object: KubeObject) => DecodedObject<T>, read: (object: T) => SettingsResult): (object: KubeObject) => SettingsResult {
  // A cache hands out the same object until it changes, and an object is looked at several times for each change.
  const known = new WeakMap<KubeObject, SettingsResult>();
  const settingsOf = (object: KubeObject): SettingsResult => {
    const result = decode(object);
    return result.ok ? read(result.object) : { ok: false, message: result.problems.join("; ") };
  };
  return (object) => {
    const settings = known.get(object) ?? settingsOf(object);
    known.set(object, settings);
    return settings;
  };
}
