// Why an object of this controller is as it is: the words shared by conditions, Events, metrics and the documentation.

/** Why a source gives no key at present. What it gave before stays published. */
export type SourceReason =
  /** The Secret does not exist. */
  | "SecretNotFound"
  /** The Secret has no `tls.crt`, or an empty one. */
  | "CertificateMissing"
  /** `tls.crt` is not a PEM certificate that can be read. */
  | "CertificateInvalid"
  /** `tls.crt` is larger than any certificate chain should be. */
  | "CertificateTooLarge"
  /** The certificate's validity is over. */
  | "CertificateExpired"
  /** The certificate is for another key than `tls.key`. */
  | "KeyMismatch"
  /** The key is of a kind or size that is not published. */
  | "KeyUnsupported"
  /** `algorithm` cannot be used with this kind of key. */
  | "AlgorithmMismatch";

/** What a condition can say. */
export type ConditionReason =
  | SourceReason
  /** All is as the spec asks. */
  | "Ready"
  /** The ConfigMap holds what the Secrets say. */
  | "Published"
  /** nginx's pods answer with the document. */
  | "Serving"
  /** The spec contradicts itself or has a value that cannot be read. */
  | "InvalidSpec"
  /** A name that is wanted belongs to somebody else. */
  | "Conflict"
  /** A change waits for the ConfigMap's next turn. */
  | "UpdateDeferred"
  /** All keys together do not fit into a ConfigMap, so the oldest retired ones had to go early. */
  | "DocumentTooLarge"
  /** The document that would have been published is not valid, or too large even without retired keys. */
  | "DocumentRefused"
  /** Every key is revoked: the document is valid and has no key in it. */
  | "AllKeysRevoked"
  /** No pod of the Deployment is available. */
  | "PodsNotAvailable"
  /** The API server does not take nginx's objects as the spec makes them. */
  | "NginxRefused"
  /** People asked for nothing to be done for the object for now. */
  | "Paused";

/** What an Event can say about a key. */
export type KeyReason =
  /** A new key is published. */
  | "KeyAdded"
  /** The same key is published with a new certificate. */
  | "KeyRenewed"
  /** The key was replaced and is kept for a while, for tokens that it signed. */
  | "KeyRetired"
  /** A key that was retiring is in use again. */
  | "KeyRevived"
  /** A retiring key's time was over. */
  | "KeyRemoved"
  /** A key was withdrawn on request. */
  | "KeyRevoked"
  /** A retiring key was removed early to make room. */
  | "KeyDropped";
