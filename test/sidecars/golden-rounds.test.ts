// What is decided in each of twelve rounds of changes, with Istio's own answers. They were recorded; ISTIO_INJECTOR, ISTIO_CHART and HELM ask an Istio again, and with
// `-u` record it. See CONTRIBUTING.md.
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { canonicalJson, type MutatingWebhookConfiguration, type Pod } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { readInjectors } from "../../packages/keyturn/src/controllers/sidecars/injector-configuration.ts";
import type { ReviewOutcome } from "../../packages/keyturn/src/controllers/sidecars/injection/admission.ts";
import { expectSidecar } from "../../packages/keyturn/src/controllers/sidecars/injection/expectation.ts";
import { createWebhookCaller, type WebhookCaller } from "../../packages/keyturn/src/controllers/sidecars/injection/webhook.ts";
import { comparePods, podKeeper } from "../../packages/keyturn/src/controllers/sidecars/pod-comparison.ts";
import { startIstiod } from "../../packages/keyturn/src/dev/stand-ins/istiod.ts";
import type { ProxySettings } from "../../packages/keyturn/src/dev/stand-ins/istiod-injection.ts";
import { draftPod } from "../../packages/keyturn/src/workloads/pod-draft.ts";
import { deadPod } from "../../packages/keyturn/src/workloads/pod-selection.ts";
import { type IstioState, type Round, rounds, sourceOf } from "./golden-rounds.ts";
import { RealIstio } from "./real-istio.ts";

const { ISTIO_INJECTOR: injector, ISTIO_CHART: chart, HELM: helm = "helm" } = process.env;
const file = new URL("golden-rounds.json", import.meta.url);
/** By a digest of the state and of the pod that was asked about; pods by their own. */
interface Golden {
  readonly configurations: Record<string, readonly MutatingWebhookConfiguration[]>;
  readonly answers: Record<string, string>;
  readonly pods: Record<string, Pod>;
}
const isReal = injector !== undefined && chart !== undefined;
const golden: Golden = isReal ? { configurations: {}, answers: {}, pods: {} } : JSON.parse(readFileSync(file, "utf8"));
/** What of the record the rounds ask for. */
const needed = new Set<string>();

function digest(value: unknown): string {
  return hash("sha256", canonicalJson(value)).slice(0, 12);
}

/** As much of an answer as decides: what a sidecar is, and not how it works. */
function essence({ metadata, spec }: Pod): Pod {
  const { labels, annotations, namespace, generateName } = metadata;
  const container = ({ name, image, ...rest }: NonNullable<Pod["spec"]>["containers"][number]) => {
    const { restartPolicy, resources, env } = { restartPolicy: undefined, resources: undefined, env: undefined, ...rest };
    return JSON.parse(JSON.stringify({ name, image, restartPolicy, resources, env }));
  };
  const { containers = [], initContainers } = spec ?? {};
  return {
    metadata: JSON.parse(JSON.stringify({ namespace, generateName, labels, annotations })),
    spec: { containers: containers.map(container), ...(initContainers && { initContainers: initContainers.map(container) }) },
  };
}

/** Answers from the record, or from an Istio, whose answers are recorded. */
async function asked<T>(
  state: IstioState,
  use: (configurations: readonly MutatingWebhookConfiguration[], caller: WebhookCaller) => Promise<T>,
): Promise<T> {
  const { installations } = state;
  const key = (webhook: string, pod: Pod): string => digest([installations, webhook, pod]);
  if (!isReal) {
    const review = (webhook: { readonly name: string }, pod: Pod): Promise<ReviewOutcome> => {
      needed.add(key(webhook.name, pod));
      const answer = golden.pods[golden.answers[key(webhook.name, pod)] ?? ""];
      if (!answer) throw new Error(`nobody has asked Istio about this pod: ${JSON.stringify(pod)}`);
      return Promise.resolve({ type: "allowed", pod: answer, changed: true });
    };
    needed.add(digest(installations));
    return use(golden.configurations[digest(installations)] ?? [], { review, close() {} });
  }
  await using istio = await RealIstio.start(state, { injector, chart, helm });
  const real = createWebhookCaller();
  golden.configurations[digest(installations)] = istio.configurations.map(({ metadata, webhooks = [] }) => ({
    metadata,
    webhooks: webhooks.map((webhook) => ({ ...webhook, clientConfig: {} })),
  }));
  const review: WebhookCaller["review"] = async (webhook, pod) => {
    const outcome = await real.review(webhook, pod);
    if (outcome.type !== "allowed") throw new Error(outcome.message);
    const answer = essence(outcome.pod);
    golden.pods[digest(answer)] = answer;
    golden.answers[key(webhook.name, pod)] = digest(answer);
    return { ...outcome, pod: answer };
  };
  const result = await use(istio.configurations, { review, close() {} });
  real.close();
  return result;
}

