// The limit for the common job: a watch read line by line, and the two writes of each object sent at once by as many workers as the others have.
// Nothing is cached, compared, deduplicated or tried again; every write is the cheapest that the API has for it, or with the argument `apply` the one that our runtime makes.
import { hash } from "node:crypto";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { createHttpTransport, type Secret } from "@keyturn/runtime";
import { benchConnection, endWithInput, report } from "./contestant.ts";

const digestKey = "bench/digest";
const workers = 16;
const selector = "labelSelector=bench%3Djob";
/** The server need not look for unknown fields. */
const unchecked = "fieldValidation=Ignore";
const applies = process.argv.includes("apply");

endWithInput();
const transport = createHttpTransport(await benchConnection());
const waiting: Secret[] = [];
const made = new Set<string>();
let idle = workers;

const listed = JSON.parse(await call("GET", `/api/v1/secrets?${selector}`)) as {
  readonly items: readonly Secret[];
  readonly metadata: { readonly resourceVersion: string };
};
report({ type: "ready" });
for (const secret of listed.items) take(secret);
const watch = `/api/v1/secrets?${selector}&watch=true&resourceVersion=${listed.metadata.resourceVersion}`;
const { body } = await transport.send({ method: "GET", path: watch, lane: "watch" });
for await (const line of createInterface({ input: Readable.from(body) })) take((JSON.parse(line) as { readonly object: Secret }).object);

function take(secret: Secret): void {
  waiting.push(secret);
  if (idle > 0) void work();
}

async function work(): Promise<void> {
  idle--;
  for (let secret = waiting.shift(); secret; secret = waiting.shift()) await publish(secret);
  idle++;
}

async function publish({ metadata: { namespace, name, uid, annotations }, data }: Secret): Promise<void> {
  const sha256 = hash("sha256", Buffer.from(data?.["tls.crt"] ?? "", "base64"), "hex");
  if (annotations?.[digestKey] === sha256) return;
  const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
  const ownerReferences = [{ apiVersion: "v1", kind: "Secret", name, uid, controller: true, blockOwnerDeletion: true }];
  const type = { apiVersion: "v1", kind: "ConfigMap" };
  const configMap = JSON.stringify({ ...type, metadata: { namespace, name, labels: { bench: "job" }, ownerReferences }, data: { sha256 } });
  if (applies) await call("PATCH", `${configMaps}/${name}?fieldManager=bench&force=true&${unchecked}`, configMap, "apply-patch+yaml");
  else if (made.has(`${namespace}/${name}`)) await call("PUT", `${configMaps}/${name}?${unchecked}`, configMap);
  else await call("POST", `${configMaps}?${unchecked}`, configMap);
  made.add(`${namespace}/${name}`);
  const annotation = JSON.stringify({ metadata: { annotations: { [digestKey]: sha256 } } });
  await call("PATCH", `/api/v1/namespaces/${namespace}/secrets/${name}?${unchecked}`, annotation, "strategic-merge-patch+json");
}

async function call(method: "GET" | "POST" | "PUT" | "PATCH", path: string, body?: string, type = "json"): Promise<string> {
  const headers = {
    "content-type": `application/${type}`,
    ...(method !== "GET" && { accept: "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" }),
  };
  const answer = await transport.send({ method, path, headers, ...(body !== undefined && { body }) });
  const chunks = await Array.fromAsync(answer.body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status}`);
  return Buffer.concat(chunks).toString();
}
