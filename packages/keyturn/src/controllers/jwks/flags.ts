// The flags of the feature: how often something may be done for one object, and how nginx runs in this installation.
import type { FlagReader } from "../../feature/feature.ts";
import { choiceFlag, durationFlag, type Flag, listFlag, numberFlag, switchFlag, textFlag, textFlagWithDefault } from "../../feature/flag.ts";

/** How nginx is run in this installation: what objects get that ask for nothing, and the most that they may ask for. */
export interface NginxInstallation {
  /** Whether it is run at all: the operator has no right to make Deployments otherwise. */
  readonly serves: boolean;
  readonly image: string;
  /** Other images that a JWKSConfig may choose. */
  readonly allowedImages: readonly string[];
  readonly replicas: number;
  readonly maxReplicas: number;
  readonly resources: { readonly requests: Quantities; readonly limits: Quantities };
  /** By resource; one that is not named may not be asked for. */
  readonly maxResources: Quantities;
  readonly cacheSeconds: number;
  readonly serviceType: "ClusterIP" | "NodePort" | "LoadBalancer";
  readonly ipFamily: IpFamily;
  /** Appended to an object's name for its Deployment and Service. */
  readonly nameSuffix: string;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly Toleration[];
}

/** What nginx listens on. */
export type IpFamily = "IPv4" | "IPv6" | "DualStack";

export type Quantities = Readonly<Record<string, string | number>>;

interface Toleration {
  readonly key: string;
  readonly operator: "Exists" | "Equal";
  readonly value?: string;
  readonly effect?: string;
}

/** The image when none is asked for. Its user is not root and its port is 8080. */
const defaultImage = "docker.io/nginxinc/nginx-unprivileged:1.30.5-alpine";

export const jwksFlags = {
  reconcileInterval: durationFlag({
    name: "jwks.reconcile-interval",
    default: "5s",
    help: "the least time between two passes over one object that change something; 0 = off. New keys and revocations do not wait",
  }),
  reconcilesPerMinute: numberFlag({
    name: "jwks.reconciles-per-minute",
    default: 12,
    least: 0,
    most: 10_000,
    help: "the most passes over one object that change something, in any minute; 0 = off. New keys and revocations do not wait",
  }),
  configMapInterval: durationFlag({
    name: "jwks.configmap-interval",
    default: "1m",
    help: "the least time between two changes of one published ConfigMap; later changes are made together; 0 = off. New keys and revocations do not wait",
  }),
  serving: switchFlag({
    name: "jwks.serving",
    default: false,
    help: "serve documents by nginx where objects ask for it; needs rights on Deployments and Services",
  }),
  nginxImage: textFlagWithDefault({
    name: "jwks.nginx-image",
    placeholder: "IMAGE",
    default: defaultImage,
    help: "the image of nginx: one that runs as a user other than root",
  }),
  nginxAllowedImages: listFlag({
    name: "jwks.nginx-allowed-images",
    help: "other images that a JWKSConfig may choose; none if not given",
  }),
  nginxReplicas: numberFlag({
    name: "jwks.nginx-replicas",
    default: 1,
    least: 0,
    most: 100,
    help: "how many pods serve a document, if its object does not say",
  }),
  nginxMaxReplicas: numberFlag({
    name: "jwks.nginx-max-replicas",
    default: 10,
    least: 0,
    most: 100,
    help: "the most pods that a JWKSConfig may ask for",
  }),
  nginxRequests: quantitiesFlag({
    name: "jwks.nginx-requests",
    default: "cpu=50m,memory=64Mi",
    help: "the resource requests of nginx's container, if its object does not say",
  }),
  nginxLimits: quantitiesFlag({
    name: "jwks.nginx-limits",
    default: "cpu=200m,memory=128Mi",
    help: "the resource limits of nginx's container, if its object does not say",
  }),
  nginxMaxResources: quantitiesFlag({
    name: "jwks.nginx-max-resources",
    default: "cpu=1,memory=512Mi,ephemeral-storage=1Gi",
    help: "the most of each resource that a JWKSConfig may ask for; others may not be asked for",
  }),
  nginxCacheTime: durationFlag({
    name: "jwks.nginx-cache-time",
    default: "1h",
    help: "how long clients may keep a document, if its object does not say",
  }),
  nginxServiceType: choiceFlag({
    name: "jwks.nginx-service-type",
    choices: ["ClusterIP", "NodePort", "LoadBalancer"],
    default: "ClusterIP",
    help: "the type of nginx's Services",
  }),
  nginxIpFamily: choiceFlag({
    name: "jwks.nginx-ip-family",
    choices: ["IPv4", "IPv6", "DualStack"],
    default: "IPv4",
    help: "what nginx listens on, and its Services have; IPv6 and DualStack need nodes with IPv6",
  }),
  nginxNameSuffix: read(
    textFlag({
      name: "jwks.nginx-name-suffix",
      placeholder: "SUFFIX",
      help: "appended to an object's name for its Deployment and Service, such as -jwks, so that nobody can take the name of any other Service",
    }),
    (suffix = "") => {
      if (/^[-a-z0-9]*[a-z0-9]$|^$/.test(suffix)) return suffix;
      throw new Error(`"${suffix}" cannot end the name of a Service; use letters, digits and dashes, such as -jwks`);
    },
  ),
  nginxNodeSelector: read(
    listFlag({ name: "jwks.nginx-node-selector", placeholder: "A=B,…", help: "labels of the nodes on which nginx may run" }),
    (pairs) => Object.fromEntries(pairs.map(pairOf)),
  ),
  nginxTolerations: read(
    listFlag({
      name: "jwks.nginx-tolerations",
      placeholder: "KEY[=VALUE][:EFFECT],…",
      help: "taints of nodes on which nginx may run all the same",
    }),
    (texts) => texts.map(tolerationOf),
  ),
};

