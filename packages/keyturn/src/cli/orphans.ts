// `keyturn orphans`: what was left behind at the identity provider and in the clusters of runtimes, listed, and deleted after a question.
import { keyOf, Secret, systemClock, systemRandom } from "@keyturn/runtime";
import { eventingAuthFlags, readSettings } from "../controllers/eventing-auth/flags.ts";
import { IdentityProviders } from "../controllers/eventing-auth/identity/provider.ts";
import { findOrphans, type Orphan, type OrphanReport } from "../controllers/eventing-auth/orphans.ts";
import type { FlagReader } from "../feature/feature.ts";
import { type Flag, readFlags, switchFlag, UsageError } from "../feature/flag.ts";
import { operatorFlags } from "../operator-flags.ts";
import { renderTable } from "../text.ts";
import type { Console } from "./command-line.ts";
import { outputFlag, printed } from "./output.ts";
import { inSession, type Session } from "./session.ts";

const flags = {
  output: outputFlag,
  delete: switchFlag({ name: "delete", default: false, help: "delete what was found, after a question about each" }),
  yes: switchFlag({ name: "yes", short: "y", default: false, help: "with --delete: answer every question with yes" }),
};

/** The flags of `keyturn orphans`: its own, and those that say where the operator works. */
export const orphansFlags: readonly Flag[] = [
  operatorFlags.kubeconfig,
  operatorFlags.context,
  ...Object.values(flags),
  ...Object.values(eventingAuthFlags),
];

/** Prints what was left behind. Rejects, so that the exit code is 1, if somewhere nobody could look, or something could not be deleted. */
export async function orphansCommand(given: Readonly<Record<string, string | undefined>>, console: Console): Promise<void> {
  const { output, yes, delete: deletes } = readFlags(flags, given, console.environment);
  if (yes && !deletes) throw new UsageError("--yes: there is nothing to answer without --delete");
  if (deletes && !yes && !console.ask) throw new UsageError("--delete: nobody can be asked here; look at the list first, and then use --yes");
  const flag: FlagReader = (each) => readFlags({ flag: each }, given, console.environment).flag;
  await inSession(given, console, async (session) => {
    const providers = new IdentityProviders({
      type: flag(eventingAuthFlags.provider),
      allowHttp: flag(eventingAuthFlags.allowHttp),
      timeoutMs: flag(eventingAuthFlags.providerTimeout),
      clock: systemClock,
      random: systemRandom,
      env: console.environment,
    });
    try {
      const report = await search(session, providers, flag, console);
      console.out(`${printed({ text: inWords(report), data: asData(report) }, output)}\n`);
      const failed = deletes ? await deleteAll(report.orphans, yes, console) : 0;
      if (failed > 0) throw new Error(`${failed} could not be deleted`);
      if (report.unread.length > 0) throw new Error(`${report.unread.length} clusters could not be looked into`);
    } finally {
      providers.close();
    }
  });
}

async function search({ client }: Session, providers: IdentityProviders, flag: FlagReader, { environment }: Console): Promise<OrphanReport> {
  const settings = readSettings(flag);
  const secret = await client.get(Secret, settings.providerSecret);
  if (!secret) throw new UsageError(`there are no credentials for the identity provider: Secret ${keyOf(settings.providerSecret)} does not exist`);
  return findOrphans({ client, settings, provider: providers.forSecret(secret.data ?? {}), clock: systemClock, env: environment });
}

function inWords({ orphans, unread }: OrphanReport): string {
  const rows = orphans.map(({ type, runtime, application, why }) => [type, runtime, application, why]);
  const found = rows.length === 0 ? "nothing was left behind" : renderTable(["WHAT", "RUNTIME", "APPLICATION", "WHY"], rows);
  const caution = orphans.some(({ type }) => type === "application")
    ? ["another installation of Keyturn that shares the identity provider leaves the same marks: its applications are listed here too"]
    : [];
  return [found, ...caution, ...unread.map(({ where, why }) => `not looked into: ${where}: ${why}`)].join("\n");
}

function asData({ orphans, unread }: OrphanReport): unknown {
  return { orphans: orphans.map(({ remove: _remove, ...orphan }) => orphan), unread };
}

/** Resolves to how many could not be deleted. */
async function deleteAll(orphans: readonly Orphan[], yes: boolean, console: Console): Promise<number> {
  let failed = 0;
  for (const { type, runtime, application, remove } of orphans) {
    const what = type === "application" ? `application ${application} (${runtime})` : `the Secret in the cluster of ${runtime}`;
    const answer = yes ? "y" : await console.ask?.(`delete ${what}? [y/N] `);
    if (!/^y(?:es)?$/i.test(answer?.trim() ?? "")) continue;
    await remove().then(
      () => console.out(`deleted ${what}\n`),
      (error: unknown) => {
        failed++;
        console.err(`cannot delete ${what}: ${error instanceof Error ? error.message : String(error)}\n`);
      },
    );
  }
  return failed;
}
