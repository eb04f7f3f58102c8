// What does it cost to publish the checksum of 20,000 Secrets, and to publish it again after one change?
import { setTimeout as delay } from "node:timers/promises";
import { Secret } from "@keyturn/runtime";
import * as z from "zod";
import { defaultVersionAnnotation } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import type { Contestants } from "../contestants.ts";
import { type Command, ContestantProcess } from "../measure/contestant-process.ts";
import type { Bed, Sample, Scenario } from "../scenario.ts";
import { checksumNamespace, checksumWorld, seedCertificates } from "../worlds/checksum-world.ts";
import { applyProductCrds } from "../worlds/product-crds.ts";

const countOf = ({ quick }: Bed): number => (quick ? 2000 : 20_000);
const published = z.object({ type: z.literal("published"), ms: z.number() });
/** After the work: long enough for a garbage collector to give memory back if it is going to. */
const settleMs = 2000;

/** The scenario, for these contestants. */
export function checksumPublish(contestants: Contestants): Scenario {
  let version = 1;
  return {
    id: "checksum-publish",
    title: "Publishing the checksum of 20,000 Secrets, and again after one change",
    method:
      "One namespace with 20,000 Secrets of type kubernetes.io/tls (RSA 2048, a leaf and its issuer: 4 kB each). The controller starts from nothing; *first* is until its checksum is stored. Then one Secret " +
      "changes: *change* is from before that write until the next checksum is stored, and *change (CPU)* all the processor time that it cost the controller, with the list of metadata from a quorum that " +
      "proves that the cache is not behind, and the writing of 20,000 ids. Settling is off. (With `--quick`, 2,000 Secrets.)",
    contestants: [contestants.ours("checksum-publish", "Keyturn")],
    metrics: [
      { id: "first", label: "first", unit: "ms" },
      { id: "firstCpu", label: "first (CPU)", unit: "ms" },
      { id: "change", label: "change", unit: "ms" },
      { id: "changeCpu", label: "change (CPU)", unit: "ms" },
      { id: "settled", label: "memory", unit: "MB" },
      { id: "peak", label: "peak", unit: "MB" },
    ],
    goals: [
      { text: "checksum of 20,000 Secrets: memory, MB", contestant: "checksum-publish", metric: "peak", type: "limit", below: 150, over: "worst" },
    ],
    async prepare(bed) {
      await applyProductCrds(bed);
      await seedCertificates(bed, countOf(bed));
    },
    measure: ({ command }, bed) => measure(command, bed, ++version),
  };
}

async function measure(command: Command, bed: Bed, version: number): Promise<Sample> {
  const { client, adminKubeconfig } = bed.cluster;
  const namespace = checksumNamespace(countOf(bed));
  await using world = checksumWorld(bed, countOf(bed));
  await using contestant = new ContestantProcess({ ...command, args: [...command.args, ...world.args] }, adminKubeconfig);
  const first = published.parse(await contestant.next());
  const firstCpu = contestant.usage().cpuMs;
  await delay(settleMs);
  const before = contestant.usage();
  const startedMs = performance.now();
  const annotations = { [defaultVersionAnnotation]: String(version) };
  await client.mergePatch(Secret, { namespace, name: "shop-7" }, { metadata: { annotations } });
  published.parse(await contestant.next());
  const change = performance.now() - startedMs;
  // The status follows the checksum, and belongs to its cost.
  await delay(settleMs);
  const after = contestant.usage();
  return {
    first: first.ms,
    firstCpu,
    change,
    changeCpu: after.cpuMs - before.cpuMs,
    settled: after.rssBytes / 2 ** 20,
    peak: after.peakRssBytes / 2 ** 20,
  };
}
