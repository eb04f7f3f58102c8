// All scenarios, in the order in which they run: those that want an empty API server first. Each has its share of the time.
import type { Contestants } from "../contestants.ts";
import type { Scenario } from "../scenario.ts";
import { agentPromotion } from "./agent-promotion.ts";
import { changeLatency } from "./change-latency.ts";
import { checksumHash } from "./checksum-hash.ts";
import { checksumPublish } from "./checksum-publish.ts";
import { commonJob } from "./common-job.ts";
import { growth } from "./growth.ts";
import { growthSubjects } from "./growth-subjects.ts";
import { idleGrowth } from "./idle-growth.ts";
import { idleWatch } from "./idle-watch.ts";
import { issueConverge } from "./issue-converge.ts";
import { issueWatches } from "./issue-watches.ts";
import { jobLatency } from "./job-latency.ts";
import { jobRecovery } from "./job-recovery.ts";
import { jobUnderFaults } from "./job-under-faults.ts";
import { jwksConverge } from "./jwks-converge.ts";
import { rotationIdle } from "./rotation-idle.ts";
import { rotationSettle } from "./rotation-settle.ts";
import { sidecarsScan } from "./sidecars-scan.ts";
import { syncManySecrets, syncSecrets } from "./sync-secrets.ts";

/**
 * A scenario with its time, in seconds on a quiet machine with two cores: preparation, the round that does not count, and as many rounds as fit. Most of it is the API server's:
 * there it makes some 600 writes a second for everybody together.
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
    { scenario: changeLatency(contestants), fullS: 70, quickS: 20, longRounds: 3 },
    { scenario: idleWatch(contestants), fullS: 30, longRounds: 1 },
    { scenario: commonJob(contestants, 1000), fullS: 160, quickS: 48, longRounds: 2 },
    { scenario: commonJob(contestants, 5000), fullS: 320, longRounds: 1 },
    { scenario: jobLatency(contestants), fullS: 160, longRounds: 3 },
    { scenario: jobUnderFaults(contestants), fullS: 80, longRounds: 2 },
    { scenario: jobRecovery(contestants), fullS: 110, longRounds: 4 },
    { scenario: issueConverge(contestants), fullS: 80, quickS: 24, longRounds: 2 },
    { scenario: jwksConverge(contestants), fullS: 110, quickS: 34, longRounds: 2 },
    { scenario: rotationSettle(contestants), fullS: 85, quickS: 40, longRounds: 1 },
    ...growthSubjects.map((subject) => ({ scenario: growth(contestants, subject), fullS: 55, longRounds: 2 })),
    { scenario: sidecarsScan(contestants), fullS: 55, quickS: 12, longRounds: 2 },
    { scenario: issueWatches(contestants), fullS: 45, longRounds: 2 },
    { scenario: checksumHash(contestants), fullS: 25, quickS: 12 },
    { scenario: checksumPublish(contestants), fullS: 40, longRounds: 2 },
    { scenario: syncSecrets(contestants), fullS: 105, quickS: 62, longRounds: 2 },
    // From here on each leaves so much in the API server that every other figure would be worse behind it.
    { scenario: agentPromotion(contestants), fullS: 80, longRounds: 1 },
    { scenario: rotationIdle(contestants), fullS: 165, longRounds: 1 },
    { scenario: idleGrowth(contestants), fullS: 125, longRounds: 1 },
    { scenario: syncManySecrets(contestants), fullS: 190, longRounds: 1 },
  ];
}
