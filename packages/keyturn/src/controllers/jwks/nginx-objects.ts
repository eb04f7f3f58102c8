// The objects that serve the document in the cluster: the nginx configuration, a Deployment that Pod Security "restricted" admits, and a Service.
import { hash } from "node:crypto";
import type { ConfigMap, Deployment, ObjectName, OwnerReference, Service } from "@keyturn/runtime";
import { documentFile, nginxConfigFolder, nginxPort, nginxRoot } from "./nginx-config.ts";

/** What a user can set about the pods. */
export interface NginxPods {
  readonly image: string;
  readonly replicas: number;
  readonly resources: { readonly requests?: Readonly<Record<string, string | number>>; readonly limits?: Readonly<Record<string, string | number>> };
}

/** The objects' names and what they are made from. */
export interface NginxOptions {
  /** Of the Deployment and the Service: that of the object they serve for. */
  readonly name: ObjectName;
  readonly configMapName: string;
  readonly documentConfigMapName: string;
  readonly config: string;
  readonly pods: NginxPods;
  readonly owner: OwnerReference;
}

/** The key of the configuration within its ConfigMap. */
export const nginxConfigFile = "default.conf";

/** A digest of the configuration on the pods: a changed setting rolls the Deployment once, a changed key does not. */
const configHashAnnotation = "keyturn.io/nginx-config-hash";

/** The labels that rieset/jwks-operator selects by: a Deployment's selector cannot be changed, and pods of its making can be taken over. */
const selectorOf = ({ name }: ObjectName): Readonly<Record<string, string>> => ({ app: name, "jwks-config": name });

/** The ConfigMap with nginx's configuration. */
export function nginxConfigMap({ name, configMapName, config, owner }: NginxOptions): ConfigMap {
  return {
    metadata: { ...name, name: configMapName, labels: { ...selectorOf(name) }, ownerReferences: [owner] },
    data: { [nginxConfigFile]: config },
  };
}

/** The Service: port 80, to the container's port by its name, so that pods of another port can stand behind it too. */
export function nginxService({ name, owner }: NginxOptions): Service {
  return {
    metadata: { ...name, labels: { ...selectorOf(name) }, ownerReferences: [owner] },
    spec: { type: "ClusterIP", selector: selectorOf(name), ports: [{ name: "http", port: 80, targetPort: "http", protocol: "TCP" }] },
  };
}

/** The Deployment. Both ConfigMaps are mounted whole: a file mounted with `subPath` would never be updated. */
export function nginxDeployment({ name, configMapName, documentConfigMapName, config, pods, owner }: NginxOptions): Deployment {
  const labels = selectorOf(name);
  const container = {
    name: "nginx",
    image: pods.image,
    command: ["nginx", "-g", "daemon off;"],
    ports: [{ name: "http", containerPort: nginxPort }],
    resources: pods.resources,
    // Alive is whoever answers; ready is whoever has a document to answer with.
    livenessProbe: { httpGet: { path: "/healthz", port: "http" }, periodSeconds: 10 },
    readinessProbe: { httpGet: { path: `/${documentFile}`, port: "http" }, periodSeconds: 5 },
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
    volumeMounts: [
      { name: "config", mountPath: nginxConfigFolder, readOnly: true },
      { name: "document", mountPath: nginxRoot, readOnly: true },
      { name: "tmp", mountPath: "/tmp" },
    ],
  };
  const podSpec = {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway", labelSelector: { matchLabels: labels } },
    ],
    containers: [container],
    volumes: [
      { name: "config", configMap: { name: configMapName } },
      { name: "document", configMap: { name: documentConfigMapName, items: [{ key: documentFile, path: documentFile }] } },
      // nginx keeps its process id and its buffers here.
      { name: "tmp", emptyDir: {} },
    ],
  };
  const spec = {
    replicas: pods.replicas,
    selector: { matchLabels: labels },
    // Old pods serve until new ones do.
    strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    template: { metadata: { labels, annotations: { [configHashAnnotation]: hash("sha256", config) } }, spec: podSpec },
  };
  return { metadata: { ...name, labels: { ...labels }, ownerReferences: [owner] }, spec };
}
