// What serves a JWKS document: nginx's configuration and its objects in the cluster.
import { hash } from "node:crypto";
import type { ConfigMap, Deployment, ObjectName, OwnerReference, Service } from "@keyturn/runtime";
import { originPattern } from "./api.ts";
import { discoveryFile, discoveryPath } from "./jwk.ts";
import type { IpFamily, NginxInstallation, Quantities } from "./flags.ts";

// The nginx configuration that serves the JWKS document: one server, the same headers on every answer, and nothing of the spec in it unchecked.

/** What is set about the answers. */
export interface NginxAnswers {
  /** How long clients may keep the JWKS document; errors are never kept. */
  readonly cacheSeconds: number;
  /** Origins whose pages may read the JWKS document, or `*` for all. */
  readonly corsOrigins: readonly string[];
  /** Whether there is a discovery document. Default false. */
  readonly discovery?: boolean;
  /** Whether it speaks HTTPS too. Default false. */
  readonly tls?: boolean;
  /** Default IPv4. */
  readonly ipFamily?: IpFamily;
}

/** Where nginx runs. The defaults are those of the container. */
interface NginxPlace {
  /** Where it listens for HTTP. */
  readonly listen: readonly string[];
  /** Where it listens for HTTPS, if it is asked for. */
  readonly listenTls: readonly string[];
  readonly root: string;
  /** The folder with the server's certificate. */
  readonly certificates: string;
}

/** The ports on which the container listens; such that need no privilege. */
export const nginxPort = 8080;
const nginxTlsPort = 8443;

/** Where volumes are mounted in the container. */
export const nginxRoot = "/usr/share/nginx/html";
const nginxConfigFolder = "/etc/nginx/conf.d";
const nginxCertificates = "/etc/nginx/tls";

/** The file within `nginxRoot`, and the key within the ConfigMap. */
export const documentFile = "jwks.json";

/**
 * Writes the text of `default.conf`, to be included at nginx's http level.
 *
 * All headers are added in one place, the server: nginx lets a location that adds one lose all that it would inherit. They are added `always`,
 * also to errors, and `Cache-Control` depends on the answer's status, so that an error is not kept for as long as a document.
 * Origins are regular expressions, in lower case as browsers send them: nginx refuses plain words that are longer than its hash's buckets, or there twice,
 * and whether a larger bucket may be asked for here depends on the image's own nginx.conf, which may have done so.
 * Throws for an origin that is none; the API has checked them before.
 */
