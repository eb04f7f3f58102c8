// One feature of the product in its world. Until `done` it says how long its work took; until `quiet` it says when nothing is left to do, and then how many requests it has made whenever it is asked.
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  type ControllerDefinition,
  type ControllerScope,
  createClient,
  createHttpTransport,
  createLogger,
  runOperator,
  type Transport,
} from "@keyturn/runtime";
import * as z from "zod";
import { EventingAuth } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { chooseFeatures, controllersOf } from "../../packages/keyturn/src/registry.ts";
import { changeSources, setName } from "../worlds/seeding.ts";
import { benchConnection, endWithInput, report } from "./contestant.ts";

const wishes = z.object({
  feature: z.enum(["eventing-auth", "rotation", "jwks", "checksum", "sidecars"]),
  until: z.enum(["done", "quiet"]),
  namespace: z.string(),
  flags: z.record(z.string(), z.string()),
  /** How many of what the finish line counts. */
  wanted: z.number(),
});
const { feature, until, namespace, flags, wanted } = wishes.parse(JSON.parse(process.argv[2] ?? ""));

/** Looks on from within a feature's first controller, and calls `done` when all is done, with the time if it is not that since the start. */
interface FinishLine {
  readonly watch?: (scope: ControllerScope, done: (ms?: number) => void) => void;
  /** Called with each line of the operator's log. */
  readonly read?: (line: string, done: () => void) => void;
}

const finishLines: Readonly<Record<typeof feature, FinishLine>> = {
  "eventing-auth": { watch: whenReady },
  rotation: { watch: rotateTwice },
  jwks: { watch: whenPublished },
  // The controller's own word: a watch of the checksums would be work that is not its own.
  checksum: { read: (line, done) => line.includes('"published a checksum"') && done() },
  sidecars: { watch: whenOutdatedAreKnown },
};

endWithInput();
const startedMs = performance.now();
const connection = await benchConnection();
let requests = 0;
const finishLine = until === "done" ? finishLines[feature] : {};
const done = (ms = performance.now() - startedMs): void => report({ type: "done", ms });
if (until === "quiet") {
  process.stdin.on("data", () => report({ type: "count", requests }));
  void whenQuiet().then(() => report({ type: "quiet" }));
}
await runOperator(
  {
    operator: keyturn,
    connection,
    controllers: controllersOf(chooseFeatures(feature), flags, {}).map((controller, index) => (index === 0 ? lookedOn(controller) : controller)),
    namespaces: [namespace],
    leaderElection: { enabled: false },
    log: finishLine.read
      ? createLogger({ level: "info", destination: { write: (line) => finishLine.read?.(line, done) } })
      : createLogger({ level: "error", destination: process.stderr }),
    transport: counted(createHttpTransport(connection)),
  },
  new AbortController().signal,
);

function lookedOn(controller: ControllerDefinition): ControllerDefinition {
  return {
    ...controller,
    setup(scope) {
      const reconcile = controller.setup(scope);
      finishLine.watch?.(scope, done);
      return reconcile;
    },
  };
}

/** When all EventingAuths are ready. */
function whenReady(scope: ControllerScope, done: () => void): void {
  const count = countedUp(done);
  scope.watch<EventingAuth>(EventingAuth, { namespace }).subscribe((change) => {
    if ("value" in change && change.value.status?.state === "Ready") count(change.key);
  });
}

/** When all JWKSConfigs are published. */
function whenPublished(scope: ControllerScope, done: () => void): void {
  const count = countedUp(done);
  scope.watch<JWKSConfig>(JWKSConfig, { namespace }).subscribe((change) => {
    const conditions = "value" in change ? (change.value.status?.conditions ?? []) : [];
    if (conditions.some(({ type, status }) => type === "Published" && status === "True")) count(change.key);
  });
}

/** Calls `done` when so many different keys as are wanted have been counted. */
function countedUp(done: () => void): (key: string) => void {
  const seen = new Set<string>();
  return (key) => {
    if (seen.size === wanted) return;
    if (seen.add(key).size === wanted) done();
  };
}

/** Once all sets are filled, their sources are changed all at once, twice: the second change moves both targets of each and drops a version, and is the one that is timed. */
function rotateTwice(scope: ControllerScope, done: (ms: number) => void): void {
  const client = createClient(createHttpTransport(connection));
  let arrived = Promise.withResolvers<void>();
  let expected = { live: 1, fallback: 1 };
  const settled = new Set<string>();
  scope.watch(RotationTarget, { namespace, keep: ({ status }) => status?.currentVersion?.seq ?? 0 }).subscribe((change) => {
    if (!("value" in change)) return;
    if (change.value >= (change.key.endsWith("-live") ? expected.live : expected.fallback)) settled.add(change.key);
    if (settled.size === 2 * wanted) arrived.resolve();
  });
  const rotate = async (next: typeof expected): Promise<number> => {
    await arrived.promise;
    expected = next;
    settled.clear();
    arrived = Promise.withResolvers();
    // What a target already holds is not told again.
    if (next.fallback === 1) for (let index = 0; index < wanted; index++) settled.add(`${namespace}/${setName(index)}-fallback`);
    const beganMs = performance.now();
    await changeSources(client, { namespace, sets: wanted, value: `value ${next.live}` });
    await arrived.promise;
    return performance.now() - beganMs;
  };
  const rotateTwoTimes = async (): Promise<void> => {
    await rotate({ live: 2, fallback: 1 });
    done(await rotate({ live: 3, fallback: 2 }));
  };
  void rotateTwoTimes();
}

/** When so many workloads are known to be outdated, and none is unknown. It runs dry and restarts none. */
function whenOutdatedAreKnown({ metrics }: ControllerScope, done: () => void): void {
  const sum = async (name: string): Promise<number> =>
    (await metrics.registry.getSingleMetricAsString(name))
      .split("\n")
      .filter((line) => line.startsWith(`${name}{`))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(" "))), 0);
  const look = async (): Promise<void> => {
    while ((await sum("keyturn_sidecars_outdated_workloads")) < wanted || (await sum("keyturn_sidecars_unknown_workloads")) > 0) await delay(10);
    done();
  };
  void look();
}

function counted(transport: Transport): Transport {
  return {
    send(request, signal) {
      requests += 1;
      return transport.send(request, signal);
    },
    close: () => transport.close(),
  };
}

/** Resolves when nothing has been asked for for a while, and V8 has given back what the work took. */
async function whenQuiet(): Promise<void> {
  /** The last Events are written within this. */
  const settleMs = 5000;
  /** After work V8 gives memory back in one or two collections of its own, some eight seconds after the last one; they are the end of the work, not idleness. */
  const calmMs = 15_000;
  let before: number;
  do {
    before = requests;
    await delay(settleMs);
  } while (requests !== before || before === 0);
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") collect();
  await delay(calmMs);
}
