// What is not as the common job wants it, seen from the objects themselves.
import { hash } from "node:crypto";
import type { ConfigMap, Secret, Stored } from "@keyturn/runtime";

/** A sentence for each thing that is wrong: every Secret must have its ConfigMap, owned by it and with nothing but its certificate's digest, and say so. */
export function jobMistakes(secrets: readonly Stored<Secret>[], configMaps: readonly Stored<ConfigMap>[]): string[] {
  const byName = new Map(configMaps.map((configMap) => [configMap.metadata.name, configMap]));
  const mistakes = secrets.flatMap((secret) => {
    const { name, uid, annotations } = secret.metadata;
    const sha256 = hash("sha256", Buffer.from(secret.data?.["tls.crt"] ?? "", "base64"), "hex");
    const configMap = byName.get(name);
    byName.delete(name);
    if (!configMap) return [`${name} has no ConfigMap`];
    const owner = configMap.metadata.ownerReferences?.[0];
    return [
      ...(JSON.stringify(configMap.data) === JSON.stringify({ sha256 })
        ? []
        : [`the ConfigMap of ${name} does not hold the digest, or more than that`]),
      ...(owner?.uid === uid && owner.controller === true ? [] : [`the ConfigMap of ${name} is not owned by its Secret`]),
      ...(annotations?.["bench/digest"] === sha256 ? [] : [`${name} does not say what was published`]),
    ];
  });
  return [...mistakes, ...[...byName.keys()].map((name) => `there is a ConfigMap ${name} without a Secret`)];
}
