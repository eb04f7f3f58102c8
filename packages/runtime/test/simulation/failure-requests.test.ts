// What a failure costs: the requests of an hour of virtual time for every kind of it, for one object and for a thousand. The table in the docs is made here.
import { access } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ConfigMap } from "../../src/client/builtin-kinds.ts";
import type { TransportRequest } from "../../src/client/transport.ts";
import type { ControllerScope, Reconcile } from "../../src/controller/controller.ts";
import { EngineRig, type Refusal, Widget } from "../../src/controller/engine-rig.fixture.ts";
import { nameOf } from "../../src/client/kind.ts";
import { liveIn, ownedWriter } from "../../src/controller/owned-objects.ts";
import { reconcileWith } from "../../src/controller/reconcile.ts";

const isMapWrite = ({ path, method }: TransportRequest): boolean => path.includes("/configmaps") && method !== "GET";
const hourMs = 3_600_000;

interface Failing {
  /** What is wrong, for the table. */
  readonly what: string;
  readonly refuse?: EngineRig["refuse"];
  /** The text of every widget; `unreadable` and `poisoned` make the controller itself fail. */
  readonly text?: string;
  /** The ConfigMap is a part of its own. */
  readonly part?: true;
  /** Nothing is cached of ConfigMaps: each is read before it is written. */
  readonly reads?: true;
  /** ConfigMaps of these names are somebody else's. */
  readonly taken?: true;
  /** The controller is a function of its own, without the engine; the runtime reports for it. */
  readonly plain?: true;
}

function refused(status: number, reason: string, retryAfterSeconds?: number): (request: TransportRequest) => Refusal | undefined {
  return (request) => (isMapWrite(request) ? { status, reason, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) } : undefined);
}

const failures: readonly Failing[] = [
  { what: "nothing" },
  { what: "a write is refused: schema, quota, policy or webhook (422, 400, 403)", refuse: refused(422, "Invalid") },
  { what: "the same, in a controller without `reconcileWith`", refuse: refused(422, "Invalid"), plain: true },
  { what: "the same, of one part of an object", refuse: refused(403, "Forbidden"), part: true },
  { what: "the name is taken by an object of somebody else's", taken: true },
  {
    what: "the status is refused",
    refuse: ({ path }) => (path.includes("/status") ? { status: 400, reason: "BadRequest" } : undefined),
  },
  { what: "writes conflict, each time (409)", refuse: refused(409, "Conflict") },
  { what: "the API server fails on writes (500)", refuse: refused(500, "InternalError") },
  {
    what: "the API server fails on reads too (503)",
    refuse: ({ path }) => (path.includes("/configmaps/") ? { status: 503, reason: "ServiceUnavailable" } : undefined),
    reads: true,
  },
  { what: "the API server asks to wait (429, `Retry-After: 1`)", refuse: refused(429, "TooManyRequests", 1) },
  { what: "a write is not answered within 30 s (a webhook that hangs)", refuse: (request) => (isMapWrite(request) ? "silence" : undefined) },
  { what: "the controller fails on the object (a bug)", text: "poisoned" },
  { what: "the controller cannot read the object", text: "unreadable" },
];

