// `keyturn dev`: a real control plane on this machine, the examples in it, every controller at work, and a screen that tells what happens.
import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Runnable,
  type ControllerDefinition,
  createCaches,
  createHttpTransport,
  createLogger,
  Event,
  loadConfig,
  type Logger,
  runOperator,
  Service,
  sleep,
  systemClock,
  systemRandom,
} from "@keyturn/runtime";
import { type Cluster, clusterFilesIn, everything, forwardTo, realPods, serveFromHost, startCluster } from "@keyturn/runtime/testing";
import * as z from "zod";
import type { Dashboard } from "../dashboard/dashboard.ts";
import { makeLaunchPage, openInBrowser } from "../dashboard/launch-page.ts";
import { operatorDashboard } from "../dashboard/operator-dashboard.ts";
import { readStaticFiles, unbuiltText } from "../dashboard/static-files.ts";
import { secretAccess } from "../dashboard/viewer-rights.ts";
import { realPodsObstacle, writeExampleImages } from "../dev/images.ts";
import { examplesFolder, proxyImages, readManifests, stories } from "../dev/stories.ts";
import { keyturn } from "../feature/feature.ts";
import { numberFlag, readFlags, textFlagWithDefault } from "../feature/flag.ts";
import { operatorFlags, usualNamespace } from "../operator-flags.ts";
import { controllersOf, features, stageControllers } from "../registry.ts";
import { keepContact } from "../status/server-contact.ts";
import { watchStatus } from "../status/status-watches.ts";
import { paintFor } from "../text.ts";
import { Rollout } from "../workloads/workload.ts";
import { type Console, version } from "./command-line.ts";
import { noOpenFlag } from "./dashboard.ts";
import { type FirstScreen, firstScreenText, type Happening, happeningText } from "./first-screen.ts";
import { renderCrds, renderRbac } from "./manifests.ts";
import { LiveText } from "./output.ts";

const flags = {
  examples: textFlagWithDefault({ name: "examples", placeholder: "FOLDER", default: examplesFolder, help: "the manifests to apply" }),
  port: numberFlag({
    name: "dashboard-port",
    default: 0,
    least: 0,
    most: 65_535,
    help: "where the dashboard is served on this machine; 0 = a free port",
  }),
  noOpen: noOpenFlag,
  logLevel: operatorFlags.logLevel,
};

/** The flags of `keyturn dev`. The folder is that of the checkout, which is different on every machine. */
export const devFlags = [{ ...flags.examples, default: "examples" }, flags.port, flags.noOpen, flags.logLevel];

const serviceAccount = { namespace: usualNamespace, name: keyturn.name };
const redrawEveryMs = 1000;
const lookAgainMs = 100;

