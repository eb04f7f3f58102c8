// The served half of a plan: nginx's objects, and whether every pod serves what is published.
import { type Blocker, ConfigMap, Deployment, type Kind, type KubeObject, ownerReferenceTo, Service } from "@keyturn/runtime";
import { hash } from "node:crypto";
import { replacedAnnotation } from "./api.ts";
import { timestamp } from "./config-map.ts";
import { nginxConfigFile, nginxConfigMap, nginxDeployment, type NginxOptions, nginxService, renderNginxConfig } from "./nginx.ts";
import { found, nameOfObject, type Observation } from "./observe.ts";
import type { JwksCondition } from "./reasons.ts";
import { rolloutOf, unavailable } from "./rollout.ts";
import type { NginxSettings } from "./settings.ts";

/** nginx's part of a plan: what is wrong with it must keep nobody from removing keys in time. */
export const nginxPart = "nginx";

/** What becomes of nginx. */
export interface Serving {
  readonly objects: readonly (readonly [Kind, KubeObject])[];
  /** Undefined if nobody asked for nginx. */
  readonly report: JwksCondition | undefined;
  readonly nginxConfigUpdated: string | undefined;
  /** When to look at the pods again, of which there is no watch. */
  readonly nextAtMs: number | undefined;
}

/** Decides about nginx. Without a document there is nothing to serve, and pods would only wait for it; what was refused is left alone for now. */
export function servingOf(
  observation: Observation,
  nginx: NginxSettings | undefined,
  {
    document,
    documentName,
    refusal,
    nowMs,
  }: {
    readonly document: ConfigMap | undefined;
    readonly documentName: string;
    readonly refusal: Blocker | undefined;
    readonly nowMs: number;
  },
): Serving {
  const nothing = { objects: [], nextAtMs: undefined };
  if (!nginx) return { ...nothing, report: undefined, nginxConfigUpdated: undefined };
  const { nginxConfigUpdated } = observation.object.status ?? {};
  if (nginx.notAllowed !== undefined)
    return { ...nothing, report: { status: "False", reason: "NotAllowed", message: nginx.notAllowed }, nginxConfigUpdated };
  if (refusal) return { ...nothing, report: refusalReport(refusal), nginxConfigUpdated };
  if (!document) return { ...nothing, report: unavailable("nothing is published yet"), nginxConfigUpdated };

  const options = optionsOf(observation, nginx, { document, documentName });
  const { config, name, configMapName } = options;
  const changed = found(observation, ConfigMap, { ...name, name: configMapName })?.data?.[nginxConfigFile] !== config;
  return {
    objects: [
      [ConfigMap, nginxConfigMap(options)],
      [Deployment, nginxDeployment(options)],
      [Service, nginxService(options)],
    ],
    ...rolloutOf(observation, { live: found(observation, Deployment, name), name: name.name, replicas: nginx.pods.replicas, nowMs }),
    nginxConfigUpdated: changed || nginxConfigUpdated === undefined ? timestamp(nowMs) : nginxConfigUpdated,
  };
}

function optionsOf(
  observation: Observation,
  nginx: NginxSettings,
  { document, documentName }: { readonly document: ConfigMap; readonly documentName: string },
): NginxOptions {
  const { kind, object, secrets } = observation;
  const server = nginx.tlsSecret === undefined ? undefined : secrets.get(nginx.tlsSecret);
  return {
    name: { ...nameOfObject(observation), name: nginx.name },
    configMapName: nginx.configMapName,
    documentConfigMapName: documentName,
    documentReplaced: document.metadata.annotations?.[replacedAnnotation],
    config: renderNginxConfig(nginx.answers),
    answers: nginx.answers,
    tls: nginx.tlsSecret === undefined ? undefined : { secret: nginx.tlsSecret, digest: hash("sha256", JSON.stringify(server ?? null)) },
    pods: nginx.pods,
    owner: ownerReferenceTo(kind, object),
  };
}

/** A name that is somebody else's is told as such. */
function refusalReport({ reason, message }: Blocker): JwksCondition {
  return { status: "False", reason: reason === "Conflict" ? "Conflict" : "NginxRefused", message };
}
