// What a control plane injects: the settings of one revision.

/** The settings of a revision, as its installation has them. */
export interface ProxySettings {
  /** Empty for an installation without a revision, whose pods then say `default`. */
  readonly revision: string;
  /** Where it is installed. */
  readonly namespace: string;
  /** The registry and path of the proxy's image. */
  readonly hub: string;
  /** The version of the proxy. */
  readonly tag: string;
  /** Injects the proxy as an init container that goes on running. */
  readonly nativeSidecars: boolean;
  readonly resources: { readonly requests?: Readonly<Record<string, string>>; readonly limits?: Readonly<Record<string, string>> };
  /** More variables for the proxy, as ProxyConfig sets them. */
  readonly env: Readonly<Record<string, string>>;
}

/** As Istio installs itself when nothing is said. */
export const defaultProxySettings: ProxySettings = {
  revision: "",
  namespace: "istio-system",
  hub: "docker.io/istio",
  tag: "1.27.0",
  nativeSidecars: false,
  resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { cpu: "2", memory: "1Gi" } },
  env: {},
};

/** `-canary`, or nothing without a revision: how Istio ends the names of what belongs to a revision. */
export function revisionSuffix({ revision }: Pick<ProxySettings, "revision">): string {
  return revision === "" ? "" : `-${revision}`;
}

/** The image of the proxy. */
export function proxyImage({ hub, tag }: ProxySettings): string {
  return `${hub}/proxyv2:${tag}`;
}
