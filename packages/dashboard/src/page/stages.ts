// The five stages that a credential passes through, as people call them.
import type { StageName } from "../contract/index.ts";
import type { ViewName } from "./route.ts";

export interface StageInfo {
  readonly step: StageName;
  readonly view: ViewName;
  /** What the step does, as a verb. */
  readonly verb: string;
  /** The heading of its view. */
  readonly title: string;
  /** What its records are about. */
  readonly one: string;
  readonly many: string;
  readonly summary: string;
}

export const stageInfos: readonly StageInfo[] = [
  {
    step: "eventing-auth",
    view: "issue",
    verb: "Issue",
    title: "Issued",
    one: "runtime",
    many: "runtimes",
    summary: "An application at the identity provider for each runtime, and its credentials in the runtime's cluster.",
  },
  {
    step: "rotation",
    view: "rotate",
    verb: "Rotate",
    title: "Rotation",
    one: "rotation set",
    many: "rotation sets",
    summary: "Next, current and previous versions of a credential, each moving on when its time has come.",
  },
  {
    step: "jwks",
    view: "publish",
    verb: "Publish",
    title: "Keys",
    one: "key set",
    many: "key sets",
    summary: "The public keys of certificates as a JWKS. A replaced key stays for as long as tokens need it.",
  },
  {
    step: "checksum",
    view: "verify",
    verb: "Verify",
    title: "Consistency",
    one: "checksum",
    many: "checksums",
    summary: "Whether control plane and gateways agree on the certificates and Ingresses of each namespace.",
  },
  {
    step: "sidecars",
    view: "roll-out",
    verb: "Roll out",
    title: "Roll-out",
    one: "workload",
    many: "workloads",
    summary: "Workloads whose sidecar is outdated, and what the plan of this moment does with them.",
  },
];

/** `1 runtime`, `2 runtimes`. */
export function counted(count: number, { one, many }: Pick<StageInfo, "one" | "many">): string {
  return `${count} ${count === 1 ? one : many}`;
}
