// All scenarios, in the order in which they run: those that want an empty API server first.
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

/** Every scenario, for these contestants. To add one, write its file and name it here. */
export function scenarios(contestants: Contestants): readonly Scenario[] {
  return [
    changeLatency(contestants),
    idleWatch(contestants),
    commonJob(contestants, 1000),
    commonJob(contestants, 5000),
    jwksConverge(contestants),
    checksumHash(contestants),
    checksumPublish(contestants),
    agentPromotion(contestants),
    rotationSettle(contestants),
    rotationIdle(contestants),
    sidecarsScan(contestants),
    issueConverge(contestants),
    issueWatches(contestants),
    syncSecrets(contestants),
  ];
}
