// All scenarios, in the order in which they run, each with its share of the time.
import type { Contestants } from "../contestants.ts";
import type { Scenario } from "../scenario.ts";
import { agentPromotion } from "./agent-promotion.ts";
import { commonJob } from "./common-job.ts";
import { growth, growthSubjects } from "./growth.ts";
import { idleGrowth } from "./idle-growth.ts";
import { jobLatency } from "./job-latency.ts";
import { jobRecovery, jobRestart, jobUnderFaults } from "./job-recovery.ts";
import { jwksConverge } from "./jwks-converge.ts";
import { changeLatency, idleWatch } from "./one-watch.ts";
import { syncManySecrets, syncSecrets } from "./sync-secrets.ts";

/**
 * A scenario with its time, in seconds on a quiet machine with two cores: preparation, the round that does not count, and as many rounds as fit. Most of it is the API server's:
 * there it makes some 600 to 1,500 writes a second for everybody together.
 */
export interface Scheduled {
  readonly scenario: Scenario;
  /** In `make bench`. */
  readonly fullS: number;
  /** In `make bench-quick`; absent: no part of it. */
  readonly quickS?: number;
  /** For one whose runs take long at full size: so many rounds are enough, and none is spent on what a first run takes more, which is little there. */
  readonly longRounds?: number;
}

/** Every scenario, for these contestants. To add one, write its file and name it here. */
export function schedule(contestants: Contestants): readonly Scheduled[] {
  return [
    { scenario: changeLatency(contestants), fullS: 50, quickS: 20, longRounds: 5 },
    { scenario: idleWatch(contestants), fullS: 26, longRounds: 1 },
    { scenario: commonJob(contestants, 1000), fullS: 175, quickS: 48, longRounds: 2 },
    { scenario: commonJob(contestants, 5000), fullS: 250, longRounds: 1 },
    { scenario: jobLatency(contestants), fullS: 110, longRounds: 5 },
    // Chance decides much in these two: more rounds, of few objects.
    { scenario: jobUnderFaults(contestants), fullS: 70, longRounds: 3 },
    { scenario: jobRecovery(contestants), fullS: 75, longRounds: 4 },
    { scenario: jobRestart(contestants), fullS: 60, longRounds: 2 },
    { scenario: jwksConverge(contestants), fullS: 90, quickS: 34, longRounds: 2 },
    ...growthSubjects.map((subject) => ({ scenario: growth(contestants, subject), fullS: 42, longRounds: 2 })),
    { scenario: syncSecrets(contestants), fullS: 70, quickS: 62, longRounds: 2 },
    { scenario: agentPromotion(contestants), fullS: 60, longRounds: 1 },
    { scenario: idleGrowth(contestants), fullS: 90, longRounds: 1 },
    { scenario: syncManySecrets(contestants), fullS: 140, longRounds: 1 },
  ];
}
