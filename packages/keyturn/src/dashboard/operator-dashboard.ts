// The dashboard as part of the operator: beside the controllers, on every replica, through their caches.
import type { Runnable, ControllerDefinition } from "@keyturn/runtime";
import { stageControllers } from "../registry.ts";
import { keepContact } from "../status/server-contact.ts";
import { type AccessCheck, TokenAccess, viewerNamespaces } from "./viewer-rights.ts";
import { type Dashboard, type DashboardOptions, startDashboard } from "./dashboard.ts";
import { ownLeaders, watchRenewals } from "./stage-leaders.ts";

/** What it is made with. */
export interface OperatorDashboardOptions extends Pick<
  DashboardOptions,
  "bindAddress" | "version" | "registry" | "features" | "flag" | "files" | "rates" | "streamTimes"
> {
  /** The address of the API server. */
  readonly cluster: string;
  /** Where the operator's Leases are. */
  readonly leaseNamespace: string;
  /** Default: bearer tokens of the cluster. */
  readonly access?: AccessCheck;
  /** How long an answer about a token is good for; see `TokenAccess`. */
  readonly tokenFreshMs?: number;
  /** Called when it listens. */
  readonly onStarted?: (dashboard: Dashboard) => void;
}

/** A dashboard beside these controllers. */
export function operatorDashboard(controllers: readonly ControllerDefinition[], options: OperatorDashboardOptions): Runnable {
  return {
    async start({ caches, client, clock, log, metrics, namespaces, controllers: statuses }) {
      const stop = new AbortController();
      const contact = keepContact({ client, clock }, stop.signal);
      const renewals = watchRenewals({ client, clock, namespace: options.leaseNamespace, statuses }, stop.signal);
      const starting = startDashboard({
        ...options,
        contact,
        watch: caches.watch.bind(caches),
        statusOf: (cache) => caches.statusOf(cache),
        client,
        clock,
        log,
        metrics,
        leaders: ownLeaders({ statuses, controllers: stageControllers({}, {}, options.registry), contact, renewals }),
        viewer: "operator",
        running: controllers,
        shown: { cluster: options.cluster, ...(namespaces.length > 0 && { namespaces }) },
        access: (shown) =>
          options.access ??
          new TokenAccess({
            client,
            clock,
            log,
            shown,
            namespaces: viewerNamespaces({ client, clock, log, limitedTo: namespaces }),
            ...(options.tokenFreshMs !== undefined && { freshMs: options.tokenFreshMs }),
          }),
      });
      const dashboard = await starting.catch((error: unknown) => {
        stop.abort();
        throw error;
      });
      log.info({ bindAddress: options.bindAddress }, "the dashboard is served");
      options.onStarted?.(dashboard);
      return {
        async [Symbol.asyncDispose]() {
          stop.abort();
          await dashboard[Symbol.asyncDispose]();
        },
      };
    },
  };
}
