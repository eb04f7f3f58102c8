// The limit for the rotation controller: the same writes, known beforehand, sent by as many workers as the controller has, with nothing watched, compared or checked.
import { createClient, createHttpTransport, type KubeObject, loadConfig, Secret } from "@keyturn/runtime";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { endWithInput, report } from "./contestant-line.ts";
import { writeEvent } from "./event-write.ts";
import { forEachIndex } from "./for-each-index.ts";
import { setName, sourceOf } from "./rotation-sources.ts";

const [namespace = "", count = "0"] = process.argv.slice(2);
const sets = Number(count);
/** As much as the controller notes with objects and records. */
const digest = "0".repeat(64);
const noted = JSON.stringify({ commits: [digest, digest], log: "x".repeat(300) });

endWithInput();
const client = createClient(createHttpTransport(await loadConfig({ kubeconfig: process.env["BENCH_KUBECONFIG"] ?? "", env: {} })));
await forEachIndex(sets, async (index) => {
  for (const name of ["live", "fallback"]) await client.create(Secret, secret(index, name, 1));
  for (const seq of [1, 2]) await client.create(Secret, record(index, seq));
});
const startedMs = performance.now();
await forEachIndex(sets, async (index) => void (await client.replace(Secret, sourceOf(namespace, index, "value 3"), { fieldManager: "bench" })));
await forEachIndex(sets, rotate);
report({ type: "done", ms: performance.now() - startedMs });

async function rotate(index: number): Promise<void> {
  const briefly = { answer: "metadata" } as const;
  await client.create(Secret, record(index, 3), briefly);
  await client.replace(Secret, secret(index, "fallback", 2), briefly);
  await client.replace(Secret, secret(index, "live", 3), briefly);
  await client.mergePatch(Secret, { namespace, name: `${setName(index)}-3` }, { metadata: { annotations: { log: `${noted} ` } } }, briefly);
  await client.delete(Secret, { namespace, name: `${setName(index)}-1` }, briefly);
  await Promise.all(
    [`${setName(index)}-live`, `${setName(index)}-fallback`].flatMap((name) => [
      reportStatus(name),
      writeEvent(client, RotationTarget, { namespace, name }),
    ]),
  );
}

async function reportStatus(name: string): Promise<void> {
  const condition = {
    status: "True",
    reason: "UpToDate",
    message: "holds version 3",
    observedGeneration: 1,
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const conditions = [
    { type: "Ready", ...condition },
    { type: "Filled", ...condition },
    { type: "Progressing", ...condition },
  ];
  const status = { observedGeneration: 1, rank: 1, currentVersion: { seq: 3, digest, appliedAt: new Date().toISOString() }, conditions };
  const target: KubeObject & { readonly status: object } = { metadata: { namespace, name }, status };
  await client.apply<KubeObject, "metadata">(RotationTarget, target, {
    fieldManager: "keyturn-rotation",
    force: true,
    subresource: "status",
    answer: "metadata",
  });
}

function secret(index: number, name: string, seq: number): Secret {
  const { data = {} } = sourceOf(namespace, index, `value ${seq}`);
  return { metadata: { namespace, name: `${setName(index)}-${name}`, annotations: { version: String(seq), digest } }, type: "Opaque", data };
}

function record(index: number, seq: number): Secret {
  const { data = {} } = sourceOf(namespace, index, `value ${seq}`);
  return {
    metadata: { namespace, name: `${setName(index)}-${seq}`, annotations: { log: noted, digest, seq: String(seq) } },
    type: "rotator.k8s.telekom.com/version",
    immutable: true,
    data,
  };
}
