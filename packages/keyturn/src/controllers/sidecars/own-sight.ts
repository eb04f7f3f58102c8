// The sight of somebody who runs no controller: watches of their own, and what a new pod would get asked of the API server itself.
import type { Client, Clock, ControllerScope } from "@keyturn/runtime";
import type { WorkloadId } from "./candidate.ts";
import { Expectations } from "./expectations.ts";
import { Gate } from "./gate.ts";
import { InjectorConfiguration } from "./injector-configuration.ts";
import { Inspector } from "./inspector.ts";
import { expectedByApiServer } from "./plan-report.ts";
import type { SidecarsOptions } from "./reconcile.ts";
import { NamespaceSettling } from "./settling.ts";
import type { SidecarsSight } from "./sight.ts";
import { watchSidecars } from "./watches.ts";

/** What it is made with. */
export interface OwnSightOptions extends Pick<ControllerScope, "watch"> {
  readonly client: Client;
  readonly clock: Clock;
  readonly options: SidecarsOptions;
  readonly signal: AbortSignal;
}

/** As many questions at a time: the API server has others to serve, too. */
const questionsAtATime = 8;

/** Declares the watches. Questions are creations of pods that are not stored; who asks needs the right to create pods. */
export function ownSidecarsSight({ watch, client, clock, options, signal }: OwnSightOptions): SidecarsSight {
  const { whole, compareHub, selects, settleMs, limits } = options;
  const watches = watchSidecars({ watch }, { ...options, istioNamespaces: [] });
  const configuration = new InjectorConfiguration(watches.configuration, { clock, settleMs });
  const matters = (label: string): boolean => configuration.injectors.namespaceLabels.has(label);
  const settling = new NamespaceSettling(watches.namespaces, { clock, settleMs, matters });
  const told = new Set<(id: WorkloadId) => void>();
  const expectations = new Expectations({ clock, onAnswer: (id) => told.forEach((tell) => tell(id)) });
  configuration.onChange(() => expectations.clear());
  const gate = new Gate(questionsAtATime);
  const inspector = new Inspector({
    watches,
    configuration,
    expectations,
    expect: (source) => gate.run(() => expectedByApiServer(client, source, { whole, signal })),
    compareHub,
    whole,
    selects,
    namespaceSettlesInMs: (namespace) => settling.settlesInMs(namespace),
  });
  return { watches, inspector, limits, onAnswer: (listener) => void told.add(listener) };
}
