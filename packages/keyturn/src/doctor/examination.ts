// What every check of `keyturn doctor` works with.
import type { AccessRule, Client, Clock, CustomKind, Transport } from "@keyturn/runtime";
import type { FeatureName } from "../controllers/feature.ts";

/** The cluster, and the operator as its flags describe it. */
export interface Examination {
  readonly client: Client;
  readonly transport: Transport;
  readonly clock: Clock;
  /** The API server's time. */
  readonly now: () => number;
  /** By how much the API server's clock is ahead; undefined before its first answer. */
  readonly serverAheadMs: () => number | undefined;
  /** Where requests go. */
  readonly server: string;
  readonly features: readonly FeatureName[];
  /** The kinds that the chosen features serve. */
  readonly kinds: readonly CustomKind[];
  /** The names of the chosen controllers. */
  readonly controllers: readonly string[];
  /** Every right that the chosen controllers and the manager need, wherever the operator works. */
  readonly access: readonly AccessRule[];
  /** The namespaces that the operator is limited to; empty for all. */
  readonly namespaces: readonly string[];
  /** Where the operator's Leases are; undefined if that is not known. */
  readonly operatorNamespace: string | undefined;
  /** Whose rights to check instead of one's own. */
  readonly serviceAccount: { readonly namespace: string; readonly name: string } | undefined;
  readonly signal: AbortSignal;
}
