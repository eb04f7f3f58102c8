// How much work is one changed Secret among 20,000, next to hashing them all anew, and next to bare SHA-1?
import * as z from "zod";
import type { Contestants } from "../contestants.ts";
import { ContestantProcess } from "../measure/contestant-process.ts";
import type { Contestant, Scenario } from "../scenario.ts";

const done = z.object({ type: z.literal("done"), ms: z.number() });

/** The scenario, for these contestants. */
export function checksumHash(contestants: Contestants): Scenario {
  const mode = (name: string, label: string): Contestant => {
    const { command, ...contestant } = contestants.ours("checksum-hash", label);
    return { ...contestant, id: `checksum-${name}`, command: { ...command, args: [...command.args, name] } };
  };
  return {
    id: "checksum-hash",
    title: "The hashing of 20,000 certificates, and of one",
    method:
      "In one process, without a cluster: 20,000 Secrets of RSA 2048 with a chain of two. *All anew* reads each certificate and key, checks that they belong together, and makes the id, the digest of " +
      "the content and the checksum of all. *One change* is the same for one Secret in a set that is kept up to date, with the checksum of all made anew. *Bare SHA-1* hashes the same 20,000 certificates one by one " +
      "and does nothing else; *sha1sum* is the system's program on one file of the same bytes. (With `--quick`, 4,000 Secrets.)",
    contestants: [mode("one", "Keyturn, one change"), mode("all", "Keyturn, all anew"), mode("sha1", "bare SHA-1"), mode("sha1sum", "sha1sum")],
    metrics: [{ id: "work", label: "work", unit: "ms" }],
    goals: [
      {
        text: "one changed Secret of 20,000: work, of hashing all anew",
        contestant: "checksum-one",
        metric: "work",
        type: "ratio",
        of: "checksum-all",
        atMost: 0.01,
      },
      {
        text: "SHA-1 of 20,000 certificates: time, of sha1sum's",
        contestant: "checksum-sha1",
        metric: "work",
        type: "ratio",
        of: "checksum-sha1sum",
        atMost: 4,
      },
    ],
    prepare: () => Promise.resolve(),
    async measure({ command }, { cluster, quick }) {
      const count = quick ? 4000 : 20_000;
      await using contestant = new ContestantProcess({ ...command, args: [...command.args, String(count)] }, cluster.adminKubeconfig);
      return { work: done.parse(await contestant.next()).ms };
    },
  };
}