/** Runs until asked to stop; then everything is gone again. */
export async function devCommand(given: Readonly<Record<string, string | undefined>>, console: Console): Promise<void> {
  const { examples, port, noOpen, logLevel } = readFlags(flags, given, console.environment);
  const manifests = await readManifests(examples);
  const say = (line: string): void => console.out(`${line}\n`);
  const files = await readStaticFiles();
  const failed = new AbortController();
  const signal = AbortSignal.any([console.signal, failed.signal]);

  const obstacle = realPodsObstacle();
  const beganMs = systemClock.monotonic();
  const sayAfter = (what: string): void => say(`${Math.round((systemClock.monotonic() - beganMs) / 1000)} s`.padStart(5) + `  ${what}`);
  say("starting a local Kubernetes control plane (the first time it is built)");
  await using cluster = obstacle === undefined ? await startRealCluster() : await startCluster(everything);
  if (signal.aborted) return;
  sayAfter(obstacle === undefined ? "the control plane is up, and a node that runs pods" : "the control plane is up, with simulated pods");
  if (obstacle !== undefined) say(`       (${obstacle})`);
  await using stack = new AsyncDisposableStack();
  const begun = await Promise.all(stories.map((begin) => begin(cluster, stack)));
  const settings: typeof given = { "jwks.serving": "true", ...Object.assign({}, ...begun.map(({ flags = {} }) => flags)), ...given };
  const { secret, access } = secretAccess();
  const served = Promise.withResolvers<Dashboard>();
  const controllers = controllersOf(features, settings, console.environment);
  await applyAll(cluster, { manifests, controllers });
  sayAfter("the examples are applied");
  const bindAddress = obstacle === undefined ? await servePageByService(cluster, stack, port) : `${shownHost}:${port}`;
  const runnable = operatorDashboard(controllers, {
    bindAddress,
    registry: features,
    flag: (flag) => readFlags({ flag }, settings, console.environment).flag,
    cluster: "keyturn dev",
    leaseNamespace: serviceAccount.namespace,
    version,
    access,
    files,
    onStarted: served.resolve,
  });
  const logFile = join(cluster.folder, "keyturn.log");
  const log = createLogger({ level: logLevel, destination: createWriteStream(logFile) });
  const operating = operate(cluster, { log, controllers, runnable, signal });
  const { url } = await Promise.race([served.promise, operating.then(() => ({ url: "" }))]);
  const address = url.replace(servedHost, shownHost);
  await Promise.race([untilAnswered(address, signal), operating]);
  if (signal.aborted) return operating;
  const page = files.size === 0 ? unbuiltText : `${address}#secret=${secret}`;
  await using door = await makeLaunchPage(page);
  const isOpen = files.size > 0 && !noOpen && hasBrowser(console) && (await openInBrowser(door));
  sayAfter("the page answers");
  const commands = [
    `export KUBECONFIG=${cluster.adminKubeconfig}`,
    "bin/keyturn status -A",
    ...(examples === examplesFolder ? [`bin/keyturn plan signing-key -n ${servedKeys.namespace} --watch`] : []),
  ];
  if (console.height() === undefined) {
    say(
      [
        page,
        `export KUBECONFIG=${cluster.adminKubeconfig}`,
        `the operator's log: ${logFile}`,
        "Ctrl-C stops everything and leaves nothing behind",
      ].join("\n"),
    );
  }
  // Other examples may have no such Service.
  const keys = obstacle === undefined && examples === examplesFolder ? servedKeysAt(cluster, stack, signal) : Promise.resolve(undefined);
  const told: Happening[] = [];
  const tell = (text: string): void => void told.push({ atMs: systemClock.now(), text });
  const parts = [
    operating,
    keys.then((url) => {
      if (url === undefined) return;
      commands.push(`curl ${url}`);
      tell(`the public keys are served: ${url}`);
    }),
    follow(cluster, { address: page, isOpen, commands, told, settings, log, console, signal }),
    ...begun.flatMap(({ happen }) => (happen ? [happen(signal, tell)] : [])),
  ];
  await endTogether(parts, failed).catch((error: unknown) => {
    if (!console.signal.aborted) throw error;
  });
  say("stopping, and removing everything");
}

/** Whether somebody sees what is opened. */
function hasBrowser({ environment, height }: Console): boolean {
  if (height() === undefined) return false;
  return process.platform !== "linux" || Boolean(environment["DISPLAY"] ?? environment["WAYLAND_DISPLAY"]);
}

