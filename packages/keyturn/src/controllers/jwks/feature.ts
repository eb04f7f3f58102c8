// The feature "publish" as the command line, the manifests and the docs know it.
import type { Feature } from "../../feature/feature.ts";
import { selectionOf } from "../../feature/pause-and-selection.ts";
import { JWKS, JWKSConfig } from "./api.ts";
import { jwksController, jwksMetrics } from "./controller.ts";
import { jwksFlags, nginxInstallation } from "./flags.ts";
import { decoded, settingsOfJwks, settingsOfJwksConfig } from "./settings.ts";
import { jwksAlerts, jwksPanels } from "./monitoring.ts";
import { jwksReasons } from "./reasons.ts";
import { jwksRecords } from "./records.ts";

export const jwksFeature: Feature = {
  name: "jwks",
  stage: {
    verb: "publish",
    summary: "publishes the public keys of certificates as a JWKS, through rotations",
    noun: ["key set", "key sets"],
    example: "the public keys of certificates as a JWKS, through rotations",
    guide: "docs/guides/publish.md",
  },
  onByDefault: true,
  flags: Object.values(jwksFlags),
  rightsFlags: [{ flag: jwksFlags.serving, is: "true" }],
  metrics: jwksMetrics,
  kinds: [JWKSConfig, JWKS],
  reasons: jwksReasons,
  alerts: jwksAlerts,
  panels: jwksPanels,
  predecessor: { name: "jwks-operator", image: "jwks-operator", guide: "docs/migration/from-jwks-operator.md" },
  records: jwksRecords,
  controllers(flag) {
    const rateLimit = { minIntervalMs: flag(jwksFlags.reconcileInterval), maxPerMinute: flag(jwksFlags.reconcilesPerMinute) };
    const common = { rateLimit, configMapIntervalMs: flag(jwksFlags.configMapInterval), selects: selectionOf(flag), serves: flag(jwksFlags.serving) };
    const nginx = nginxInstallation(flag);
    const readConfig = decoded(JWKSConfig.decode, settingsOfJwksConfig, nginx);
    const readJwks = decoded(JWKS.decode, settingsOfJwks, nginx);
    return [
      jwksController({ name: "jwks", kind: JWKSConfig, readSettings: readConfig, ...common }),
      jwksController({ name: "jwks-rieset", kind: JWKS, readSettings: readJwks, ...common }),
    ];
  },
};
