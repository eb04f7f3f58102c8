// Whoever the API server calls for a pod, and whatever sidecar comes of it, is what we said before: for all combinations of labels, for generated webhooks, for conditions.
import { useCluster } from "@keyturn/runtime/testing/vitest";
import type { MutatingWebhookConfiguration, PodTemplateSpec } from "@keyturn/runtime";
import { Buffer } from "node:buffer";
import { isDeepStrictEqual } from "node:util";
import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { PodSource } from "../../packages/keyturn/src/workloads/pod-draft.ts";
import type { Istiod, Misbehaviour } from "../../packages/keyturn/src/dev/stand-ins/istiod.ts";
import { InjectionWorld, startControlPlane } from "./injection-world.ts";
import "../support/property-seed.ts";

const cluster = useCluster();
type Labels = Readonly<Record<string, string>>;

const istiods: Record<"plain" | "canary" | "other", Istiod | undefined> = { plain: undefined, canary: undefined, other: undefined };
let world: InjectionWorld;

beforeAll(async () => {
  istiods.plain = await startControlPlane({ tag: "1.26.0" });
  istiods.canary = await startControlPlane({ revision: "canary", tag: "1.27.0", nativeSidecars: true });
  istiods.other = await startControlPlane({ revision: "next", tag: "1.28.0", namespace: "mesh" });
  world = new InjectionWorld(cluster(), Object.values(istiods).map(istiod));
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  for (const each of Object.values(istiods)) await each?.[Symbol.asyncDispose]();
});

function istiod(each: Istiod | undefined): Istiod {
  if (!each) throw new Error("used before it was started");
  return each;
}

/** Every choice from each list, with undefined for a label that is absent. */
function labelsOf(choices: Readonly<Record<string, readonly (string | undefined)[]>>): readonly Labels[] {
  return Object.entries(choices).reduce<readonly Labels[]>(
    (soFar, [key, values]) => soFar.flatMap((labels) => values.map((value) => (value === undefined ? labels : { ...labels, [key]: value }))),
    [{}],
  );
}

const namespaceLabels = labelsOf({
  "istio-injection": [undefined, "enabled", "disabled", ""],
  "istio.io/rev": [undefined, "default", "canary", "stable", "next", "unknown"],
});
const podLabels = labelsOf({
  "sidecar.istio.io/inject": [undefined, "true", "false"],
  "istio.io/rev": [undefined, "default", "canary", "stable", "next"],
});

const container = { name: "app", image: "example.com/app:1", ports: [{ containerPort: 8080, protocol: "TCP" }] };
let usual: PodTemplateSpec = {};
beforeAll(async () => {
  usual = await world.stored({ spec: { containers: [container] } });
});

function sourceOf(namespace: string, labels: Labels): PodSource {
  const template = { ...usual, metadata: { ...usual.metadata, labels: { ...usual.metadata?.labels, ...labels } } };
  return { kind: "Deployment", namespace, name: "web", uid: randomUUID(), template };
}

const worlds: Readonly<Record<string, () => readonly MutatingWebhookConfiguration[]>> = {
  "one control plane without a revision": () => [istiod(istiods.plain).revisionConfiguration()],
  "two revisions, a tag, and a third installed elsewhere": () => [
    istiod(istiods.plain).revisionConfiguration(),
    istiod(istiods.canary).revisionConfiguration(),
    istiod(istiods.canary).tagConfiguration("stable"),
    istiod(istiods.other).revisionConfiguration(),
  ],
  "the tag default, and injection everywhere": () => [
    istiod(istiods.canary).tagConfiguration("default", { everywhere: true }),
    istiod(istiods.canary).revisionConfiguration(),
    istiod(istiods.other).tagConfiguration("stable"),
  ],
};

describe("the sidecar and who is asked for it agree with the API server", () => {
  test.each(Object.entries(worlds))("%s", async (_name, configurations) => {
    await world.install(configurations());
    const seen = new Set<string | undefined>();
    for (const labels of namespaceLabels) {
      const namespace = `ns-${randomUUID().slice(0, 8)}`;
      const stored = await world.namespace(namespace, labels);
      await Promise.all(
        podLabels.map(async (pod) => {
          const source = sourceOf(namespace, pod);
          const [theirs, ours] = [await world.ofApiServer(source), await world.ofOurs(source, stored)];
          expect({ labels, pod, ...ours }).toEqual({ labels, pod, ...theirs });
          seen.add(theirs.called.join(" "));
        }),
      );
    }
    // Nobody, and one after the other each webhook that can be reached by these labels: the matrix is not all about pods without sidecars.
    expect(seen.size).toBeGreaterThan(3);
  });
});

