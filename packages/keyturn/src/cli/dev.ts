// `keyturn dev`: a real control plane on this machine, the examples in it, every controller at work, and a table that follows.
import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Cache,
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
import { operatorDashboard } from "../dashboard/operator-dashboard.ts";
import { readStaticFiles, unbuiltText } from "../dashboard/static-files.ts";
import { secretAccess } from "../dashboard/viewer-rights.ts";
import { examplesFolder, readManifests, renderInventory, watchInventory } from "../dev/inventory.ts";
import { realPodsObstacle, writeExampleImages } from "../dev/images.ts";
import { proxyImages, stories } from "../dev/stories.ts";
import { keyturn } from "../feature/feature.ts";
import { numberFlag, readFlags, textFlagWithDefault } from "../feature/flag.ts";
import { operatorFlags } from "../operator-flags.ts";
import { controllersOf, features } from "../registry.ts";
import { renderAge, renderTable } from "../text.ts";
import { type Console, version } from "./command-line.ts";
import { renderCrds, renderRbac } from "./manifests.ts";
import { LiveText } from "./output.ts";

// What the operator has recorded lately: its Events, the newest last.

interface Piece {
  readonly atMs: number;
  readonly about: string;
  readonly reason: string;
  readonly note: string;
}

/** As many as one takes in at a glance. */
const shown = 8;
const maxNote = 100;

/** Keeps of an Event what is shown, if it is one of the operator's. */
function keepPiece({ reportingController, eventTime, series, regarding, reason, note = "" }: Event): Piece | undefined {
  if (!reportingController.startsWith(`${keyturn.domain}/`)) return undefined;
  const at = series?.lastObservedTime ?? eventTime ?? "";
  return { atMs: Date.parse(at), about: `${regarding?.kind ?? ""} ${regarding?.name ?? ""}`, reason, note };
}

/** Watches the Events of the whole cluster. */
function watchNews(caches: ReturnType<typeof createCaches>): { readonly cache: Cache<Piece | undefined>; render(nowMs: number): string } {
  const cache = caches.watch(Event, { keep: keepPiece });
  return {
    cache,
    render(nowMs) {
      const pieces = Array.from(cache.entries(), ([, piece]) => piece).filter((piece) => piece !== undefined);
      const newest = pieces.sort((left, right) => left.atMs - right.atMs).slice(-shown);
      const rows = newest.map(({ atMs, about, reason, note }) => [renderAge(atMs, nowMs), about, reason, cut(note)]);
      return rows.length === 0 ? "" : renderTable(["ago", "about", "reason", "what happened"], rows);
    },
  };
}

function cut(note: string): string {
  return note.length > maxNote ? `${note.slice(0, maxNote - 1)}…` : note;
}

const flags = {
  examples: textFlagWithDefault({ name: "examples", placeholder: "FOLDER", default: examplesFolder, help: "the manifests to apply" }),
  port: numberFlag({
    name: "dashboard-port",
    default: 0,
    least: 0,
    most: 65_535,
    help: "where the dashboard is served on this machine; 0 = a free port",
  }),
  logLevel: operatorFlags.logLevel,
};

/** The flags of `keyturn dev`. The folder is that of the checkout, which is different on every machine. */
export const devFlags = [{ ...flags.examples, default: "examples" }, flags.port, flags.logLevel];

const serviceAccount = { namespace: "keyturn-system", name: keyturn.name };
const redrawEveryMs = 1000;
const lookAgainMs = 100;

