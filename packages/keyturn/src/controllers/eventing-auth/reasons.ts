// Why an EventingAuth is as it is: the words shared by conditions, Events, metrics and the documentation.
import type { ReasonTable } from "../../feature/feature.ts";

/** Why the runtime's cluster cannot be worked with. */
const targetReasons = {
  KubeconfigNotFound: { meaning: "There is no Secret with the runtime's kubeconfig.", health: "degraded" },
  KubeconfigRefused: {
    meaning: "The kubeconfig cannot be used, or asks for something that is not allowed to it: programs, files, insecure TLS.",
    health: "degraded",
  },
  TargetConnecting: { meaning: "The first answer of the cluster is awaited.", health: "progressing" },
  TargetUnreachable: { meaning: "The cluster does not answer.", health: "degraded" },
  TargetForbidden: { meaning: "The cluster answers, and refuses the kubeconfig's user what is needed.", health: "degraded" },
} as const satisfies ReasonTable;

/** What else a condition can say. */
const conditionReasons = {
  Ready: { meaning: "Both the application and the Secret are as they should be.", health: "healthy" },
  InProgress: { meaning: "Something is being made.", health: "progressing" },
  IASApplicationCreated: { meaning: "The application exists. The predecessor's word.", health: "healthy" },
  IASApplicationCreationFailed: { meaning: "The application could not be made, found or asked about. The predecessor's word.", health: "degraded" },
  SecretCreated: { meaning: "The Secret is in the runtime's cluster. The predecessor's word.", health: "healthy" },
  SecretCreationFailed: { meaning: "The Secret could not be written. The predecessor's word.", health: "degraded" },
  TargetReached: { meaning: "The cluster answers.", health: "healthy" },
  NamespaceNotServed: { meaning: "The object is in a namespace whose EventingAuths do not count; nothing is done for it.", health: "degraded" },
  NameTaken: {
    meaning: "An older EventingAuth in another namespace has this name, and so the runtime; nothing is done for this one.",
    health: "degraded",
  },
  ApplicationsMissing: {
    meaning:
      "The identity provider does not have this application, and may be another one: the application was last seen elsewhere, or most others are missing too. Nothing is replaced.",
    health: "degraded",
  },
  ChangesTooOften: {
    meaning: "The object or its Secret changes so often that the identity provider is asked only now and then.",
    health: "degraded",
  },
  SecretConflict: { meaning: "A Secret of that name exists in the runtime's cluster, and is not ours.", health: "degraded" },
  TokenIssued: { meaning: "A token was issued for the credentials.", health: "healthy" },
  CredentialsRefused: { meaning: "The token endpoint does not accept the credentials.", health: "degraded" },
  TokenEndpointFailed: { meaning: "The token endpoint could not be asked.", health: "degraded" },
  DeletionWaiting: { meaning: "The object is being deleted, and something holds that up.", health: "progressing", event: "Warning" },
  ControlPlaneRefused: { meaning: "The control plane refused something that is needed.", health: "degraded" },
  DeadlineExceeded: { meaning: "The work took longer than a run may take and was cut; it is tried again.", health: "degraded" },
  Paused: { meaning: "People asked for nothing to be done for the object for now.", health: "paused" },
  InternalError: { meaning: "Something failed that nobody foresaw; the operator's log says what.", health: "degraded" },
} as const satisfies ReasonTable;

/** What an Event can say besides. */
const eventReasons = {
  ApplicationCreated: { meaning: "A new application was made.", notable: true },
  Adopted: {
    meaning: "An application that was made for this object before, or that an annotation names, or a Secret of it, is its own from now on.",
  },
  ApplicationGone: { meaning: "The application is not at the identity provider any more, or can no longer be managed there; another one is made." },
  ApplicationMayBeLeft: { meaning: "A process died while it registered a client; at a server without a list, that client may be left." },
  DuplicateDeleted: { meaning: "A second application that one request had made for this object was deleted." },
  SecretIssued: { meaning: "The first credentials were written to the runtime's cluster.", notable: true },
  SecretRepaired: { meaning: "The Secret was missing or had been changed, and has new credentials.", notable: true },
  SecretRotated: { meaning: "The Secret has new credentials because the old ones were old enough.", notable: true },
  OldSecretsDeleted: { meaning: "Client secrets that nobody should use any more were deleted at the identity provider." },
  Abandoned: { meaning: "The object is gone, and something in the runtime's cluster or at the identity provider was left behind." },
} as const satisfies ReasonTable;

export const eventingAuthReasons = { ...targetReasons, ...conditionReasons, ...eventReasons };

export type TargetReason = keyof typeof targetReasons;
export type ConditionReason = TargetReason | keyof typeof conditionReasons;
export type EventReason = keyof typeof eventReasons;
