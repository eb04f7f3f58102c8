// The ConfigMap that a control plane reads what it injects from.
import type { ConfigMap } from "@keyturn/runtime";
import { type ProxySettings, revisionSuffix } from "./proxy-settings.ts";

/** The ConfigMap of a revision, as far as anybody looks at it. */
export function injectorConfigMap(settings: ProxySettings): ConfigMap {
  const { namespace, revision, hub, tag, resources, nativeSidecars, env } = settings;
  const values = {
    revision,
    global: { hub, tag, istioNamespace: namespace, proxy: { image: "proxyv2", resources } },
    pilot: { nativeSidecars, env },
  };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      namespace,
      name: `istio-sidecar-injector${revisionSuffix(settings)}`,
      labels: { "istio.io/rev": revision || "default", release: "istio" },
    },
    data: { config: "policy: enabled\n", values: JSON.stringify(values, undefined, 2) },
  };
}
