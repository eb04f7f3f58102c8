// What Tengine-Ingress's own functions answered (their source, compiled with Go 1.24 and given these objects), against the reader of the tests and against our ids.
import { readFile } from "node:fs/promises";
import type { Secret } from "@keyturn/runtime";
import { expect, test } from "vitest";
import * as z from "zod";
import { defaultVersionAnnotation, secretMember } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { type CheckSum, TengineStore } from "./tengine-store.ts";

const put = z.object({
  put: z.string(),
  namespace: z.string().default("shop"),
  version: z.string().optional(),
  content: z.string(),
  verdict: z.string(),
});
const see = z.object({ see: z.custom<CheckSum>(), verdict: z.string() });
const gone = z.object({ drop: z.string(), verdict: z.string() });
const forgotten = z.object({ forget: z.string(), verdict: z.string() });
const vectors = z
  .object({
    contents: z.record(z.string(), z.record(z.string(), z.string())),
    cases: z.array(z.object({ what: z.string(), steps: z.array(z.union([put, see, gone, forgotten])) })),
  })
  .parse(JSON.parse(await readFile(new URL("./tengine.vectors.json", import.meta.url), "utf8")));

function secretOf({ put: name, namespace, version, content }: z.infer<typeof put>): Secret {
  const annotations = version === undefined ? {} : { [defaultVersionAnnotation]: version };
  return { metadata: { namespace, name, annotations }, type: "kubernetes.io/tls", data: vectors.contents[content] ?? expect.fail(content) };
}

test.each(vectors.cases)("$what: the reader says what Tengine said", ({ steps }) => {
  const store = new TengineStore();
  for (const [index, step] of steps.entries()) {
    if ("put" in step) store.put(secretOf(step));
    else if ("see" in step) store.see(step.see);
    else if ("drop" in step) store.drop(step.drop);
    else store.forget(step.forget);
    expect([index, store.check().replace(/^mismatch: /, "")]).toEqual([index, step.verdict]);
  }
});

test.each(vectors.cases.slice(0, 3))("$what: our ids are Tengine's", ({ steps }) => {
  const puts = steps.flatMap((step) => ("put" in step ? [step] : []));
  const ours = puts.flatMap((step) => {
    const member = secretMember(secretOf(step), { versionAnnotations: [defaultVersionAnnotation] });
    return member.state === "counted" ? [member.id] : [];
  });
  const [, listed = ""] = /not in SecretCheckSum: <([^>]*)>/.exec(steps.at(-1)?.verdict ?? "") ?? [];
  expect(ours.toSorted()).toEqual(listed.split(",").toSorted());
});
