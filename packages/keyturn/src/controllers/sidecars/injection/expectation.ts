// Which sidecar a new pod of a workload would get: asked of the webhooks that the API server would call, or of the API server itself.
import { hash } from "node:crypto";
import { canonicalJson, type Pod } from "@keyturn/runtime";
import type { Admission } from "../../../workloads/admission.ts";
import { draftPod, type PodSource } from "../../../workloads/pod-draft.ts";
import type { Injector, Injectors } from "../injector-configuration.ts";
import { type InvalidImage, invalidImageIn, type Sidecar, sidecarDigest, sidecarOf } from "./sidecar.ts";
import { matchWebhook, type WebhookCaller } from "./webhook.ts";

// Which sidecar a new pod of a workload would get: asked of the webhooks that the API server would call, in its order.

/** What a new pod would get, or why that is not known. Only `known` may be acted upon. */
export type Expectation =
  /** `webhooks` are those that were asked, as `configuration/webhook`; with none of them the API server calls nobody. */
  | {
      readonly type: "known";
      readonly sidecar: Sidecar | undefined;
      /** Of a container that could not start; the pod is of no use then. */
      readonly invalidImage?: InvalidImage | undefined;
      readonly webhooks: readonly string[];
    }
  /** A condition of the webhook cannot be evaluated here. Asking again changes nothing until the template or the webhook changes. */
  | { readonly type: "undecidable"; readonly webhook: string; readonly message: string }
  /** The webhook does not allow the pod: after a restart the workload could not start. */
  | { readonly type: "refused"; readonly webhook: string; readonly message: string }
  /** The webhook gave no answer that can be used. To be asked again. */
  | { readonly type: "failed"; readonly webhook: string; readonly message: string };

/** Where the pod would be made, and who is asked. */
interface ExpectationOptions {
  readonly namespaceLabels: Readonly<Record<string, string>>;
  readonly injectors: Injectors;
  readonly caller: WebhookCaller;
  /** Also takes digests of the sidecar's parts. */
  readonly whole: boolean;
}

/**
 * Asks what a new pod would get. Webhooks match against the pod as those before have left it, and one with `reinvocationPolicy: IfNeeded` is asked
 * again if a later one changed the pod, as in the API server. A webhook that cannot be reached makes the outcome `failed` whatever its failurePolicy:
 * that a pod without a sidecar would be let through right now is no reason to make one.
 */
export async function expectSidecar(source: PodSource, options: ExpectationOptions, signal?: AbortSignal): Promise<Expectation> {
  const none: ReadonlySet<Injector> = new Set();
  const draft = draftPod(source);
  const first = await askEach({ pod: draft, asked: [], unseen: none, again: none }, () => true, { ...options, signal });
  if ("type" in first) return first;
  const second = first.again.size === 0 ? first : await askEach(first, (injector, { again }) => again.has(injector), { ...options, signal });
  if ("type" in second) return second;
  return {
    type: "known",
    sidecar: sidecarOf(second.pod, options),
    invalidImage: invalidImageIn(second.pod, draft),
    webhooks: second.asked.map(nameOf),
  };
}

/** A pod that every injector would inject, and that nobody makes. */
const probe: PodSource = {
  kind: "Pod",
  namespace: "default",
  name: "keyturn-probe",
  uid: "",
  template: { metadata: { labels: { "sidecar.istio.io/inject": "true" } }, spec: { containers: [{ name: "app", image: "example.com/probe" }] } },
};

/** What each injector that answers would make of the same pod, as a digest. One that does not answer, such as a revision whose istiod is gone, hides no other. */
export async function probeInjectors({ webhooks }: Injectors, caller: WebhookCaller): Promise<ReadonlyMap<string, string>> {
  const distinct = new Map(webhooks.map(({ webhook }) => [canonicalJson({ ...webhook.clientConfig, caBundle: "" }), webhook]));
  const answers = await Promise.all(
    Array.from(distinct, async ([key, webhook]): Promise<readonly (readonly [string, string])[]> => {
      const outcome = await caller.review(webhook, draftPod(probe));
      return outcome.type === "allowed" ? [[key, sidecarDigest(sidecarOf(outcome.pod, { whole: true }))]] : [];
    }),
  );
  return new Map(answers.flat());
}