/** Runs until asked to stop; then everything is gone again. */
export async function devCommand(given: Readonly<Record<string, string | undefined>>, console: Console): Promise<void> {
  const { examples, port, logLevel } = readFlags(flags, given, console.environment);
  const manifests = await readManifests(examples);
  const say = (line: string): void => console.out(`${line}\n`);
  const files = await readStaticFiles();
  const failed = new AbortController();
  const signal = AbortSignal.any([console.signal, failed.signal]);

  const obstacle = realPodsObstacle();
  say("starting a local Kubernetes control plane (etcd, kube-apiserver, kube-controller-manager, kube-scheduler)");
  say(
    obstacle === undefined
      ? "pods run on a real node; imitated are the identity provider, istiod, and the programs of redis and istio-proxy"
      : `simulated are nodes and pods, by kwok, because ${obstacle}; the identity provider and istiod are imitated`,
  );
  await using cluster = obstacle === undefined ? await startRealCluster() : await startCluster(everything);
  if (signal.aborted) return;
  await using stack = new AsyncDisposableStack();
  const begun = await Promise.all(stories.map((begin) => begin(cluster, stack)));
  const settings: typeof given = { "jwks.serving": "true", ...Object.assign({}, ...begun.map(({ flags = {} }) => flags)), ...given };
  const { secret, access } = secretAccess();
  const page = Promise.withResolvers<Dashboard>();
  const controllers = controllersOf(features, settings, console.environment);
  const namespaces = [...(await applyAll(cluster, { manifests, controllers })), ...begun.flatMap(({ namespaces = [] }) => namespaces)];
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
    onStarted: page.resolve,
  });
  const logFile = join(cluster.folder, "keyturn.log");
  const log = createLogger({ level: logLevel, destination: createWriteStream(logFile) });
  say(`the cluster is ready: export KUBECONFIG=${cluster.adminKubeconfig}`);
  say(`the operator's log: ${logFile}`);
  const operating = operate(cluster, { log, controllers, runnable, signal });
  const { url } = await Promise.race([page.promise, operating.then(() => ({ url: "" }))]);
  const address = url.replace(servedHost, shownHost);
  await Promise.race([untilAnswered(address, signal), operating]);
  const through = obstacle === undefined ? ", through its Service" : "";
  say(files.size === 0 ? unbuiltText : `the dashboard${through}: ${address}#secret=${secret}`);
  // Other examples may have no such Service.
  if (obstacle === undefined && examples === examplesFolder) await Promise.race([showServedKeys(cluster, stack, { say, signal }), operating]);
  say("Ctrl-C stops everything and leaves nothing behind\n");

  const happenings = begun.flatMap(({ happen }) => (happen ? [happen(signal)] : []));
  await endTogether([operating, follow(cluster, { namespaces, log, console, signal }), ...happenings], failed).catch((error: unknown) => {
    if (!console.signal.aborted) throw error;
  });
  say("\nstopping");
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

/** Says where the published keys can be fetched on this machine, as soon as they have a Service. */
async function showServedKeys(
  cluster: Cluster,
  stack: AsyncDisposableStack,
  { say, signal }: { readonly say: (line: string) => void; readonly signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    const service = serviceSchema.safeParse(await cluster.client.get(Service, servedKeys));
    if (service.success) {
      const forward = stack.use(await forwardTo(clusterFilesIn(cluster.folder), `${service.data.spec.clusterIP}:80`));
      return say(`the public keys of the example, through their Service: http://127.0.0.1:${forward.port}/jwks.json`);
    }
    // Rejects only when the signal aborts.
    await sleep(systemClock, redrawEveryMs, signal).catch(() => {});
  }
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

/** Applies the CRDs, the operator's rights and the examples; resolves to the namespaces that the examples are in. */
async function applyAll(
  cluster: Cluster,
  { manifests, controllers }: { readonly manifests: readonly string[]; readonly controllers: readonly ControllerDefinition[] },
): Promise<readonly string[]> {
  await cluster.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: serviceAccount.namespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: serviceAccount },
  ]);
  await cluster.apply(renderRbac({ controllers, namespaces: [], leaderElection: true, dashboard: true, serviceAccount }));
  await cluster.apply(renderCrds(features));
  const applied = [];
  for (const manifest of manifests) applied.push(...(await cluster.apply(manifest)));
  return [...new Set(applied.map(({ metadata }) => metadata.namespace).filter((namespace) => namespace !== undefined))];
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

/** Shows the table until asked to stop. */
async function follow(
  cluster: Cluster,
  {
    namespaces,
    log,
    console,
    signal,
  }: { readonly namespaces: readonly string[]; readonly log: Logger; readonly console: Console; readonly signal: AbortSignal },
): Promise<void> {
  const transport = createHttpTransport(await loadConfig({ kubeconfig: cluster.adminKubeconfig, env: {} }));
  const caches = createCaches({ transport, clock: systemClock, random: systemRandom, log });
  const inventory = watchInventory({ caches, features, namespaces });
  const news = watchNews(caches);
  caches.start(signal);
  const screen = LiveText.on(console);
  try {
    await Promise.all([...inventory.caches, news.cache].map((cache) => cache.whenSynced(signal)));
    while (!signal.aborted) {
      const nowMs = systemClock.now();
      const rows = inventory.rows();
      screen.show(`${renderInventory(rows, nowMs)}\n\n${news.render(nowMs)}`, JSON.stringify(rows));
      await sleep(systemClock, redrawEveryMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    transport.close();
  }
}
