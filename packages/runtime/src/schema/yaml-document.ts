// Kubernetes objects as YAML that any reader takes the same way and that diffs well.
import { Document } from "yaml";
import type { KubeObject } from "../client/object.ts";

/**
 * Objects as YAML documents. The same objects give the same text: keys in their own order, no line folding, no anchors, and words that
 * YAML 1.1 readers (Go's among them) would take for something else in quotes.
 */
export function yamlDocuments(objects: readonly KubeObject[]): string {
  return objects.map(yamlDocument).join("---\n");
}

function yamlDocument(object: KubeObject): string {
  const document = new Document(object, { aliasDuplicateObjects: false, compat: "yaml-1.1", keepUndefined: false });
  return document.toString({ lineWidth: 0, indentSeq: false });
}
