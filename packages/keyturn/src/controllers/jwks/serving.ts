// The served half of a plan: nginx's objects, and whether pods answer.
import { apply, ConfigMap, Deployment, ownerReferenceTo, Service, type Write } from "@keyturn/runtime";
import { timestamp } from "./history-record.ts";
import { renderNginxConfig } from "./nginx-config.ts";
import { nginxConfigFile, nginxConfigMap, nginxDeployment, type NginxOptions, nginxService } from "./nginx-objects.ts";
import { nameOfObject, type Observation } from "./observation.ts";
import type { JwksSettings } from "./settings.ts";
import type { Verdict } from "./status.ts";

/** What becomes of nginx. */
export interface Serving {
  readonly writes: readonly Write[];
  /** Undefined if nobody asked for nginx. */
  readonly verdict: Verdict | undefined;
  readonly nginxConfigUpdated: string | undefined;
}

/** Decides about nginx. Without a document there is nothing to serve, and pods would only wait for it; with a name that is somebody else's, nothing is touched. */
export function servingOf(
  observation: Observation,
  settings: JwksSettings,
  { hasDocument, conflict, nowMs }: { readonly hasDocument: boolean; readonly conflict: Verdict | undefined; readonly nowMs: number },
): Serving {
  const { object, kind, live } = observation;
  const { nginx } = settings;
  if (!nginx) return { writes: [], verdict: undefined, nginxConfigUpdated: undefined };
  const { nginxConfigUpdated } = object.status ?? {};
  const refusal: Verdict | undefined =
    observation.nginxRefusal === undefined ? undefined : { holds: false, reason: "NginxRefused", message: observation.nginxRefusal };
  const hindrance = conflict ?? refusal;
  if (hindrance) return { writes: [], verdict: hindrance, nginxConfigUpdated };
  if (!hasDocument) return { writes: [], verdict: unavailable("nothing is published yet"), nginxConfigUpdated };

  const config = renderNginxConfig(nginx);
  const options: NginxOptions = {
    name: nameOfObject(observation),
    configMapName: nginx.configMapName,
    documentConfigMapName: settings.configMapName,
    config,
    pods: nginx.pods,
    owner: ownerReferenceTo(kind, object),
  };
  const changed = live.nginxConfigMap?.data?.[nginxConfigFile] !== config;
  const available = live.deployment?.status?.availableReplicas ?? 0;
  return {
    writes: [apply(ConfigMap, nginxConfigMap(options)), apply(Deployment, nginxDeployment(options)), apply(Service, nginxService(options))],
    verdict:
      available > 0
        ? { holds: true, reason: "Serving", message: `${available} of ${nginx.pods.replicas} pods serve the document` }
        : unavailable(`no pod of Deployment ${options.name.name} is available`),
    nginxConfigUpdated: changed || nginxConfigUpdated === undefined ? timestamp(nowMs) : nginxConfigUpdated,
  };
}

function unavailable(message: string): Verdict {
  return { holds: false, reason: "PodsNotAvailable", message };
}
