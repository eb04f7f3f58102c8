// How much is taken from others: from whoever writes objects in a cluster, from the clusters of runtimes, identity providers and istiod. What is longer
// is as good as unreadable and is reported as such. Limits on what Keyturn itself writes or shows stand where they are used; those on answers of the API
// server are in the runtime's limits.ts. test/tenants/ holds that nothing within these limits keeps the process from its other work.

const [KiB, MiB] = [1024, 1024 * 1024] as const;

/** Sizes in bytes, lengths in characters, and counts. */
export const limits = {
  // Certificates and keys, in Secrets

  /** A `tls.crt`: far above any chain (a certificate is 1–2 kB), far below what would strain a cache. */
  certificateBytes: 128 * KiB,
  /** A `ca.crt`: whole bundles of public authorities have 200 to 300 kB; no Secret is larger than this. */
  authorityBytes: 1 * MiB,
  /** A `tls.key`: the longest RSA keys that OpenSSL uses, of 16,384 bits, take 13 kB. */
  privateKeyBytes: 32 * KiB,
  /** OpenSSL uses no RSA key with more bits, and no curve that it knows by name has a private key of more bytes (sect571). */
  modulusBytes: 16_384 / 8,
  scalarBytes: 72,
  /** Certificates of a chain that are read, the leaf among them: each costs a signature to check. Chains of public authorities have three or four. */
  chainCertificates: 10,
  /** The public exponent of a certificate that vouches for another: 65537 as a rule. A long one makes a check take as long as a signature. */
  publicExponent: 2 ** 32,
  /** Certificates of a `ca.crt`: all public authorities together are some 150. */
  authorityCertificates: 300,

  // Rotation: sources, version records, annotations

  /** The text of a version, and what a record may unpack to. A Secret holds 1 MiB, which is 6 MiB of JSON if every character has to be escaped. */
  versionBytes: 8 * MiB,
  /** What a Secret may hold, less what a version record needs besides. */
  recordBytes: 1 * MiB - 4096,
  /** The last version and revision that is counted to; a number beyond is no number. */
  highestVersion: 999_999_999,
  /** Versions that a target's annotation gives up. */
  givenUpVersions: 100,
  /** A file of `keyturn plan -f`. */
  planFileBytes: 8 * MiB,

  // JWKS: documents of others, histories

  /** A JWKS in a ConfigMap of somebody else that is merged, and its entries. */
  mergedBytes: 256 * KiB,
  mergedKeys: 100,
  /** A text in the entry of any document: the numbers of the longest RSA keys have 2,731 characters. */
  keyText: 4096,
  /** The entries of a document that is taken over, or was published before. */
  documentKeys: 2000,
  /** Keys that are published together. Those that a source holds are published in any case. */
  publishedKeys: 1000,
  /** All annotations of an object may have 256 KiB together; the rest is left to others. */
  historyBytes: 192 * KiB,
  /** What a Secret, or a merged ConfigMap, held between two runs of its object: different states, and their bytes. When there was more, that is said. */
  passedStates: 200,
  passedSecretBytes: 2 * MiB,
  passedDocumentBytes: 1 * MiB,
  /** Revoked names that are remembered. */
  revokedNames: 1000,

  // Checksums: announcements

  /** Public keys of those who may announce: far above what any number of deployers needs. */
  announcementKeys: 100,
  /** etcd takes requests of 1.5 MiB by default; the rest is for everything else in the object. 25,700 ids of Secrets, 100,000 of Ingresses. */
  idsBytes: 1_400_000,

  // Issuing: clusters of runtimes, identity providers

  /** A kubeconfig with one cluster, one user and their certificates has a few kB. */
  kubeconfigBytes: 32 * KiB,
  /** Its lines, and the signs in it that mean something to a YAML parser and are not in base64: they cost time, long values do not. */
  kubeconfigSigns: 2000,
  /** The head and body of an answer of a runtime's cluster: it is somebody else's, and one Secret is all that is asked of it. */
  targetHeadBytes: 64 * KiB,
  targetBodyBytes: 512 * KiB,
  /** An answer of an identity provider: longer than 100 applications with everything that they can have. */
  providerAnswerBytes: 4 * MiB,
  /** A hundred thousand applications: whatever answers like that does not heed its own cursor. */
  providerPages: 1000,

  // Roll out: what workloads follow

  /** Names in an annotation, and digests in ours: each takes some 60 of the 256 KiB that all annotations have. */
  followedNames: 200,
  /** A kind, a slash, and the longest name of an object. */
  followedName: 300,
  followedEntries: 4000,
  /** Changes that are named one by one in the digest of a restart. */
  namedChanges: 20,
  /** The longest that changes are collected for a workload. */
  pausePeriodMs: 24 * 3_600_000,

  // Roll out: istiod and its webhooks

  /** istiod's answer about a pod: a pod has at most 1.5 MiB. */
  injectionAnswerBytes: 4 * MiB,
  /** Answers that are kept, by template: those of all workloads there are, and not of all that a template ever was. Each has some 500 bytes. */
  keptInjections: 20_000,
  /** An expression of CEL in a webhook. */
  celExpression: 10_000,
  /** The name of an image. */
  imageName: 255,

  // What is shown or sent

  /** Words of an identity provider in a condition, and of istiod, which quotes the whole pod in some of its messages. */
  providerWords: 600,
  istiodWords: 200,
  /** What a webhook for notifications answers, and an API server about its version. */
  notificationAnswerBytes: 64 * KiB,
  serverVersionBytes: 64 * KiB,
  /** The agent's own files on a disk that may be damaged. */
  agentFileBytes: 64 * MiB,
} as const;
