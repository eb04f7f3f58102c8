// The kinds that can be rotated: Secrets and ConfigMaps, and those that a flag adds.
import { ConfigMap, defineKind, type Kind, type KubeObject, resourceOf, Secret } from "@keyturn/runtime";

const defaults: readonly Kind[] = [Secret, ConfigMap];

/** Reads a kind as kubectl names it in full: `certificates.v1.cert-manager.io`, `services.v1`. Throws, saying what is wanted. */
export function parseSourceKind(text: string): Kind {
  const [plural = "", version = "", ...group] = text.split(".");
  if (!/^[a-z][a-z0-9-]*$/.test(plural) || !/^v[0-9]+((alpha|beta)[0-9]+)?$/.test(version) || group.includes("")) {
    throw new Error(`"${text}" is not plural.version.group, such as certificates.v1.cert-manager.io`);
  }
  // The name of the kind comes with every object; only it knows how it is written.
  return defineKind<KubeObject>({ group: group.join("."), version, kind: plural, plural, namespaced: true });
}

/** All kinds that can be sources, each once. */
export function sourceKinds(added: readonly Kind[]): readonly Kind[] {
  const kinds = new Map<string, Kind>();
  for (const kind of [...defaults, ...added]) if (!kinds.has(resourceOf(kind))) kinds.set(resourceOf(kind), kind);
  return [...kinds.values()];
}