/** Any selector over a few labels that namespaces and pods here have or have not. */
const expressionArbitrary = fc.oneof(
  fc.record({
    key: fc.constantFrom("a", "b"),
    operator: fc.constantFrom("In" as const, "NotIn" as const),
    values: fc.subarray(["1", "2", ""], { minLength: 1 }),
  }),
  fc.record({ key: fc.constantFrom("a", "b"), operator: fc.constantFrom("Exists" as const, "DoesNotExist" as const) }),
);
const labelsArbitrary: fc.Arbitrary<Labels> = fc.dictionary(fc.constantFrom("a", "b"), fc.constantFrom("1", "2", ""), { maxKeys: 2 });
const selectorArbitrary = fc.oneof(
  fc.constant({}),
  fc.record({ matchLabels: labelsArbitrary, matchExpressions: fc.array(expressionArbitrary, { maxLength: 2 }) }, { requiredKeys: [] }),
);
const ruleArbitrary = fc.record({
  operations: fc.constantFrom(["CREATE"], ["*"], ["UPDATE"], ["UPDATE", "CREATE"]),
  apiGroups: fc.constantFrom([""], ["*"], ["apps"], ["apps", ""]),
  apiVersions: fc.constantFrom(["v1"], ["*"], ["v1beta1"]),
  resources: fc.constantFrom(["pods"], ["*"], ["*/*"], ["pods/*"], ["pods/status"], ["*/status"], ["deployments", "pods"]),
  scope: fc.constantFrom("Namespaced" as const, "*" as const, "Cluster" as const),
});
/** Rules that concern pods are drawn often enough for webhooks to be called at all. */
const rulesArbitrary = fc.oneof(
  { weight: 3, arbitrary: fc.constant([{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], scope: "*" as const }]) },
  { weight: 2, arbitrary: fc.array(ruleArbitrary, { minLength: 1, maxLength: 2 }) },
);
const webhookArbitrary = fc.record({
  rules: rulesArbitrary,
  namespaceSelector: selectorArbitrary,
  objectSelector: selectorArbitrary,
  matchPolicy: fc.constantFrom("Exact" as const, "Equivalent" as const),
  reinvocationPolicy: fc.constantFrom("Never" as const, "IfNeeded" as const),
});
/** Up to three configurations, made in any order, whose names begin as Istio's do. */
const configurationsArbitrary = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom("istio-sidecar-injector", "istio-sidecar-injector-b", "istio-revision-tag-a", "istio-revision-tag-b"),
    control: fc.constantFrom("plain" as const, "canary" as const),
    webhooks: fc.array(webhookArbitrary, { minLength: 1, maxLength: 2 }),
  }),
  { minLength: 1, maxLength: 3, selector: ({ name }) => name },
);

describe("generated webhooks", () => {
  test("with any selectors, rules, order and reinvocation", async () => {
    const counts = new Map<number, number>();
    const draws = fc.record({
      configurations: configurationsArbitrary,
      places: fc.array(fc.tuple(labelsArbitrary, labelsArbitrary), { minLength: 4, maxLength: 4 }),
    });
    const check = async ({ configurations, places }: typeof draws extends fc.Arbitrary<infer Drawn> ? Drawn : never): Promise<void> => {
      await world.install(
        configurations.map(({ name, control, webhooks }) => {
          const [like] = istiod(istiods[control]).revisionConfiguration().webhooks ?? [];
          if (!like) throw new Error("a control plane has webhooks");
          return {
            metadata: { name },
            webhooks: webhooks.map((webhook, index) => ({ ...like, ...webhook, name: `w${index}.sidecar-injector.istio.io` })),
          };
        }),
      );
      for (const [labels, pod] of places) {
        const namespace = `ns-${randomUUID().slice(0, 8)}`;
        const stored = await world.namespace(namespace, labels);
        const source = sourceOf(namespace, pod);
        const [theirs, ours] = [await world.ofApiServer(source), await world.ofOurs(source, stored)];
        expect(ours).toEqual(theirs);
        counts.set(theirs.called.length, (counts.get(theirs.called.length) ?? 0) + 1);
      }
    };
    await fc.assert(fc.asyncProperty(draws, check), { numRuns: 30 });
    // `SEED=7` draws others. Pods that nobody was called for, one webhook, several, and some called again.
    expect([...counts.keys()]).toEqual(expect.arrayContaining([0, 1, 2]));
  });
});

