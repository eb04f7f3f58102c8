// What steps are carried out with, in one run.
import type { ControllerScope, Notice, Run, Stored } from "@keyturn/runtime";
import { fieldManagerOf } from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import type { EventingAuth } from "./api.ts";
import type { grantKeeper } from "./grant-keeper.ts";
import type { ApplicationOwner, ApplicationRef, IdentityProvider, IssuedSecret } from "./identity/identity-provider.ts";
import type { Observation } from "./observation.ts";
import type { EventReason } from "./reasons.ts";
import type { Act } from "./step.ts";
import type { Target } from "./target.ts";

/** The change of one type. */
export type ActOf<Type extends Act["type"]> = Extract<Act, { readonly type: Type }>;

/** One run's means. */
export interface StepContext {
  readonly run: Run;
  readonly scope: Pick<ControllerScope, "clock">;
  readonly controller: string;
  readonly provider: IdentityProvider | undefined;
  readonly target: Target | undefined;
  readonly grants: ReturnType<typeof grantKeeper>;
  readonly notify: (notice: Notice & { readonly reason: EventReason }) => void;
  /** To be told of writes to the object in a step that can still fail: its failure is reported on the object as it then is. */
  readonly onWritten: (object: Stored<EventingAuth>) => void;
  readonly onIssued: (why: ActOf<"issue">["why"]) => void;
  readonly onAbandoned: () => void;
  /** A secret that came with the application and is still to be written. */
  firstSecret: IssuedSecret | undefined;
}

/** Whose application it is, as identity providers want to know it. */
export function applicationOwner({ object }: Observation, { grants }: StepContext): ApplicationOwner {
  return { name: object.metadata.name, uid: object.metadata.uid, grants };
}

/** An application of the object. */
export function refTo(id: string, observation: Observation, context: StepContext): ApplicationRef {
  return { ...applicationOwner(observation, context), id };
}

/** The identity provider, which is open whenever a step at it was planned. */
export function providerOf({ provider }: StepContext): IdentityProvider {
  if (!provider) throw new Error("a step was planned at an identity provider that is not open");
  return provider;
}

/** The runtime's cluster, which is open whenever a step in it was planned. */
export function targetOf({ target }: StepContext): Target {
  if (!target) throw new Error("a step was planned in a cluster that is not open");
  return target;
}

/** Who writes. */
export function writerOf({ controller }: Pick<StepContext, "controller">): { readonly fieldManager: string } {
  return { fieldManager: fieldManagerOf(keyturn, controller) };
}
