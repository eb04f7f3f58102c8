// From the originals: objects that were made under their CRDs are there under ours, with every field and their status, in every version.
import type { KubeObject } from "@keyturn/runtime";
import { useCluster } from "@keyturn/runtime/testing/vitest";
import { expect, it } from "vitest";
import * as z from "zod";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { allFields } from "../jwks/rieset-fields.ts";
import { features } from "../../packages/keyturn/src/registry.ts";

const cluster = useCluster();

type Properties = Readonly<Record<string, object>>;

const text = { type: "string" };
const time = { type: "string", format: "date-time" };
const fields = (properties: Properties, required?: readonly string[]): object => ({ type: "object", properties, ...(required && { required }) });
const condition = fields({ type: text, status: text, reason: text, message: text, lastTransitionTime: time }, ["type", "status", "reason"]);

/** What is known of an original's CRD: its names, its one version, and its fields. */
interface Predecessor {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly version: string;
  readonly spec: object;
  /** Where it has a status, the subresource is on. */
  readonly status?: object;
}

function crdOf({ group, kind, plural, version, spec, status }: Predecessor): KubeObject {
  const openAPIV3Schema = fields({ spec, ...(status && { status }) });
  const served = { name: version, served: true, storage: true, schema: { openAPIV3Schema }, ...(status && { subresources: { status: {} } }) };
  const names = { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() };
  const definition = { group, scope: "Namespaced", names, versions: [served] };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: definition,
  } as KubeObject;
}

const checksumSpec = fields({ timestamp: time, checksum: text, ids: { type: "array", items: text } }, ["timestamp"]);
const checksum = { timestamp: "2025-01-01T00:00:00Z", checksum: "0cc175b9c0f1b6a831c399e269772661", ids: ["27555-1-44a7"] };
const ready = { type: "Ready", status: "True", reason: "Done", message: "as it should be", lastTransitionTime: "2025-01-01T00:00:00Z" };

const predecessors: readonly (Predecessor & { readonly object: { readonly spec: object; readonly status?: object } })[] = [
  {
    group: "operator.kyma-project.io",
    kind: "EventingAuth",
    plural: "eventingauths",
    version: "v1alpha1",
    spec: fields({}),
    status: fields(
      {
        state: { ...text, enum: ["Ready", "NotReady"] },
        conditions: { type: "array", items: condition },
        iasApplication: fields({ name: text, uuid: text }),
        secret: fields({ clusterId: text, namespacedName: text }),
      },
      ["state"],
    ),
    object: {
      spec: {},
      status: {
        state: "Ready",
        conditions: [ready],
        iasApplication: { name: "one", uuid: "0b5e3c2a" },
        secret: { clusterId: "one", namespacedName: "kyma-system/eventing-webhook-auth" },
      },
    },
  },
  {
    group: "rieset.io",
    kind: "JWKS",
    plural: "jwks",
    version: "v1alpha1",
    spec: fields(
      {
        ...Object.fromEntries(["certificateSecret", "configMapName", "nginxConfigMapName", "endpoint", "updateStrategy"].map((name) => [name, text])),
        ...Object.fromEntries(["oldKeysTTL", "reconcileInterval", "jwksUpdateInterval", "jwksVerificationInterval"].map((name) => [name, text])),
        keepOldKeys: { type: "boolean" },
      },
      ["certificateSecret", "configMapName"],
    ),
    status: fields({
      conditions: { type: "array", items: condition },
      keyCount: { type: "integer" },
      lastKeyID: text,
      lastUpdateTime: time,
      nginxConfigUpdated: time,
      jwksVerified: time,
    }),
    object: {
      // The original never read it, and took any; ours has a longest.
      spec: { certificateSecret: "signer", configMapName: "tokens-jwks", ...allFields, oldKeysTTL: "99999999h" },
      status: {
        conditions: [ready],
        keyCount: 2,
        lastKeyID: "5d0a",
        lastUpdateTime: "2025-01-01T00:00:00Z",
        nginxConfigUpdated: "2025-01-01T00:00:00Z",
        jwksVerified: "2025-01-01T00:00:00Z",
      },
    },
  },
  // As printed in Tengine's document: one version only, and not the one that its program asks for.
  {
    group: "tengine.taobao.org",
    kind: "SecretCheckSum",
    plural: "secretchecksums",
    version: "v1alpha1",
    spec: checksumSpec,
    object: { spec: checksum },
  },
  // As in its source.
  { group: "tengine.taobao.org", kind: "IngressCheckSum", plural: "ingresschecksums", version: "v1", spec: checksumSpec, object: { spec: checksum } },
];

const storedSchema = z.looseObject({ metadata: z.looseObject({ uid: z.string() }), spec: z.looseObject({}), status: z.looseObject({}).optional() });

async function send(method: "GET" | "POST" | "PATCH", path: string, body?: object): Promise<z.infer<typeof storedSchema>> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const content = body && { headers: { "content-type": type }, body: JSON.stringify(body) };
  return storedSchema.parse(await cluster().client.request({ method, path, ...content }));
}

it("every object that was made under the originals' CRDs is there under ours, whole", async () => {
  const before = [];
  for (const { object, ...original } of predecessors) {
    const { group, version, kind, plural } = original;
    await cluster().apply(crdOf(original));
    const path = `/apis/${group}/${version}/namespaces/default/${plural}`;
    const made = await send("POST", path, { apiVersion: `${group}/${version}`, kind, metadata: { name: "one" }, spec: object.spec });
    const { status } = object.status ? await send("PATCH", `${path}/one/status`, { status: object.status }) : { status: undefined };
    expect(status).toEqual(object.status);
    before.push({ group, plural, version, uid: made.metadata.uid, ...object });
  }
  await cluster().apply(renderCrds(features));
  for (const { group, plural, version, uid, spec, status } of before) {
    const versions = group === "tengine.taobao.org" ? ["v1", "v1alpha1"] : [version];
    for (const served of versions) {
      const now = await send("GET", `/apis/${group}/${served}/namespaces/default/${plural}/one`);
      expect(now.metadata.uid).toBe(uid);
      // Defaults may be added; nothing goes.
      expect(now.spec).toMatchObject(spec);
      expect(now.status).toEqual(status);
      // And it can be written again as it is.
      await send("PATCH", `/apis/${group}/${served}/namespaces/default/${plural}/one`, { metadata: { labels: { seen: served } } });
      if (status) await send("PATCH", `/apis/${group}/${served}/namespaces/default/${plural}/one/status`, { status: { conditions: [] } });
    }
  }
});
