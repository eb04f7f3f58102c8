// The ConfigMap in which the document is published, together with the history of its keys.
import { Buffer } from "node:buffer";
import type { ConfigMap, KubeObject, ObjectName, OwnerReference } from "@keyturn/runtime";
import { documentOf, type History, historyAnnotation, renderHistory } from "./history-record.ts";
import { jwksSizeBytes, largestDocumentBytes, renderJwks } from "./jwks-document.ts";
import type { PublishedKey } from "./key-history.ts";
import { documentFile } from "./nginx-config.ts";

/** Tells this ConfigMap from the others that are kept for the same object. */
const componentLabel = "app.kubernetes.io/component";
const component = "jwks";

/** All annotations of an object may have 256 KiB together; the rest is left to others. */
const largestHistoryBytes = 192 * 1024;

/** True if the document and the history of these keys fit into a ConfigMap. */
export function fitsConfigMap(keys: readonly PublishedKey[]): boolean {
  const document = renderJwks(keys.map(({ jwk }) => jwk));
  return (
    jwksSizeBytes(document) <= largestDocumentBytes &&
    jwksSizeBytes(renderHistory({ revision: 0, updatedAtMs: 0, keys }, document)) <= largestHistoryBytes
  );
}

/** The ConfigMap for a history. An owner makes it go with its object; `live` says in which field the document already is, because it cannot be in both. */
export function documentConfigMap(
  history: History,
  options: { readonly name: ObjectName; readonly live: ConfigMap | undefined; readonly owner: OwnerReference | undefined },
): ConfigMap {
  const document = renderJwks(history.keys.map(({ jwk }) => jwk));
  return {
    metadata: {
      ...options.name,
      labels: { [componentLabel]: component },
      annotations: { [historyAnnotation]: renderHistory(history, document) },
      ...(options.owner && { ownerReferences: [options.owner] }),
    },
    ...(options.live?.binaryData?.[documentFile] === undefined
      ? { data: { [documentFile]: document } }
      : { binaryData: { [documentFile]: Buffer.from(document).toString("base64") } }),
  };
}

/** True if `live` publishes exactly what `wanted` does. */
export function publishesSame(live: ConfigMap, wanted: ConfigMap): boolean {
  return (
    documentOf(live) === documentOf(wanted) && live.metadata.annotations?.[historyAnnotation] === wanted.metadata.annotations?.[historyAnnotation]
  );
}

/** True if an object that is kept for a JWKS object is such a ConfigMap. */
export function isDocumentConfigMap({ metadata }: KubeObject): boolean {
  return metadata.labels?.[componentLabel] === component;
}
