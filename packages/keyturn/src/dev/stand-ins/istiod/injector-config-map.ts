// The ConfigMap that a control plane reads what it injects from.
import type { ConfigMap } from "@keyturn/runtime";
import * as z from "zod";
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
    metadata: {
      namespace,
      name: `istio-sidecar-injector${revisionSuffix(settings)}`,
      labels: { "istio.io/rev": revision || "default", release: "istio" },
    },
    data: { config: "policy: enabled\n", values: JSON.stringify(values, undefined, 2) },
  };
}

const amounts = z.record(z.string(), z.string()).exactOptional();
const valuesSchema = z.object({
  global: z.object({ hub: z.string(), tag: z.string(), proxy: z.object({ resources: z.object({ requests: amounts, limits: amounts }) }) }),
  pilot: z.object({ nativeSidecars: z.boolean(), env: z.record(z.string(), z.string()) }),
});

/** The settings that a changed ConfigMap asks for. Throws if its values cannot be read; istiod then goes on with those it has. */
export function settingsIn({ data }: ConfigMap, before: ProxySettings): ProxySettings {
  const { global, pilot } = valuesSchema.parse(JSON.parse(data?.["values"] ?? ""));
  return { ...before, hub: global.hub, tag: global.tag, resources: global.proxy.resources, ...pilot };
}