/** A cluster whose pods run, with the images of the examples. */
async function startRealCluster(): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), "keyturn-dev-"));
  try {
    return await startCluster({ ...realPods, hostPorts: [pagePort], images: await writeExampleImages(folder, proxyImages) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Where people find the page; and where it is served if a Service is between: at the same port, or it would refuse what was sent to another one. */
const shownHost = "127.0.0.1";
const servedHost = "127.0.0.2";
/** The chart's default. */
const pagePort = 8082;

/** Makes a Service for the page, as the chart does, and leads a port of this machine to it; resolves to where to serve the page. */
async function servePageByService(cluster: Cluster, stack: AsyncDisposableStack, port: number): Promise<string> {
  const server = { host: servedHost, port };
  const name = `${keyturn.name}-dashboard`;
  const service = stack.use(await serveFromHost(cluster, { namespace: serviceAccount.namespace, name, port: pagePort, hostPort: pagePort, server }));
  const forward = stack.use(await forwardTo(clusterFilesIn(cluster.folder), `${service.clusterIP}:${pagePort}`, port));
  server.port = forward.port;
  return `${server.host}:${server.port}`;
}

/** Resolves when somebody answers there: it takes a Service a moment to lead anywhere. */
async function untilAnswered(url: string, signal: AbortSignal): Promise<void> {
  const isAnswered = (): Promise<boolean> =>
    fetch(url, { method: "HEAD", signal }).then(
      () => true,
      () => false,
    );
  // Rejects only when the signal aborts.
  while (!signal.aborted && !(await isAnswered())) await sleep(systemClock, lookAgainMs, signal).catch(() => {});
}

/** The Service of examples/publish, which nginx serves the public keys through. */
const servedKeys = { namespace: "keyturn-examples", name: "tokens" };
const serviceSchema = z.object({ spec: z.object({ clusterIP: z.string() }) });

/** Where the published keys can be fetched on this machine, as soon as they have a Service; undefined if everything ends before. */
async function servedKeysAt(cluster: Cluster, stack: AsyncDisposableStack, signal: AbortSignal): Promise<string | undefined> {
  while (!signal.aborted) {
    const service = serviceSchema.safeParse(await cluster.client.get(Service, servedKeys));
    if (service.success) {
      const forward = stack.use(await forwardTo(clusterFilesIn(cluster.folder), `${service.data.spec.clusterIP}:80`));
      return `http://127.0.0.1:${forward.port}/jwks.json`;
    }
    // Rejects only when the signal aborts.
    await sleep(systemClock, redrawEveryMs, signal).catch(() => {});
  }
  return undefined;
}

/** Waits for all. The first that fails, as when the API server no longer answers, aborts the others: a process of which half goes on would never end. */
export async function endTogether(parts: readonly Promise<void>[], others: AbortController): Promise<void> {
  const ends = await Promise.allSettled(
    parts.map(async (part) => {
      try {
        await part;
      } catch (error) {
        others.abort(error);
        throw error;
      }
    }),
  );
  if (others.signal.aborted) throw others.signal.reason;
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/** Applies the CRDs, the operator's rights and the examples. */
async function applyAll(
  cluster: Cluster,
  { manifests, controllers }: { readonly manifests: readonly string[]; readonly controllers: readonly ControllerDefinition[] },
): Promise<void> {
  await cluster.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: serviceAccount.namespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: serviceAccount },
  ]);
  await cluster.apply(renderRbac({ controllers, namespaces: [], leaderElection: true, dashboard: true, serviceAccount }));
  await cluster.apply(renderCrds(features));
  for (const manifest of manifests) await cluster.apply(manifest);
}

/** Runs every controller as the ServiceAccount that it has in production, with exactly its rights. */
async function operate(
  cluster: Cluster,
  {
    log,
    controllers,
    runnable,
    signal,
  }: {
    readonly log: Logger;
    readonly controllers: readonly ControllerDefinition[];
    readonly runnable: Runnable;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const kubeconfig = await cluster.kubeconfigFor({ serviceAccount });
  await runOperator(
    {
      operator: keyturn,
      connection: await loadConfig({ kubeconfig, env: {} }),
      controllers,
      runnables: [runnable],
      version,
      log,
      env: {},
      metricsBindAddress: "0",
      healthBindAddress: "0",
      leaderElection: { namespace: serviceAccount.namespace },
    },
    signal,
  );
}

interface Followed extends Pick<FirstScreen, "address" | "isOpen" | "commands"> {
  /** What the stories tell; more comes while it is followed. */
  readonly told: readonly Happening[];
  readonly settings: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  readonly console: Console;
  readonly signal: AbortSignal;
}

/** Shows the first screen until asked to stop; to a file or pipe, one line for each thing that happens. */
async function follow(cluster: Cluster, { told, settings, log, console, signal, ...shown }: Followed): Promise<void> {
  const transport = createHttpTransport(await loadConfig({ kubeconfig: cluster.adminKubeconfig, env: {} }));
  const caches = createCaches({ transport, clock: systemClock, random: systemRandom, log });
  const watches = watchStatus({
    caches,
    everywhere: caches,
    wider: new Map(),
    namespace: undefined,
    operatorNamespace: serviceAccount.namespace,
    registry: features,
    controllers: stageControllers(settings, console.environment),
    flag: (flag) => readFlags({ flag }, settings, console.environment).flag,
    unserved: [Rollout],
    clock: systemClock,
    log,
    contact: keepContact({ client: cluster.client, clock: systemClock }, signal),
  });
  const events = caches.watch(Event, { keep: keepHappening });
  caches.start(signal);
  const screen = LiveText.on(console);
  const paint = paintFor(console.environment, console.height() !== undefined);
  const printed = new Set<string>();
  try {
    await Promise.all([...watches.caches.map(({ cache }) => cache), events].map((cache) => cache.whenSynced(signal)));
    while (!signal.aborted) {
      const recorded = Array.from(events.entries(), ([, happening]) => happening).filter((happening) => happening !== undefined);
      const happenings = [...recorded, ...told].sort((left, right) => left.atMs - right.atMs);
      const rows = console.height();
      if (rows !== undefined)
        screen.show(firstScreenText({ ...shown, status: watches.at(systemClock.now()), happenings, features }, rows, paint), "");
      else
        for (const { atMs, text } of happenings) {
          const line = `${new Date(atMs).toISOString()}  ${text}\n`;
          if (!printed.has(line)) console.out(line);
          printed.add(line);
        }
      await sleep(systemClock, redrawEveryMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    transport.close();
  }
}

/** Keeps of an Event what is told, if it is one of the operator's. */
function keepHappening({ reportingController, eventTime, series, regarding, reason, note = "" }: Event): Happening | undefined {
  if (!reportingController.startsWith(`${keyturn.domain}/`)) return undefined;
  const { namespace = "", name = "" } = regarding ?? {};
  const text = happeningText({ reason, namespace, name, note });
  return text === undefined ? undefined : { atMs: Date.parse(series?.lastObservedTime ?? eventTime ?? ""), text };
}
