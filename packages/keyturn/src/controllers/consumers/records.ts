// What people see of workloads that use credentials.
import { shellCommand } from "@keyturn/dashboard/contract";
import { inNamespace, type Records } from "../../feature/record.ts";
import { rolloutRecords } from "../../workloads/records.ts";
import type { RolloutView } from "../../workloads/workload-record.ts";
import { restartOnChangeAnnotation, startedWithAnnotation } from "./annotations.ts";
import { changedInWords, readNames } from "./content.ts";
import { consumersFleet } from "./controller.ts";
import { consumersFlags, consumersOptions } from "./flags.ts";

export const consumersView: RolloutView = {
  step: "consumers",
  prefix: "consumer",
  restartedFor: "because something that it uses has changed",
  current: "its pods were started with what it uses",
  layout: {
    title: "Use",
    about: "Workloads that use Secrets and ConfigMaps, and what the plan of this moment does with them.",
    empty: "Workloads appear here once an annotation or --consumers.auto asks for restarts when something that they use changes.",
  },
  flags: consumersFlags,
  fleet: (flag) => {
    const options = consumersOptions(flag);
    return { options: consumersFleet(options), limits: options.limits };
  },
  leaveAlone: (ref) => ({
    what: "never restart it for what it uses",
    command: shellCommand`kubectl annotate ${ref.resource} ${ref.name} ${inNamespace(ref)} --overwrite ${restartOnChangeAnnotation}=never`,
  }),
  markAnnotation: startedWithAnnotation,
  marks: ({ records }) => {
    const text = records[startedWithAnnotation];
    if (text === undefined) return undefined;
    const { names, behind } = readNames(text);
    return { about: [...new Set(names.map((entry) => entry.split("/")[1] ?? ""))], behind: behind.length > 0 ? changedInWords(behind) : undefined };
  },
};

export const consumersRecords: Records = rolloutRecords(consumersView);