export function renderNginxConfig(
  { cacheSeconds, corsOrigins, discovery, tls, ipFamily = "IPv4" }: NginxAnswers,
  place: Partial<NginxPlace> = {},
): string {
  const {
    listen = portsOf(nginxPort, ipFamily),
    listenTls = portsOf(nginxTlsPort, ipFamily),
    root = nginxRoot,
    certificates = nginxCertificates,
  } = place;
  const anyOrigin = corsOrigins.includes("*");
  const notOrigin = corsOrigins.find((origin) => origin !== "*" && !originPattern.test(origin));
  if (notOrigin !== undefined) throw new Error(`"${notOrigin}" is not an origin such as https://example.com; nginx was not configured with it`);
  const origins = anyOrigin ? [] : [...new Set(corsOrigins.map(sentOrigin))];
  const listening = [...listen.map((each) => `  listen ${each};\n`), ...(tls ? listenTls.map((each) => `  listen ${each} ssl;\n`) : [])].join("");
  const certificate = `  ssl_certificate ${certificates}/tls.crt;\n  ssl_certificate_key ${certificates}/tls.key;\n  ssl_protocols TLSv1.2 TLSv1.3;\n`;

  return `# Written by Keyturn. Changes made here are undone.
map $status $jwks_cache_control {
  200     "public, max-age=${cacheSeconds}";
  304     "public, max-age=${cacheSeconds}";
  default "no-store";
}
map $status $jwks_allow {
  405     "GET, HEAD, OPTIONS";
  default "";
}
map $http_origin $jwks_origin {
${origins.map((origin) => `  "~*^${origin.replaceAll(".", "[.]")}$" "${origin}";\n`).join("")}  default "${anyOrigin ? "*" : ""}";
}

server {
${listening}${tls ? certificate : ""}  server_name _;
  server_tokens off;
  root ${root};
  types { }
  default_type application/json;

  add_header Cache-Control $jwks_cache_control always;
  add_header Access-Control-Allow-Origin $jwks_origin always;
  add_header Access-Control-Allow-Methods "GET, HEAD, OPTIONS" always;
  add_header Access-Control-Allow-Headers "Content-Type, If-None-Match" always;
  add_header Access-Control-Expose-Headers "ETag" always;
${anyOrigin ? "" : '  add_header Vary "Origin" always;\n'}  add_header X-Content-Type-Options "nosniff" always;
  add_header X-Frame-Options "DENY" always;
  add_header X-XSS-Protection "1; mode=block" always;
  add_header Allow $jwks_allow always;

  if ($request_method = OPTIONS) {
    return 204;
  }
  if ($request_method !~ ^(GET|HEAD)$) {
    return 405;
  }

  location / {
    # RFC 7517, section 8.5.
    default_type application/jwk-set+json;
    try_files /${documentFile} =404;
  }
  # Below the path of an issuer, whatever that is.
  location ~ ${discoveryPath.replaceAll(".", "[.]")}$ {
    ${discovery ? `try_files /${discoveryFile} =404` : "return 404"};
  }
  location = /healthz {
    access_log off;
    return 200 '{"status":"ok"}';
  }

  # Not for requests that could not be read: those have no path, and nginx turns them into a 500 here.
  error_page 404 405 500 503 @error;
  location @error {
    return 200 '{"error":"$status"}';
  }
}
`;
}

function portsOf(port: number, ipFamily: IpFamily): readonly string[] {
  return [...(ipFamily === "IPv6" ? [] : [`${port}`]), ...(ipFamily === "IPv4" ? [] : [`[::]:${port}`])];
}

/** The origin as browsers send it: in lower case, and without its scheme's own port. */
function sentOrigin(origin: string): string {
  return origin.toLowerCase().replace(/^(http:\/\/[^:]+):0*80$|^(https:\/\/[^:]+):0*443$/, "$1$2");
}

// The objects that serve the JWKS document in the cluster: the nginx configuration, a Deployment that Pod Security "restricted" admits, and a Service.

/** What is set about the pods. */
export interface NginxPods extends Partial<Pick<NginxInstallation, "nodeSelector" | "tolerations" | "serviceType">> {
  readonly image: string;
  readonly replicas: number;
  readonly resources: { readonly requests?: Quantities; readonly limits?: Quantities };
}

/** The objects' names and what they are made from. */
export interface NginxOptions {
  /** Of the Deployment and the Service. */
  readonly name: ObjectName;
  readonly configMapName: string;
  readonly documentConfigMapName: string;
  /** The revision of the JWKS document; undefined to leave pods with the one that they have. */
  readonly documentRevision: string | undefined;
  readonly config: string;
  readonly answers: NginxAnswers;
  /** The server's certificate: the Secret, and what identifies its content, because nginx reads it only once. */
  readonly tls: { readonly secret: string; readonly digest: string } | undefined;
  readonly pods: NginxPods;
  readonly owner: OwnerReference;
}

/** The key of the configuration within its ConfigMap. */
export const nginxConfigFile = "default.conf";

/**
 * On the pods: what they serve, and how. Each change rolls the Deployment once, so that its rollout tells who serves the document as it is. kubelet brings
 * it to older pods as well, but says to nobody when, and never if its ConfigMap was immutable.
 */
const configHashAnnotation = "keyturn.io/nginx-config-hash";
const documentRevisionAnnotation = "keyturn.io/jwks-revision";
const certificateHashAnnotation = "keyturn.io/nginx-certificate-hash";

/** The labels that rieset/jwks-operator selects by: a Deployment's selector cannot be changed, and pods of its making can be taken over. */
export const selectorOf = ({ name }: ObjectName): Readonly<Record<string, string>> => ({ app: name, "jwks-config": name });

