// Random stories of a rotation set: what users, clocks, crashes and the network do to it.
import * as fc from "fast-check";

/** A RotationTarget's spec in a story. Delays are in seconds. */
export interface ScriptedTarget {
  readonly order: number;
  readonly delay: number;
  readonly deletionMode: "keep" | "cascade";
  readonly whenUnfilled: "Backfill" | "Absent";
}

/** Something that happens. What a run follows at once is `seen`; the rest is seen whenever there is a run. Targets are meant by number. */
export type Action =
  | { readonly do: "set"; readonly value: number; readonly unwatched: number; readonly seen: boolean }
  | { readonly do: "delete" | "recreate" | "lose path" | "second source" | "touch"; readonly seen: boolean }
  | { readonly do: "wait"; readonly seconds: number }
  /** Until the last moment before time alone changes anything. */
  | { readonly do: "brink" }
  | { readonly do: "down"; readonly seconds: number }
  /** The next run ends after so many writes, because the process dies or a write is refused. */
  | { readonly do: "crash"; readonly after: number }
  /** The process's clock is off by so much; `known` if it knows by the API server's. */
  | { readonly do: "clock"; readonly offset: number; readonly known: boolean }
  | { readonly do: "edit"; readonly target: number; readonly to: Partial<ScriptedTarget>; readonly seen: boolean }
  | { readonly do: "add"; readonly target: number; readonly spec: ScriptedTarget; readonly seen: boolean }
  | { readonly do: "leave"; readonly target: number }
  | { readonly do: "drift"; readonly target: number; readonly how: "deleted" | "edited" | "unlabelled"; readonly seen: boolean }
  | { readonly do: "foreign"; readonly target: number; readonly seen: boolean };

/** A whole story. */
export interface Script {
  readonly targets: readonly ScriptedTarget[];
  readonly changePolicy: "Settled" | "Queue";
  readonly actions: readonly Action[];
}

const seen = fc.integer({ min: 0, max: 9 }).map((digit) => digit > 1);
const delay = fc.oneof(fc.constantFrom(0, 1, 5, 20, 60), fc.nat(90));
const target = fc.nat(4);
const order = fc.integer({ min: 1, max: 6 });
const deletionMode = fc.constantFrom("keep", "keep", "cascade");
const whenUnfilled = fc.constantFrom("Backfill", "Backfill", "Absent");
const spec: fc.Arbitrary<ScriptedTarget> = fc.record({ order, delay, deletionMode, whenUnfilled });
const changes: fc.Arbitrary<Partial<ScriptedTarget>> = fc.oneof(
  fc.record({ delay }),
  fc.record({ order }),
  fc.record({ deletionMode }),
  fc.record({ whenUnfilled }),
);

type Weighted = fc.WeightedArbitrary<Action>;

/** What happens to sources and processes. */
const everyday: readonly Weighted[] = [
  {
    weight: 10,
    arbitrary: fc.record({ do: fc.constant("set"), value: fc.nat(4), unwatched: fc.integer({ min: 0, max: 9 }).map((n) => (n > 7 ? 1 : 0)), seen }),
  },
  { weight: 12, arbitrary: fc.record({ do: fc.constant("wait"), seconds: fc.oneof(fc.nat(12), fc.nat(150)) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("delete", "recreate"), seen }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("lose path", "second source", "touch"), seen }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("brink") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("down"), seconds: fc.nat(200) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("crash"), after: fc.nat(6) }) },
];

/** What happens to clocks. Most steps are small enough to go on; some are too large to decide anything by. */
const clocks: readonly Weighted[] = [
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("clock"),
      offset: fc.oneof(fc.integer({ min: -30, max: 30 }), fc.integer({ min: -300, max: 300 })),
      known: fc.boolean(),
    }),
  },
];

/** What happens to targets. */
const edits: readonly Weighted[] = [
  { weight: 2, arbitrary: fc.record({ do: fc.constant("edit"), target, to: changes, seen }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("add"), target, spec, seen }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("leave"), target }) },
];

/** What happens to targets' objects. */
const drifts: readonly Weighted[] = [
  { weight: 2, arbitrary: fc.record({ do: fc.constant("drift"), target, how: fc.constantFrom("deleted", "edited", "unlabelled"), seen }) },
];

/** Which troubles a story may have besides changes of the source, outages and crashes. */
interface Troubles {
  readonly clocks?: boolean;
  readonly edits?: boolean;
  readonly drifts?: boolean;
}

/** Stories with these troubles. */
export function scripts(troubles: Troubles): fc.Arbitrary<Script> {
  const kinds = [...everyday, ...(troubles.clocks ? clocks : []), ...(troubles.edits ? edits : []), ...(troubles.drifts ? drifts : [])];
  return fc.record({
    targets: fc.oneof(sorted, fc.array(spec, { minLength: 1, maxLength: 5 })),
    changePolicy: fc.constantFrom("Settled", "Settled", "Settled", "Queue"),
    actions: fc.array(fc.oneof(...kinds), { minLength: 1, maxLength: 18, size: "max" }),
  });
}

/** Targets as most people will have them: each rank its own, delays that do not grow. */
const sorted: fc.Arbitrary<readonly ScriptedTarget[]> = fc
  .array(fc.record({ delay, deletionMode, whenUnfilled }), { minLength: 1, maxLength: 5 })
  .map((targets) => {
    const delays = targets.map((each) => each.delay).sort((a, b) => b - a);
    return targets.map((each, index) => ({ ...each, order: index + 1, delay: delays[index] ?? 0 }));
  });