/** Conditions that the API server can evaluate for every pod of the test, and what we make of them. */
const conditions: readonly (readonly [string, "agrees" | "undecidable"])[] = [
  ["true", "agrees"],
  ["request.namespace.startsWith('ns-')", "agrees"],
  ["request.operation == 'CREATE' && request.resource.resource == 'pods' && request.kind.kind == 'Pod'", "agrees"],
  ["!has(request.name)", "agrees"],
  ["!has(request.subResource) || request.subResource == ''", "agrees"],
  ["oldObject == null", "agrees"],
  ["!has(object.metadata.labels) || !('a' in object.metadata.labels) || object.metadata.labels['a'] != '1'", "agrees"],
  ["object.metadata.?labels[?'a'].orValue('none') in ['1', 'none']", "agrees"],
  ["object.spec.containers.all(c, c.image.matches('^example[.]com/'))", "agrees"],
  ["object.spec.containers.exists(c, c.name == 'web')", "agrees"],
  ["size(object.spec.containers) == 1 && object.spec.containers[0].ports[0].containerPort > 8000", "agrees"],
  ["has(object.metadata.generateName) && object.metadata.generateName.startsWith('web-')", "agrees"],
  ["object.metadata.ownerReferences.exists(o, o.kind == 'ReplicaSet' && o.controller)", "agrees"],
  ["object.spec.serviceAccountName == 'default'", "agrees"],
  ["!has(object.spec.hostNetwork) || !object.spec.hostNetwork", "agrees"],
  ["object.metadata.labels['nope'] == 'x' || true", "agrees"],
  ["has(request.userInfo) && request.userInfo.username != ''", "undecidable"],
  ["authorizer.group('').resource('pods').namespace(request.namespace).check('create').allowed()", "undecidable"],
  // The API server has no such field for a pod without a name, and refuses the pod; a missing field may have many causes here.
  ["request.name == ''", "undecidable"],
  ["has(object.spec.tolerations)", "undecidable"],
  ["object.spec.containers.all(c, !has(c.volumeMounts))", "undecidable"],
  ["quantity('1Ki').isGreaterThan(quantity('1'))", "undecidable"],
];

/** Where implementations of CEL might differ. Each is true or false for the API server, or an error. */
const tricky: readonly string[] = [
  "size('h\u00e9llo') == 5",
  "size('\ud83d\ude00') == 1",
  "'abc'.matches('b')",
  "'abc'.matches('^b')",
  "'ABC'.matches('(?i)abc')",
  "'a\\nb'.matches('a.b')",
  "dyn(1) == dyn(1.0)",
  "dyn('1') == dyn(1)",
  "7 / 2 == 3",
  "-7 / 2 == -3",
  "-7 % 3 == -1",
  "7.0 / 2.0 == 3.5",
  "1 / 0 == 1",
  "9223372036854775807 + 1 > 0",
  "'a' < 'b' && 'B' < 'a'",
  "'\u00e9' > 'z'",
  "int('3') + int(2.9) == 5",
  "string(1) + string(true) == '1true'",
  "double('1.5') * 2.0 == 3.0",
  "uint(3) == 3u",
  "[1, 2, 3].exists_one(x, x > 2)",
  "[1, 2, 3].filter(x, x > 1).map(x, x * 2) == [4, 6]",
  "[].all(x, false)",
  "{'a': 1}.exists(k, k == 'a')",
  "'a' in {'a': null}",
  "has({'a': null}.a)",
  "[1, 2] == [2, 1]",
  "duration('1h') > duration('59m59s')",
  "duration('90m') == duration('1h30m')",
  "timestamp('2030-01-01T00:00:00Z') < timestamp('2030-01-01T00:00:01+00:00')",
  "timestamp('2030-06-01T00:30:00Z').getHours('Europe/Berlin') == 2",
  "type(1) == int && type('') == string",
  "b'abc' == b'abc'",
  "true ? true : 1 / 0 == 1",
  "false || 1 / 0 == 1 || true",
  "(1 / 0 == 1) && false",
  "'a,b,c'.split(',')[1] == 'b'",
  "'a,b,c'.split(',', 2) == ['a', 'b,c']",
  "'abc'.substring(1) == 'bc' && 'abc'.charAt(1) == 'b'",
  "'hello'.indexOf('l') == 2 && 'hello'.lastIndexOf('l') == 3",
  "'hello'.replace('l', 'L', 1) == 'heLlo'",
  "['a', 'b'].join('-') == 'a-b'",
  "'%s is %d'.format(['x', 3]) == 'x is 3'",
  "' x '.trim() == 'x'",
  "'\u00c9'.lowerAscii() == '\u00c9'",
  "[1, 2, 3].sum() == 6 && [3, 1].min() == 1",
  "[1, 2].isSorted()",
  "'10.0.0.1'.find('[0-9]+') == '10'",
  "isIP('10.0.0.1')",
  "isURL('https://x/y') && url('https://x/y').getHost() == 'x'",
  "optional.of(1).hasValue() && !optional.none().hasValue()",
  "{?'a': optional.none()} == {}",
  "object.metadata.labels.accent == 'e'",
  "object.metadata['labels']['accent'] == 'e'",
  "object.?metadata.?nope.?deep.orValue('x') == 'x'",
  "object.metadata.labels.all(k, k.size() < 20)",
  "object.spec.containers.map(c, c.name) == ['app']",
  "object.spec.terminationGracePeriodSeconds == 30",
  "object.spec.containers[0].ports.exists(p, p.containerPort == 8080 && p.protocol == 'TCP')",
  "has(object.spec.containers[0].env)",
  "object.spec.restartPolicy == 'Always' && object.spec.dnsPolicy == 'ClusterFirst'",
  "has(object.spec.securityContext) && !has(object.spec.securityContext.runAsUser)",
  "has(object.spec.containers[0].resources)",
  "has(object.metadata.annotations)",
  "has(object.metadata.name)",
  "has(object.kind) && object.kind == 'Pod' && object.apiVersion == 'v1'",
  "has(request.subResource)",
  "request.requestKind.version == 'v1'",
];

