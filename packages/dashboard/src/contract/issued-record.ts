// An EventingAuth: an application at the identity provider and its credentials in a runtime's cluster.
import type { RecordBase } from "./record.ts";

/** A runtime with its application. */
export interface IssuedRecord extends RecordBase {
  readonly type: "issued";
  /** `issued/<namespace>/<name>`. */
  readonly id: string;
  readonly step: "eventing-auth";
  readonly application?: { readonly name: string; readonly id: string };
  /** Where the Secret is: in which cluster, under which name. */
  readonly target?: { readonly clusterId: string; readonly secret: string };
  /** When the credentials were issued. */
  readonly issuedMs?: number;
  /** Known only where the operator's flags are. */
  readonly nextRotationMs?: number;
  readonly deletingSinceMs?: number;
}