/** The ConfigMap with nginx's configuration. */
export function nginxConfigMap({ name, configMapName, config, owner }: NginxOptions): ConfigMap {
  return {
    metadata: { ...name, name: configMapName, labels: { ...selectorOf(name) }, ownerReferences: [owner] },
    data: { [nginxConfigFile]: config },
  };
}

/** The Service: port 80 or 443, to the container's port by its name, so that pods of another port can stand behind it too. */
export function nginxService({ name, owner, tls, pods: { serviceType = "ClusterIP" }, answers: { ipFamily = "IPv4" } }: NginxOptions): Service {
  const [portName, port] = tls ? (["https", 443] as const) : (["http", 80] as const);
  const families =
    ipFamily === "IPv4" ? {} : ipFamily === "IPv6" ? { ipFamilies: ["IPv6"], ipFamilyPolicy: "SingleStack" } : { ipFamilyPolicy: "PreferDualStack" };
  return {
    metadata: { ...name, labels: { ...selectorOf(name) }, ownerReferences: [owner] },
    spec: { type: serviceType, selector: selectorOf(name), ports: [{ name: portName, port, targetPort: portName, protocol: "TCP" }], ...families },
  };
}

/** The Deployment. Both ConfigMaps are mounted whole: a file mounted with `subPath` would never be updated. */
export function nginxDeployment(options: NginxOptions): Deployment {
  const { name, configMapName, documentConfigMapName, documentRevision, config, answers, tls, pods, owner } = options;
  const { nodeSelector = {}, tolerations = [] } = pods;
  const labels = selectorOf(name);
  const container = {
    name: "nginx",
    image: pods.image,
    command: ["nginx", "-g", "daemon off;"],
    ports: [{ name: "http", containerPort: nginxPort }, ...(tls ? [{ name: "https", containerPort: nginxTlsPort }] : [])],
    resources: pods.resources,
    // Alive is whoever answers; ready is whoever has a document to answer with.
    livenessProbe: { httpGet: { path: "/healthz", port: "http" }, periodSeconds: 10 },
    readinessProbe: { httpGet: { path: `/${documentFile}`, port: "http" }, periodSeconds: 5 },
    // nginx ends at once when it is asked to, and for a moment connections still come: the node learns later than kubelet that the pod goes.
    lifecycle: { preStop: { sleep: { seconds: 5 } } },
    // What nginx has against its configuration is then in the pod's status, where the operator reads it.
    terminationMessagePolicy: "FallbackToLogsOnError",
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
    volumeMounts: [
      { name: "config", mountPath: nginxConfigFolder, readOnly: true },
      { name: "document", mountPath: nginxRoot, readOnly: true },
      ...(tls ? [{ name: "certificate", mountPath: nginxCertificates, readOnly: true }] : []),
      { name: "tmp", mountPath: "/tmp" },
    ],
  };
  const files = [documentFile, ...(answers.discovery ? [discoveryFile] : [])];
  const podSpec = {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway", labelSelector: { matchLabels: labels } },
    ],
    ...(Object.keys(nodeSelector).length > 0 && { nodeSelector }),
    ...(tolerations.length > 0 && { tolerations }),
    containers: [container],
    volumes: [
      { name: "config", configMap: { name: configMapName } },
      { name: "document", configMap: { name: documentConfigMapName, items: files.map((file) => ({ key: file, path: file })) } },
      ...(tls ? [{ name: "certificate", secret: { secretName: tls.secret } }] : []),
      // nginx keeps its process id and its buffers here.
      { name: "tmp", emptyDir: {} },
    ],
  };
  const annotations = {
    [configHashAnnotation]: hash("sha256", config),
    ...(tls && { [certificateHashAnnotation]: tls.digest }),
    ...(documentRevision !== undefined && { [documentRevisionAnnotation]: documentRevision }),
  };
  const spec = {
    replicas: pods.replicas,
    selector: { matchLabels: labels },
    // Old pods serve until new ones do.
    strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    template: { metadata: { labels, annotations }, spec: podSpec },
  };
  return { metadata: { ...name, labels: { ...labels }, ownerReferences: [owner] }, spec };
}