/** Copies the text of a widget into a ConfigMap. */
function mirror({ part, reads, plain }: Failing): (scope: ControllerScope) => Reconcile {
  return (scope) => {
    const objects = scope.watch(Widget, {
      keep: (widget) => {
        if (widget.spec.text === "unreadable") throw new Error("unreadable");
        return widget;
      },
    });
    const maps = reads ? undefined : scope.watch(ConfigMap, { labels: "app.kubernetes.io/managed-by=rig" });
    scope.trigger(objects);
    if (plain)
      return async ({ key, client, signal }) => {
        const { metadata, spec } = objects.get(key) ?? {};
        if (!metadata) return;
        const name = nameOf(key);
        const writer = ownedWriter({ client, operator: scope.operator, controller: "widgets", owner: { kind: Widget, name }, signal });
        await writer.apply(ConfigMap, { metadata: name, data: { text: spec?.text ?? "" } }, maps && liveIn(maps, key));
      };
    return reconcileWith(
      scope,
      {
        observe: ({ key }) => objects.get(key),
        plan(widget, { refused: parts }) {
          if (widget.spec.text === "poisoned") throw new Error("poisoned");
          const { name } = widget.metadata;
          const object = { metadata: { namespace: "default", name }, data: { text: widget.spec.text } };
          const owner = { kind: Widget, name: { namespace: "default", name } };
          const live = maps ? liveIn(maps, `default/${name}`) : ({ seen: "unknown" } as const);
          const blocker = parts.get("map");
          const ready = blocker
            ? { status: "False", reason: "PartRefused", message: blocker.message }
            : { status: "True", reason: "Ready", message: "" };
          return {
            steps: blocker ? [] : [{ verb: "apply", kind: ConfigMap, object, owner, live, ...(part && { part: "map" }) }],
            status: [
              { regarding: { kind: Widget, object: widget }, conditions: { Ready: ready as { status: "True"; reason: string; message: string } } },
            ],
          };
        },
        regarding(key) {
          const object = objects.get(key);
          return object ? [{ kind: Widget, object }] : [];
        },
      },
      { reasons: { Ready: { meaning: "It is made.", health: "healthy" }, PartRefused: { meaning: "It is not.", health: "degraded" } } },
    );
  };
}

/** Requests in each hour. Watches and lists, which go on as ever, are left out. */
async function requestsOf(failing: Failing, { objects, hours }: { readonly objects: number; readonly hours: number }): Promise<readonly number[]> {
  const rig = new EngineRig();
  for (let index = 0; index < objects; index++) {
    rig.put(`w${index}`, { text: failing.text ?? "one" });
    if (failing.taken) rig.putForeign(`w${index}`);
  }
  if (failing.refuse) rig.refuse = failing.refuse;
  rig.start(mirror(failing), { ...(failing.plain && { primary: Widget }), backoff: { firstMs: 20, maxMs: 300_000 } });
  const counts: number[] = [];
  for (let hour = 0; hour < hours; hour++) counts.push((await rig.during(hourMs)).length);
  rig.stop();
  return counts;
}

const ofOne = new Map<Failing, readonly number[]>();
const ofThousand = new Map<Failing, number>();

test.each(failures)("$what: no later hour costs more than the first", async (failing) => {
  const [first = 0, later = 0] = await requestsOf(failing, { objects: 1, hours: 2 });
  ofOne.set(failing, [first, later]);
  expect(later).toBeLessThanOrEqual(first);
});

test.each(failures)("$what: a thousand objects cost no more than a thousand times one", async (failing) => {
  const [one = 0] = await requestsOf(failing, { objects: 1, hours: 1 });
  const [many = 0] = await requestsOf(failing, { objects: 1000, hours: 1 });
  ofThousand.set(failing, many);
  // The backoffs are drawn by lot, so one object may have been lucky.
  expect(many).toBeLessThanOrEqual(1100 * one);
});

test("each costs what the docs say", async () => {
  const page = fileURLToPath(new URL("../../../../docs/reference/failure-costs.md", import.meta.url));
  // One that is missing would be written, and found to be right.
  await access(page);
  const rows = failures.map((failing) => `| ${[failing.what, ...(ofOne.get(failing) ?? []), ofThousand.get(failing)].join(" | ")} |`);
  await expect(`${["# What failures cost", introduction, head, ...rows].join("\n")}\n`).toMatchFileSnapshot(page);
});

const introduction = `
Requests to the API server per hour while something fails, by what fails: for one object in the first hour and in each one after it, and for 1,000 in the first.
Each object is one that makes one other and reports in its status. Watches are not counted, nor are Events, of which an object causes 25 at once and one more every
5 minutes at most; while something is refused, the process also asks every 30 s whether a schema has changed, whatever the number of objects. The numbers are
measured in virtual time, and a test holds them.
`;
const head = "| what fails | 1 object | each later hour | 1,000 objects |\n| --- | --- | --- | --- |";