/** How nginx runs, from the flags. */
export function nginxInstallation(flag: FlagReader): NginxInstallation {
  return {
    serves: flag(jwksFlags.serving),
    image: flag(jwksFlags.nginxImage),
    allowedImages: flag(jwksFlags.nginxAllowedImages),
    replicas: flag(jwksFlags.nginxReplicas),
    maxReplicas: flag(jwksFlags.nginxMaxReplicas),
    resources: { requests: flag(jwksFlags.nginxRequests), limits: flag(jwksFlags.nginxLimits) },
    maxResources: flag(jwksFlags.nginxMaxResources),
    cacheSeconds: Math.floor(flag(jwksFlags.nginxCacheTime) / 1000),
    serviceType: flag(jwksFlags.nginxServiceType),
    ipFamily: flag(jwksFlags.nginxIpFamily),
    nameSuffix: flag(jwksFlags.nginxNameSuffix),
    nodeSelector: flag(jwksFlags.nginxNodeSelector),
    tolerations: flag(jwksFlags.nginxTolerations),
  };
}

/** The flag with another reading of its text. */
function read<T, U>(flag: Flag<T>, from: (value: T) => U): Flag<U> {
  return { ...flag, parse: (text) => from(flag.parse(text)) };
}

function quantitiesFlag(flag: { readonly name: string; readonly default: string; readonly help: string }): Flag<Quantities> {
  return read(textFlagWithDefault({ placeholder: "A=1,B=2,…", ...flag }), quantitiesOf);
}

function quantitiesOf(text: string): Quantities {
  const quantities = Object.fromEntries(text.split(",").flatMap((pair) => (pair.trim() === "" ? [] : [pairOf(pair)])));
  for (const [resource, quantity] of Object.entries(quantities)) {
    if (quantityOf(quantity) === undefined) throw new Error(`"${quantity}" of ${resource} is not a quantity such as 200m or 128Mi`);
  }
  return quantities;
}

function pairOf(pair: string): readonly [string, string] {
  const [, key, value] = /^\s*([^=\s]+)=([^\s]*)\s*$/.exec(pair) ?? [];
  if (key === undefined || value === undefined) throw new Error(`"${pair}" is not of the form NAME=VALUE`);
  return [key, value];
}

function tolerationOf(text: string): Toleration {
  const [, key, value, effect] = /^([^=:\s]+)(?:=([^:\s]*))?(?::(NoSchedule|PreferNoSchedule|NoExecute))?$/.exec(text) ?? [];
  if (key === undefined) throw new Error(`"${text}" is not of the form KEY[=VALUE][:EFFECT]`);
  return { key, ...(value === undefined ? { operator: "Exists" } : { operator: "Equal", value }), ...(effect !== undefined && { effect }) };
}

/** What the suffixes of quantities stand for. */
const units: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** A quantity of Kubernetes as a number; undefined if it is none. */
export function quantityOf(quantity: string | number): number | undefined {
  const [, number, exponent = "", unit = ""] =
    /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/.exec(String(quantity)) ?? [];
  const factor = units[unit];
  return number === undefined || factor === undefined ? undefined : Number(number + exponent) * factor;
}