/** A live pod that was made then. */
async function livePod(round: Round): Promise<Pod> {
  const { before } = round;
  return asked(before, async (configurations, caller) => {
    let pod = essence(draftPod(sourceOf(round)));
    const keeps: WebhookCaller = {
      review: async (webhook, asks) => {
        const outcome = await caller.review(webhook, asks);
        if (outcome.type === "allowed") ({ pod } = outcome);
        return outcome;
      },
      close() {},
    };
    await expectSidecar(sourceOf(round), { ...before, injectors: readInjectors(configurations), caller: keeps, whole: false });
    return pod;
  });
}

/** What is decided about it now. */
async function decided(round: Round, { compareHub = false, whole = false } = {}): Promise<string> {
  const live = await livePod(round);
  const kept = podKeeper({ whole })({ ...live, metadata: { ...live.metadata, name: "web-1", uid: "u", resourceVersion: "1" } });
  if (kept === deadPod) throw new Error("it lives");
  const { after } = round;
  return asked(after, async (configurations, caller) => {
    const expectation = await expectSidecar(sourceOf(round), { ...after, injectors: readInjectors(configurations), caller, whole });
    const inspection = comparePods([kept], expectation, { compareHub });
    if (inspection.type === "unknown") return inspection.reason === "SidecarImageInvalid" ? "invalid" : `${inspection.reason} ${inspection.message}`;
    return inspection.type === "outdated" ? inspection.reason : "none";
  });
}

test.each(rounds)("$name: $decision", async (round) => {
  const { decision, withHub = decision, whole = decision } = round;
  expect(await decided(round)).toBe(decision);
  expect(await decided(round, { compareHub: true })).toBe(withHub);
  expect(await decided(round, { whole: true })).toBe(whole);
});

/** What is to be seen of an injection: which containers there are, in order, and what the pod says about them. */
function outline({ metadata, spec }: Pod): unknown {
  const { "sidecar.istio.io/status": status = "{}", ...annotations } = metadata.annotations ?? {};
  const containers = [spec?.containers, spec?.initContainers].map((list) =>
    list?.map((container) => ({ restartPolicy: undefined, ...container })).map(({ name, image, restartPolicy }) => [name, image, restartPolicy]),
  );
  return { labels: metadata.labels, annotations, status: JSON.parse(status), containers };
}

test.each<readonly [string, "before" | "after", Partial<ProxySettings>]>([
  ["nothing", "before", {}],
  ["tag", "after", { tag: "1.29.1" }],
  ["hub", "after", { hub: "mirror.example.com/istio" }],
  ["moved revision tag", "after", { revision: "two" }],
  ["native sidecars", "after", { nativeSidecars: true }],
])("the stand-in injects as Istio does: %s", async (name, when, settings) => {
  const round = rounds.find((each) => each.name === name);
  if (!round) throw new Error(`there is no round ${name}`);
  await using standIn = await startIstiod({ tag: "1.29.0", ...settings });
  const [webhook] = standIn.revisionConfiguration().webhooks ?? [];
  const caller = createWebhookCaller();
  const outcome = webhook && (await caller.review(webhook, draftPod(sourceOf(round))));
  caller.close();
  expect(outcome?.type === "allowed" && outline(outcome.pod)).toEqual(outline(await livePod({ ...round, before: round[when] })));
});

test("what was recorded is what Istio answers, and all of it is needed", async () => {
  if (isReal) await expect(`${JSON.stringify(golden, undefined, 2)}\n`).toMatchFileSnapshot(file.pathname);
  else expect([...needed].sort()).toEqual([...Object.keys(golden.configurations), ...Object.keys(golden.answers)].sort());
});
