// All scenarios, in the order in which they run: those that want an empty API server first. Each has its share of the time.
import type { Contestants } from "../contestants.ts";
import type { Scenario } from "../scenario.ts";
import { agentPromotion } from "./agent-promotion.ts";
import { changeLatency } from "./change-latency.ts";
import { checksumHash } from "./checksum-hash.ts";
import { checksumPublish } from "./checksum-publish.ts";
import { commonJob } from "./common-job.ts";
import { idleWatch } from "./idle-watch.ts";
import { issueConverge } from "./issue-converge.ts";
import { issueWatches } from "./issue-watches.ts";
import { jwksConverge } from "./jwks-converge.ts";
import { rotationIdle } from "./rotation-idle.ts";
import { rotationSettle } from "./rotation-settle.ts";
import { sidecarsScan } from "./sidecars-scan.ts";
import { syncSecrets } from "./sync-secrets.ts";

/** A scenario with its time, in seconds on a quiet machine with two cores: preparation, the round that does not count, and as many rounds as fit. */
export interface Scheduled {
  readonly scenario: Scenario;
  /** In `make bench`. */
  readonly fullS: number;
  /** In `make bench-quick`; absent: no part of it. */
  readonly quickS?: number;
}

/** Every scenario, for these contestants. To add one, write its file and name it here. */
export function schedule(contestants: Contestants): readonly Scheduled[] {
  return [
    { scenario: changeLatency(contestants), fullS: 120, quickS: 25 },
    { scenario: idleWatch(contestants), fullS: 50 },
    { scenario: commonJob(contestants, 1000), fullS: 120, quickS: 60 },
    { scenario: commonJob(contestants, 5000), fullS: 240 },
    { scenario: jwksConverge(contestants), fullS: 120, quickS: 30 },
    { scenario: checksumHash(contestants), fullS: 45, quickS: 15 },
    { scenario: checksumPublish(contestants), fullS: 60 },
    { scenario: agentPromotion(contestants), fullS: 120 },
    { scenario: rotationSettle(contestants), fullS: 120, quickS: 30 },
    { scenario: rotationIdle(contestants), fullS: 120 },
    { scenario: sidecarsScan(contestants), fullS: 60, quickS: 20 },
    { scenario: issueConverge(contestants), fullS: 100, quickS: 30 },
    { scenario: issueWatches(contestants), fullS: 60 },
    { scenario: syncSecrets(contestants), fullS: 100, quickS: 40 },
  ];
}
