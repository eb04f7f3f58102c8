// What people see of workloads that are restarted for their sidecars.
import { shellCommand } from "@keyturn/dashboard/contract";
import { inNamespace, type Records } from "../../feature/record.ts";
import { rolloutRecords } from "../../workloads/records.ts";
import type { RolloutView } from "../../workloads/workload-record.ts";
import { sidecarsFleet } from "./controller.ts";
import { sidecarsFlags, sidecarsOptions } from "./flags.ts";
import { consentLabel } from "./labels.ts";

export const sidecarsView: RolloutView = {
  step: "sidecars",
  prefix: "workload",
  hasBareDigests: true,
  restartedFor: "for its sidecar",
  current: "its pods have the sidecar that new ones would get",
  layout: {
    title: "Roll out",
    about: "Workloads whose sidecar is outdated, and what the plan of this moment does with them.",
    empty: "Workloads appear here when their sidecar differs from what new pods would get, and after they have been restarted for that.",
  },
  flags: sidecarsFlags,
  fleet: (flag) => {
    const options = sidecarsOptions(flag);
    return { options: sidecarsFleet(options), limits: options.limits };
  },
  leaveAlone: (ref) => ({
    what: "never restart it for its sidecar",
    command: shellCommand`kubectl label ${ref.resource} ${ref.name} ${inNamespace(ref)} --overwrite ${consentLabel}=disabled`,
  }),
};

export const sidecarsRecords: Records = rolloutRecords(sidecarsView);
