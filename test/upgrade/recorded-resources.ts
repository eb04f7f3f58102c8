// Which resources the record of a release holds.

/** A resource: what its objects are called, and where they are listed. */
export interface RecordedResource {
  readonly apiVersion: string;
  readonly kind: string;
  /** A kind that Keyturn serves, and whose status it writes. */
  readonly ours: boolean;
  /** The path of the collection in a namespace. */
  readonly path: (namespace: string) => string;
}

const resource = (apiVersion: string, kind: string, plural: string): RecordedResource => ({
  apiVersion,
  kind,
  ours: /^(rotator\.k8s\.telekom\.com|keyturn\.io|rieset\.io|tengine\.taobao\.org)\//.test(apiVersion),
  path: (namespace) => `${apiVersion.includes("/") ? "/apis" : "/api"}/${apiVersion}/namespaces/${namespace}/${plural}`,
});

/** Owners come before what they own. */
export const recordedResources: readonly RecordedResource[] = [
  resource("rotator.k8s.telekom.com/v1", "RotationTarget", "rotationtargets"),
  resource("keyturn.io/v1alpha1", "JWKSConfig", "jwksconfigs"),
  resource("rieset.io/v1alpha1", "JWKS", "jwks"),
  resource("tengine.taobao.org/v1", "SecretCheckSum", "secretchecksums"),
  resource("tengine.taobao.org/v1", "IngressCheckSum", "ingresschecksums"),
  resource("v1", "Secret", "secrets"),
  resource("v1", "ConfigMap", "configmaps"),
  resource("v1", "Service", "services"),
  resource("apps/v1", "Deployment", "deployments"),
  resource("networking.k8s.io/v1", "Ingress", "ingresses"),
];