/** How far the admission of the pod has come. */
interface Progress {
  readonly pod: Pod;
  readonly asked: readonly Injector[];
  /** Those with `IfNeeded` since whose call nothing was changed by another. */
  readonly unseen: ReadonlySet<Injector>;
  /** Those with `IfNeeded` after which another has changed the pod. */
  readonly again: ReadonlySet<Injector>;
}

type NoPod = Exclude<Expectation, { readonly type: "known" }>;

/** Asks those webhooks that match and are `wanted`, each about the pod as the one before has left it. Ends at the first that gives no pod. */
async function askEach(
  start: Progress,
  wanted: (injector: Injector, progress: Progress) => boolean,
  { injectors, namespaceLabels, caller, signal }: ExpectationOptions & { readonly signal: AbortSignal | undefined },
): Promise<Progress | NoPod> {
  let progress = start;
  for (const injector of injectors.webhooks) {
    if (!wanted(injector, progress)) continue;
    const match = matchWebhook(injector.webhook, progress.pod, namespaceLabels);
    if (match.type === "skipped") continue;
    if (match.type === "undecidable") return { type: "undecidable", webhook: nameOf(injector), message: match.message };
    const outcome = await caller.review(injector.webhook, progress.pod, signal);
    if (outcome.type !== "allowed") return { type: outcome.type, webhook: nameOf(injector), message: outcome.message };
    const { asked, unseen, again } = progress;
    progress = {
      pod: outcome.pod,
      asked: [...asked, injector],
      unseen: new Set([...(outcome.changed ? [] : unseen), ...(injector.webhook.reinvocationPolicy === "IfNeeded" ? [injector] : [])]),
      again: outcome.changed ? again.union(unseen) : again,
    };
  }
  return progress;
}

function nameOf({ configuration, webhook }: Injector): string {
  return `${configuration}/${webhook.name}`;
}

// What the answer to "which sidecar would a new pod get" depends on, as one string to keep answers by.

/** Everything that an answer depends on. */
export interface ExpectationInputs {
  readonly source: Pick<PodSource, "kind" | "namespace" | "name">;
  readonly templateDigest: string;
  readonly namespaceLabels: Readonly<Record<string, string>>;
  readonly injectors: Injectors;
  /** Changes with the configuration of the injectors themselves. */
  readonly configurationVersion: string;
  readonly whole: boolean;
}

/**
 * Equal keys, equal answers. Workloads of one namespace with the same template share an answer, unless the whole sidecar is compared: its environment
 * names the workload. Namespace labels that no webhook selects by do not count.
 */
export function expectationKey({ source, templateDigest, namespaceLabels, injectors, configurationVersion, whole }: ExpectationInputs): string {
  const labels = Object.entries(namespaceLabels).filter(([key]) => injectors.namespaceLabels.has(key));
  const { kind, namespace, name } = source;
  return digest([kind, namespace, whole ? name : "", templateDigest, Object.fromEntries(labels), injectors.digest, configurationVersion]);
}

function digest(value: unknown): string {
  return hash("sha256", canonicalJson(value)).slice(0, 32);
}

// What the API server itself said.

/** Whoever is named here is the API server itself, and no webhook that is known by its name. */
export const apiServer = "of the API server";

/** The API server's answer, or that there is none: then only webhooks can be asked. */
export function expectationOf(admission: Admission, { whole }: Pick<ExpectationOptions, "whole">): Expectation | undefined {
  if (admission.type === "unasked") return undefined;
  if (admission.type !== "admitted") return { ...admission, webhook: apiServer };
  const { pod, draft } = admission;
  return { type: "known", sidecar: sidecarOf(pod, { whole }), invalidImage: invalidImageIn(pod, draft), webhooks: [] };
}
