// Who does the common job.
import type { Contestants } from "../contestants.ts";
import type { Contestant, RatioGoal } from "../scenario.ts";

/** The runtimes and clients that the job was written on, the slowest first: those who are close run one after the other. */
export function jobContestants(contestants: Contestants): readonly Contestant[] {
  return [
    contestants.fluentClient("job", "fluent-client"),
    contestants.clientNode("job", "client-node"),
    contestants.kubeRs("job", "kube-rs"),
    contestants.controllerRuntime("job", "controller-runtime"),
    contestants.ours("job", "Keyturn"),
  ];
}

/** No contestant but the limit: it cannot go on after an error. */
export function jobLimit(contestants: Contestants): Contestant {
  return contestants.ours("job-bare-loop", "bare loop");
}

/** The limit for whoever applies what he owns, as our runtime does: the difference to the other is what server-side apply costs. */
export function applyingLimit(contestants: Contestants): Contestant {
  const limit = jobLimit(contestants);
  const command = { ...limit.command, args: [...limit.command.args, "apply"] };
  return { ...limit, id: "job-applying-loop", label: "bare loop, by applies", command };
}

/** Two to three times behind ours in everything but requests, and the slowest: what would be guarded by it shows next to the others too. */
export const fluentClient = "fluent-client-job";

/** Everybody but ours and the limit. */
export const jobPeers = ["controller-runtime-job", "kube-rs-job", "client-node-job", fluentClient] as const;

/** What a goal of the job is about. */
interface JobRatio {
  readonly metric: string;
  readonly of: string;
  readonly atMost?: number;
  /** See `RatioGoal`; next to fluent-client it need not be said. */
  readonly unguarded?: boolean;
}

/** Ours is to be no more than `atMost` times another's; `figure` says in words of what. */
export function jobGoal(figure: string, { metric, of, atMost = 1, unguarded = false }: JobRatio): RatioGoal {
  const whose = of === "job-bare-loop" ? "the bare loop" : of.replace(/-job$/, "");
  return {
    type: "ratio",
    text: `${figure}, of ${whose}`,
    contestant: "job",
    metric,
    of,
    atMost,
    ...((unguarded || of === fluentClient) && { unguarded: true }),
  };
}
