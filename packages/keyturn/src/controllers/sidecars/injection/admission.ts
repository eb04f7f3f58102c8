// AdmissionReview v1: the question to a webhook, and its answer, checked as strictly as the API server does.
import { Buffer } from "node:buffer";
import { applyJsonPatch, JsonPatchError, type Pod } from "@keyturn/runtime";
import * as z from "zod";
import { limits } from "../../../limits.ts";

const apiVersion = "admission.k8s.io/v1";

/** What an answer comes to. */
export type ReviewOutcome =
  /**
   * `changed` is true if there was anything to patch. The API server compares what a patch makes with a pod in which it has filled in defaults, so that
   * even the same injection again is a change to it.
   */
  | { readonly type: "allowed"; readonly pod: Pod; readonly changed: boolean }
  | { readonly type: "refused"; readonly message: string }
  | { readonly type: "failed"; readonly message: string };

/** The question, as the API server would ask it for a pod that is being created. It says that nothing will be stored. */
export function reviewRequest(pod: Pod, uid: string): string {
  const kind = { group: "", version: "v1", kind: "Pod" };
  const resource = { group: "", version: "v1", resource: "pods" };
  const { namespace, name } = pod.metadata;
  return JSON.stringify({
    kind: "AdmissionReview",
    apiVersion,
    request: {
      uid,
      kind,
      resource,
      requestKind: kind,
      requestResource: resource,
      name,
      namespace,
      operation: "CREATE",
      userInfo: {},
      object: pod,
      oldObject: null,
      dryRun: true,
      options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1" },
    },
  });
}

const answerSchema = z.object({
  apiVersion: z.literal(apiVersion),
  kind: z.literal("AdmissionReview"),
  response: z.object({
    uid: z.string(),
    allowed: z.boolean(),
    patch: z.string().nullish(),
    patchType: z.string().nullish(),
    status: z.object({ message: z.string().nullish(), reason: z.string().nullish() }).nullish(),
  }),
});

const place = { path: z.string() };
const patchSchema = z.array(
  z.discriminatedUnion("op", [
    z.object({ op: z.enum(["add", "replace", "test"]), ...place, value: z.unknown() }),
    z.object({ op: z.literal("remove"), ...place }),
    z.object({ op: z.enum(["move", "copy"]), ...place, from: z.string() }),
  ]),
);

/** A patched pod, as far as anything looks at it. */
const podSchema = z.looseObject({
  metadata: z.looseObject({
    labels: z.record(z.string(), z.string()).exactOptional(),
    annotations: z.record(z.string(), z.string()).exactOptional(),
  }),
  spec: z.looseObject({
    containers: z.array(z.looseObject({ name: z.string(), image: z.string().exactOptional() })),
    initContainers: z.array(z.looseObject({ name: z.string(), image: z.string().exactOptional() })).exactOptional(),
    volumes: z.array(z.looseObject({ name: z.string() })).exactOptional(),
  }),
});

/** Reads the answer to the question about `pod` with this `uid`. Never throws. */
export function readAnswer(text: string, { pod, uid }: { readonly pod: Pod; readonly uid: string }): ReviewOutcome {
  const answer = answerSchema.safeParse(parseJson(text));
  if (!answer.success) return failed(`its answer is no AdmissionReview of ${apiVersion}: ${problemsOf(answer.error)}`);
  const { response } = answer.data;
  if (response.uid !== uid) return failed("its answer is to another question: the uid differs");
  if (!response.allowed) return { type: "refused", message: inShort(response.status?.message || response.status?.reason || "without saying why") };
  if (!response.patch) return response.patchType ? failed("its answer has a patchType and no patch") : { type: "allowed", pod, changed: false };
  if (response.patchType !== "JSONPatch") return failed(`its answer has a patch of type ${response.patchType ?? "none"}, which is not JSONPatch`);
  return patched(pod, Buffer.from(response.patch, "base64").toString("utf8"));
}

function patched(pod: Pod, text: string): ReviewOutcome {
  const operations = patchSchema.safeParse(parseJson(text));
  if (!operations.success) return failed(`its patch is no JSON patch: ${problemsOf(operations.error)}`);
  try {
    const result = podSchema.safeParse(applyJsonPatch(pod, operations.data));
    if (!result.success) return failed(`its patch makes something that is no pod: ${problemsOf(result.error)}`);
    return { type: "allowed", pod: result.data, changed: operations.data.length > 0 };
  } catch (error) {
    if (!(error instanceof JsonPatchError)) throw error;
    return failed(`its patch cannot be applied: ${error.message}`);
  }
}

function inShort(message: string): string {
  const line = message.replaceAll(/\s+/g, " ").trim();
  return line.length > limits.istiodWords ? `${line.slice(0, limits.istiodWords)}…` : line;
}

function failed(message: string): ReviewOutcome {
  return { type: "failed", message };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Undefined matches no schema, so that what came is reported as not being what it should be.
    return undefined;
  }
}

/** Which fields are wrong, without their values. */
function problemsOf(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => `${path.join(".") || "the whole"}: ${message}`).join("; ");
}