describe("match conditions", () => {
  test.each(conditions)("%s: %s", async (expression, verdict) => {
    const matchConditions = [{ name: "condition", expression }];
    await world.install([istiod(istiods.plain).revisionConfiguration({ matchConditions })]);
    const namespace = `ns-${randomUUID().slice(0, 8)}`;
    const stored = await world.namespace(namespace, { "istio-injection": "enabled" });
    for (const labels of [{}, { a: "1" }, { a: "2" }]) {
      const source = sourceOf(namespace, labels);
      const [theirs, ours] = [await world.ofApiServer(source), await world.ofOurs(source, stored)];
      if (verdict === "agrees") expect({ labels, ...ours }).toEqual({ labels, ...theirs });
      else expect(ours).toMatchObject({ type: "undecidable", message: expect.stringContaining('"condition" cannot be evaluated') });
    }
  });

  test("of all kinds: our answer is the API server's, or we say that we have none", async () => {
    const like = istiod(istiods.plain).revisionConfiguration().webhooks?.[0];
    if (!like) throw new Error("a control plane has webhooks");
    // A webhook for each, which only the pod with its number is for.
    const webhooks = tricky.map((expression, index) => ({
      ...like,
      name: `w${index}.sidecar-injector.istio.io`,
      namespaceSelector: {},
      objectSelector: { matchLabels: { number: `${index}` } },
      matchConditions: [{ name: "condition", expression }],
    }));
    await world.install([{ metadata: { name: "istio-sidecar-injector" }, webhooks }]);
    const namespace = `ns-${randomUUID().slice(0, 8)}`;
    const stored = await world.namespace(namespace, {});
    const [undecidable, wrong]: readonly [string[], unknown[]] = [[], []];
    for (const [index, expression] of tricky.entries()) {
      const source = sourceOf(namespace, { number: `${index}`, accent: "e" });
      const [theirs, ours] = [await world.ofApiServer(source), await world.ofOurs(source, stored)];
      if ("type" in ours) undecidable.push(expression);
      else if (!isDeepStrictEqual(ours, theirs)) wrong.push({ expression, theirs, ours });
    }
    expect(wrong).toEqual([]);
    expect(undecidable.length).toBeLessThan(tricky.length / 2);
  });

  test("one that is false outweighs one that cannot be evaluated", async () => {
    const matchConditions = ["authorizer.path('/x').check('get').allowed() || true", "object.metadata.labels['app'] == 'other'"].map(
      (expression, index) => ({ name: `c${index}`, expression }),
    );
    await world.install([istiod(istiods.plain).revisionConfiguration({ matchConditions })]);
    const namespace = `ns-${randomUUID().slice(0, 8)}`;
    const stored = await world.namespace(namespace, { "istio-injection": "enabled" });
    const source = sourceOf(namespace, {});
    expect(await world.ofApiServer(source)).toEqual({ called: [], sidecar: undefined });
    expect(await world.ofOurs(source, stored)).toEqual({ called: [], sidecar: undefined });
  });
});

