// `keyturn dashboard`: the page, served on this machine and read with the person's own kubeconfig and rights.
import { once } from "node:events";
import { createCaches, createLogger, createMetrics, systemClock, systemRandom } from "@keyturn/runtime";
import { stageControllers } from "../registry.ts";
import type { Feature, FlagReader } from "../feature/feature.ts";
import { makeLaunchPage, openInBrowser } from "../dashboard/launch-page.ts";
import { startDashboard } from "../dashboard/dashboard.ts";
import { readStaticFiles, unbuiltText } from "../dashboard/static-files.ts";
import { secretAccess } from "../dashboard/viewer-rights.ts";
import { leaseLeaders } from "../dashboard/stage-leaders.ts";
import { selectionFlags } from "../feature/pause-and-selection.ts";
import { type Flag, numberFlag, operatorNamespaceFlag, readFlags, switchFlag } from "../feature/flag.ts";
import { operatorFlags } from "../operator-flags.ts";
import { keepContact } from "../status/server-contact.ts";
import { watchLeases } from "../status/status-watches.ts";
import { type Console, version } from "./command-line.ts";
import { inSession } from "./session.ts";

/** For every command that opens the page. */
export const noOpenFlag = switchFlag({ name: "no-open", default: false, help: "print the page's address and do not open the browser" });

const flags = {
  port: numberFlag({ name: "dashboard-port", default: 0, least: 0, most: 65_535, help: "where the page is served on this machine; 0 = a free port" }),
  noOpen: noOpenFlag,
  namespaces: { ...operatorFlags.namespaces, help: "look only in these namespaces; otherwise in all" },
  operatorNamespace: operatorNamespaceFlag,
  planSidecars: switchFlag({
    name: "plan-sidecars",
    default: true,
    help: "ask the API server what new pods would get, by creating pods that are not stored; needs the right to create pods",
  }),
};

/** The flags of `keyturn dashboard`: its own, and those of the controllers, so that plans and times are those of the operator. */
export function dashboardFlags(registry: readonly Feature[]): readonly Flag[] {
  return [
    ...Object.values(flags),
    operatorFlags.kubeconfig,
    operatorFlags.context,
    ...Object.values(selectionFlags),
    ...registry.flatMap((feature) => feature.flags),
  ];
}

/** Serves until asked to stop. */
export async function dashboardCommand(
  given: Readonly<Record<string, string | undefined>>,
  console: Console,
  registry: readonly Feature[],
): Promise<void> {
  const { environment, signal } = console;
  const { port, noOpen, namespaces, operatorNamespace, planSidecars } = readFlags(flags, given, environment);
  const flag: FlagReader = (wanted) => readFlags({ flag: wanted }, given, environment).flag;
  const files = await readStaticFiles();
  if (files.size === 0) throw new Error(unbuiltText);
  await inSession(
    given,
    console,
    async ({ client, transport, server, now }) => {
      const log = createLogger({ level: "error", format: "text", destination: { write: (line: string) => console.err(line) } });
      const clock = { ...systemClock, now };
      const stop = new AbortController();
      const caches = createCaches({ transport, clock, random: systemRandom, log, namespaces });
      // The operator is rarely in one of the namespaces that are looked at.
      const everywhere = createCaches({ transport, clock, random: systemRandom, log });
      const controllers = stageControllers(given, environment, registry);
      const contact = keepContact({ client, clock }, stop.signal);
      const { secret, access } = secretAccess();
      await using dashboard = await startDashboard({
        bindAddress: `127.0.0.1:${port}`,
        version,
        watch: caches.watch.bind(caches),
        statusOf: (cache) => caches.statusOf(cache),
        client,
        clock,
        log,
        metrics: createMetrics(),
        registry,
        files,
        contact,
        leaders: leaseLeaders(watchLeases({ everywhere, operatorNamespace, contact }, Object.values(controllers).flat()), controllers),
        flag,
        viewer: "page",
        ...(planSidecars && { ask: { client, signal: stop.signal } }),
        shown: { cluster: server, ...(namespaces.length > 0 && { namespaces }) },
        access: () => access,
      });
      caches.start(stop.signal);
      everywhere.start(stop.signal);
      const url = `${dashboard.url}#secret=${secret}`;
      await using door = await makeLaunchPage(url);
      const isOpen = !noOpen && (await openInBrowser(door));
      console.out(`the dashboard of ${server}: ${url}\n${isOpen ? "it is open in your browser; " : ""}Ctrl-C ends it\n`);
      if (!signal.aborted) await once(signal, "abort");
      stop.abort();
    },
    // The page says itself how the server fares.
    { isPatient: true },
  );
}
