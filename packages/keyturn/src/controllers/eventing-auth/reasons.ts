// Why an EventingAuth is as it is: the words shared by conditions, Events, metrics and the documentation.

/** Why the runtime's cluster cannot be worked with. */
export type TargetReason =
  /** There is no Secret with the runtime's kubeconfig. */
  | "KubeconfigNotFound"
  /** The kubeconfig cannot be used, or asks for something that is not allowed to it: programs, files, insecure TLS. */
  | "KubeconfigRefused"
  /** The first answer of the cluster is awaited. */
  | "TargetConnecting"
  /** The cluster does not answer. */
  | "TargetUnreachable"
  /** The cluster answers, and refuses the kubeconfig's user what is needed. */
  | "TargetForbidden";

/** What a condition can say. */
export type ConditionReason =
  | TargetReason
  /** Both the application and the Secret are as they should be. */
  | "Ready"
  /** Something is being made. */
  | "InProgress"
  /** The application exists. The predecessor's word. */
  | "IASApplicationCreated"
  /** The application could not be made, found or asked about. The predecessor's word. */
  | "IASApplicationCreationFailed"
  /** The Secret is in the runtime's cluster. The predecessor's word. */
  | "SecretCreated"
  /** The Secret could not be written. The predecessor's word. */
  | "SecretCreationFailed"
  /** The cluster answers. */
  | "TargetReached"
  /** The object is in another namespace than the kubeconfigs; nothing is done for it. */
  | "NamespaceNotServed"
  /** A Secret of that name exists in the runtime's cluster, and is not ours. */
  | "SecretConflict"
  /** A token was issued for the credentials. */
  | "TokenIssued"
  /** The token endpoint does not accept the credentials. */
  | "CredentialsRefused"
  /** The token endpoint could not be asked. */
  | "TokenEndpointFailed"
  /** The object is being deleted, and something holds that up. */
  | "DeletionWaiting"
  /** The control plane refused something that is needed. */
  | "ControlPlaneRefused"
  /** People asked for nothing to be done for the object for now. */
  | "Paused"
  /** Something failed that nobody foresaw; the operator's log says what. */
  | "InternalError";

/** What an Event can say besides. */
export type EventReason =
  /** A new application was made. */
  | "ApplicationCreated"
  /** An application that was made for this object before, or that its runtime uses, or such a Secret, is its own from now on. */
  | "Adopted"
  /** The first credentials were written to the runtime's cluster. */
  | "SecretIssued"
  /** The Secret was missing or had been changed, and has new credentials. */
  | "SecretRepaired"
  /** The Secret has new credentials because the old ones were old enough. */
  | "SecretRotated"
  /** Client secrets that nobody should use any more were deleted at the identity provider. */
  | "OldSecretsDeleted"
  /** The object is gone, and something in the runtime's cluster or at the identity provider was left behind. */
  | "Abandoned";