describe("pods that istiod leaves alone, and those that bring a proxy of their own", () => {
  test.each<readonly [string, Partial<PodTemplateSpec>]>([
    ["hostNetwork", { spec: Object.assign({ containers: [container] }, { hostNetwork: true }) }],
    ["the annotation says no", { metadata: { annotations: { "sidecar.istio.io/inject": "false" } } }],
    [
      "the label says yes and the annotation no",
      { metadata: { labels: { "sidecar.istio.io/inject": "true" }, annotations: { "sidecar.istio.io/inject": "false" } } },
    ],
    [
      "a proxy with other resources",
      {
        spec: {
          containers: [
            { name: "app", image: "example.com/app:1" },
            Object.assign({ name: "istio-proxy", image: "auto" }, { resources: { limits: { cpu: "500m" } } }),
          ],
        },
      },
    ],
    ["a proxy of its own image", { spec: { containers: [container, { name: "istio-proxy", image: "example.com/proxy" }] } }],
  ])("%s", async (_name, template) => {
    await world.install([
      istiod(istiods.plain).revisionConfiguration(),
      istiod(istiods.canary).revisionConfiguration({ reinvocationPolicy: "IfNeeded" }),
    ]);
    for (const labels of [{ "istio-injection": "enabled" }, { "istio.io/rev": "canary" }]) {
      const namespace = `ns-${randomUUID().slice(0, 8)}`;
      const stored = await world.namespace(namespace, labels);
      const source = { ...sourceOf(namespace, {}), template: await world.stored({ spec: { containers: [container] }, ...template }) };
      const [theirs, ours] = [await world.ofApiServer(source), await world.ofOurs(source, stored)];
      expect(ours).toEqual(theirs);
      expect(theirs.called).toHaveLength(1);
    }
  });
});

describe("a control plane in trouble", () => {
  afterEach(() => istiod(istiods.plain).misbehave(undefined));
  const patch = (operations: unknown): string => Buffer.from(JSON.stringify(operations)).toString("base64");
  const troubles: readonly (readonly [string, Misbehaviour, "agrees" | "failed"])[] = [
    ["refuses with a message", { type: "refuse", message: "bad annotation" }, "agrees"],
    ["refuses without a status", { type: "refuse" }, "agrees"],
    ["warns", { type: "alter", response: { warnings: ["careful"], auditAnnotations: { a: "b" } } }, "agrees"],
    ["changes nothing", { type: "alter", response: { patch: patch([]) } }, "agrees"],
    ["gives no patch", { type: "alter", response: { patch: undefined, patchType: undefined } }, "agrees"],
    ["is out of order", { type: "status", code: 500 }, "failed"],
    ["answers another question", { type: "alter", response: { uid: "other" } }, "failed"],
    ["patches in another way", { type: "alter", response: { patchType: "MergePatch" } }, "failed"],
    ["names a way to patch and gives no patch", { type: "alter", response: { patch: undefined } }, "failed"],
    ["patches without saying how", { type: "alter", response: { patchType: undefined } }, "failed"],
    ["patches what is not there", { type: "alter", response: { patch: patch([{ op: "replace", path: "/spec/nope/0", value: 1 }]) } }, "failed"],
    ["removes what is not there", { type: "alter", response: { patch: patch([{ op: "remove", path: "/spec/nope" }]) } }, "failed"],
    ["answers with a page", { type: "text", text: "<html>" }, "failed"],
    ["hangs up", { type: "hangUp" }, "failed"],
  ];
  test.each(troubles)("that %s", async (_name, misbehaviour, verdict) => {
    const control = istiod(istiods.plain);
    await world.install([control.revisionConfiguration()]);
    const namespace = `ns-${randomUUID().slice(0, 8)}`;
    const stored = await world.namespace(namespace, { "istio-injection": "enabled" });
    const source = sourceOf(namespace, {});
    control.misbehave(misbehaviour);
    const [theirs, ours] = [await world.ofApiServer(source), await world.ofOurs(source, stored)];
    if (verdict === "agrees") return expect(ours).toEqual(theirs);
    expect(theirs.sidecar).toBe("refused");
    expect(ours).toMatchObject({ type: "failed" });
  });
});
