// What rieset/jwks-operator's users may have written.

/** Every field of its JWKS that may be left out. */
export const allFields = {
  nginxConfigMapName: "tokens-nginx",
  endpoint: "/.well-known/jwks.json",
  updateStrategy: "rolling",
  keepOldKeys: true,
  oldKeysTTL: "720h",
  reconcileInterval: "5m",
  jwksUpdateInterval: "6h",
  jwksVerificationInterval: "5m",
};
