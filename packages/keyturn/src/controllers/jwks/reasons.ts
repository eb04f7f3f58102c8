// Why an object of this controller is as it is: the words shared by conditions, Events, metrics and the documentation.
import type { ConditionReport } from "@keyturn/runtime";
import type { ReasonTable } from "../../feature/feature.ts";

/** Why a source gives no key at present. What it gave before stays published. */
const sourceReasons = {
  SecretNotFound: { meaning: "The Secret does not exist.", health: "degraded" },
  CertificateMissing: { meaning: "The Secret has no `tls.crt` and no public key, or an empty one.", health: "degraded" },
  CertificateInvalid: { meaning: "`tls.crt` is not a PEM certificate that can be read, or the public key is none.", health: "degraded" },
  CertificateTooLarge: { meaning: "`tls.crt` is larger than any certificate chain should be.", health: "degraded" },
  SourceNotFound: { meaning: "A ConfigMap that is to be merged does not exist, or lacks its label.", health: "degraded" },
  SourceInvalid: { meaning: "A ConfigMap that is to be merged holds no JWKS with a key for signatures.", health: "degraded" },
  CertificateExpired: { meaning: "The certificate's validity is over.", health: "degraded" },
  KeyMismatch: { meaning: "The certificate is for another key than `tls.key`.", health: "degraded" },
  KeyUnsupported: { meaning: "The key is of a kind or size that is not published.", health: "degraded" },
  AlgorithmMismatch: { meaning: "`algorithm` cannot be used with this kind of key.", health: "degraded" },
} as const satisfies ReasonTable;

/** What else a condition can say. */
const conditionReasons = {
  Ready: { meaning: "All is as the spec asks.", health: "healthy" },
  Published: { meaning: "The ConfigMap holds what the Secrets say.", health: "healthy" },
  Serving: { meaning: "nginx's pods answer with the document.", health: "healthy" },
  InvalidSpec: { meaning: "The spec contradicts itself or has a value that cannot be read.", health: "degraded" },
  Conflict: { meaning: "A name that is wanted belongs to somebody else.", health: "degraded" },
  Publishing: { meaning: "New keys are written down in the status, and published in the next moment.", health: "progressing" },
  UpdateDeferred: { meaning: "A change waits for the ConfigMap's next turn.", health: "progressing" },
  DocumentTooLarge: {
    meaning: "All keys together do not fit into a ConfigMap, so the oldest retired ones had to go early.",
    health: "degraded",
    event: "none",
  },
  DocumentRefused: {
    meaning: "The document that would have been published is not valid, or too large even without retired keys.",
    health: "degraded",
  },
  AllKeysRevoked: { meaning: "Every key is revoked: the document is valid and has no key in it.", health: "degraded" },
  SigningKeyRevoked: { meaning: "The Secret whose key signs still holds a key that is revoked.", health: "degraded" },
  KeysRevoked: { meaning: "Every revocation means a key that is known, and none of those is published.", health: "healthy" },
  RevocationUnknown: { meaning: "A revocation names nothing that is known: no `kid`, thumbprint or certificate.", health: "degraded" },
  RevocationsTooMany: { meaning: "More names are revoked than are remembered. All that they mean is withdrawn.", health: "degraded" },
  WithdrawalRefused: { meaning: "The API server does not let a revoked key be taken out of a ConfigMap under an earlier name.", health: "degraded" },
  RemovalRefused: { meaning: "The API server does not let an object be deleted that is no longer wanted.", health: "degraded" },
  PodsNotAvailable: { meaning: "Not every pod of the Deployment serves the document as it is.", health: "progressing" },
  RollingOut: {
    meaning: "As many pods of nginx as are wanted answer, and those with the document as it was are being replaced.",
    health: "progressing",
  },
  PodsFail: { meaning: "Pods of nginx do not get ready; the message has their own words.", health: "degraded" },
  NotAllowed: { meaning: "The object asks for an image, replicas or resources that this installation does not allow.", health: "degraded" },
  ServerCertificateRefused: {
    meaning: "nginx would not start with the Secret that `tlsSecret` names, so nothing is rolled out.",
    health: "degraded",
  },
  NginxRefused: { meaning: "The API server does not take nginx's objects as the spec makes them.", health: "degraded" },
  Paused: { meaning: "People asked for nothing to be done for the object for now.", health: "paused" },
} as const satisfies ReasonTable;

/** What an Event can say about a key. */
const keyReasons = {
  KeyAdded: { meaning: "A new key is published.", notable: true },
  KeyRenewed: { meaning: "The same key is published with a new certificate." },
  KeyRetired: { meaning: "The key was replaced and is kept for a while, for tokens that it signed.", notable: true },
  KeyRevived: { meaning: "A key that was retiring is in use again." },
  KeyRemoved: { meaning: "A retiring key's time was over.", notable: true },
  KeyRevoked: { meaning: "A key was withdrawn on request.", notable: true },
  KeyDropped: { meaning: "A retiring key was removed early to make room." },
  KeyAdopted: { meaning: "A key of a document that was taken over would not be published otherwise: it is too small, or has no certificate." },
  KeysMissed: { meaning: "A source changed so often before it could be looked at that not everything it held was remembered." },
  EntryLeftOut: { meaning: "An entry of a document that was taken over is no key for signatures, and is no longer published." },
} as const satisfies ReasonTable;

export const jwksReasons = { ...sourceReasons, ...conditionReasons, ...keyReasons };

export type SourceReason = keyof typeof sourceReasons;
export type ConditionReason = SourceReason | keyof typeof conditionReasons;
export type KeyReason = keyof typeof keyReasons;

/** What one condition says. What was refused has the runtime's reason. */
export type JwksCondition = ConditionReport<ConditionReason> | ConditionReport;
