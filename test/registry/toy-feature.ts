// A sixth feature that is in no build: every loop over a registry has to find all of it.
import {
  conditionsSchema,
  ConfigMap,
  type ControllerScope,
  defineCustomKind,
  type ObjectOf,
  type Reconcile,
  reconcileWith,
  type Stored,
} from "@keyturn/runtime";
import type { ObjectRecord } from "@keyturn/dashboard/contract";
import * as z from "zod";
import { type Feature, warn } from "../../packages/keyturn/src/feature/feature.ts";
import { pausedAnnotation } from "../../packages/keyturn/src/feature/pause-and-selection.ts";
import { objectRef } from "../../packages/keyturn/src/feature/record.ts";
import { listFlag, switchFlag, textFlagWithDefault } from "../../packages/keyturn/src/feature/flag.ts";

export const Toy = defineCustomKind({
  group: "toys.example",
  kind: "Toy",
  scope: "Namespaced",
  versions: [
    {
      name: "v1",
      description: "A toy.",
      spec: z.object({ colour: z.string().describe("The colour of the toy.") }),
      status: z.object({ conditions: conditionsSchema.optional() }),
    },
  ],
});

export type Toy = ObjectOf<typeof Toy>;

const flags = {
  colour: textFlagWithDefault({ name: "toys.colour", default: "red", help: "the colour of all toys" }),
  shelves: listFlag({ name: "toys.shelves", help: "the namespaces in which toys are kept" }),
  wind: switchFlag({ name: "toys.wind", default: false, help: "wind toys up" }),
};

/** Keeps a ConfigMap for every toy, as a controller of the runtime's would. */
function setUpToys(scope: ControllerScope): Reconcile {
  const toys = scope.watch<Toy, Stored<Toy>>(Toy);
  scope.watch(ConfigMap);
  scope.trigger(toys);
  const regarding = (key: string) => {
    const toy = toys.get(key);
    return toy ? [{ kind: Toy, object: toy }] : [];
  };
  return reconcileWith(
    scope,
    {
      observe: ({ key }) => toys.get(key),
      plan: (toy) => ({
        steps: [
          {
            verb: "apply",
            kind: ConfigMap,
            object: { metadata: { namespace: toy.metadata.namespace ?? "", name: toy.metadata.name }, data: { colour: toy.spec.colour } },
            owner: { kind: Toy, name: toy.metadata },
            log: { message: "wound up a toy" },
          },
        ],
        status: [{ regarding: { kind: Toy, object: toy }, conditions: { Ready: { status: "True", reason: "ToyWound", message: "it runs" } } }],
      }),
      regarding,
    },
    {
      reasons: { ToyBroken: { meaning: "A toy cannot be wound up.", health: "degraded" }, ToyWound: { meaning: "A toy was wound up." } },
      rateLimit: { minIntervalMs: 1_000, maxPerMinute: 12 },
      leaves: (key) => {
        const toy = toys.get(key);
        return toy?.metadata.annotations?.[pausedAnnotation] === "true" ? { type: "paused", status: [] } : undefined;
      },
    },
  );
}

const bear: ObjectRecord = {
  type: "object",
  id: "toys/nursery/bear",
  step: "toys",
  table: "toys",
  ref: objectRef(Toy, { namespace: "nursery", name: "bear" }),
  health: "healthy",
  reason: "ToyWound",
  message: "it runs",
  detail: "",
  about: ["bear"],
  conditions: [],
  facts: [],
  cells: {},
  texts: [],
};

export const toyFeature: Feature = {
  name: "toys",
  stage: {
    verb: "play",
    summary: "winds up toys",
    noun: ["toy", "toys"],
    example: "a toy runs down and is wound up again",
    guide: "docs/guides/play.md",
  },
  onByDefault: false,
  flags: Object.values(flags),
  rightsFlags: [
    { flag: flags.wind, is: "true" },
    { flag: flags.shelves, as: "namespaces" },
  ],
  metrics: { keyturn_toys_wound: { type: "gauge", help: "How many toys are wound up.", labels: ["colour"] } },
  kinds: [Toy],
  reasons: {
    ToyBroken: { meaning: "A toy cannot be wound up.", health: "degraded" },
    ToyWound: { meaning: "A toy was wound up.", notable: true },
  },
  alerts: [
    {
      alert: "KeyturnToysRunDown",
      expr: "keyturn_toys_wound == 0",
      for: "1h",
      severity: "warning",
      summary: "No toy is wound up.",
      description: "For an hour, no toy has been wound up.",
    },
  ],
  panels: [{ title: "Wound up", lines: [["sum by (colour) (keyturn_toys_wound)", "{{colour}}"]] }],
  predecessor: { name: "toy-operator", image: "toy-operator", guide: "docs/migration/from-toy-operator.md" },
  checks: [{ name: "toys", find: () => Promise.resolve([warn("toys", "a toy is broken", "mend it")]) }],
  queries: {
    plan: {
      summary: "with toys, which of them are wound up next",
      flags: [flags.colour],
      follows: [Toy],
      answer: (_query, { flag }) => Promise.resolve({ text: `a ${flag(flags.colour)} toy`, data: {} }),
    },
  },
  records: {
    flags: [flags.wind],
    watch({ touch }) {
      touch(bear.id);
      return {
        step: "toys",
        resources: ["toys.toys.example"],
        caches: () => [],
        ids: () => [bear.id],
        make: () => ({ record: bear, againAtMs: undefined }),
        find: () => ({ id: bear.id, kind: Toy }),
      };
    },
    differences: {
      of: Toy,
      needs: ConfigMap,
      places: () => Promise.resolve(["nursery"]),
      find: () => Promise.resolve([{ direction: "missing", name: "bear", message: "the bear is not in its box" }]),
    },
    layout: {
      title: "Toys",
      about: "Toys, and whether they are wound up.",
      tables: [
        {
          id: "toys",
          title: "Toys",
          empty: { title: "No toys yet", text: "Make one.", command: "kubectl get toys" },
          columns: [{ id: "toy", title: "Toy", width: "1fr" }],
        },
      ],
    },
  },
  controllers: (flag) => [
    {
      name: "toys",
      access: [
        { kind: Toy, verbs: ["list", "watch"], why: "to see toys" },
        ...flag(flags.shelves).map((namespace) => ({ kind: ConfigMap, namespace, verbs: ["list"] as const, why: "to see shelves" })),
        ...(flag(flags.wind) ? [{ kind: Toy, subresource: "wind", verbs: ["patch"] as const, why: "to wind them up" }] : []),
      ],
      setup: setUpToys,
    },
  ],
};
