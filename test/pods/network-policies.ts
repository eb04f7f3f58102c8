// Stands in for a network plugin that enforces NetworkPolicies, none of which can be had here: their rules become nftables rules in the network namespace of each pod.
// What it leaves out: it sees the address of a Service before kube-proxy has replaced it, and follows no pod that comes later.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { Namespace, Pod, type Stored } from "@keyturn/runtime";
import { type ClusterAccess, nodeNetwork } from "@keyturn/runtime/testing";
import * as z from "zod";
import { processesOf } from "./pods.ts";

const selectorSchema = z.strictObject({ matchLabels: z.record(z.string(), z.string()).default({}) });
const peerSchema = z.union([
  z.strictObject({ ipBlock: z.strictObject({ cidr: z.string() }) }),
  z.strictObject({ namespaceSelector: selectorSchema.optional(), podSelector: selectorSchema.optional() }),
]);
const portSchema = z.strictObject({ port: z.number(), protocol: z.enum(["TCP", "UDP"]).default("TCP") });
const rule = { ports: z.array(portSchema).optional() };
/** A part of a policy that is not known here would be enforced wrongly, so it is refused. */
const policySchema = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.strictObject({
    podSelector: selectorSchema,
    policyTypes: z.array(z.enum(["Ingress", "Egress"])),
    ingress: z.array(z.strictObject({ ...rule, from: z.array(peerSchema).optional() })).default([]),
    egress: z.array(z.strictObject({ ...rule, to: z.array(peerSchema).optional() })).default([]),
  }),
});
type Policy = z.infer<typeof policySchema>;
type Peer = z.infer<typeof peerSchema>;

/** Enforces the policies of a namespace on the pods that are there now. Resolves to how many pods are limited. */
export async function enforcePolicies(cluster: ClusterAccess, namespace: string): Promise<number> {
  const answer = await cluster.client.request({ method: "GET", path: `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies` });
  const policies = z.object({ items: z.array(policySchema) }).parse(answer).items;
  const { items: pods } = await cluster.client.list(Pod, {});
  const { items: namespaces } = await cluster.client.list(Namespace, {});
  const addresses = addressesOf({ pods, namespaces, namespace });
  const limited = pods
    .filter((pod) => pod.metadata.namespace === namespace && pod.metadata.deletionTimestamp === undefined)
    .map((pod) => ({ pod, policies: policies.filter(({ spec }) => isSelected(pod.metadata.labels, spec.podSelector)) }))
    .filter(({ policies: selecting }) => selecting.length > 0);
  for (const { pod, policies: selecting } of limited) {
    const [pid] = processesOf(pod.metadata.uid);
    if (pid === undefined) throw new Error(`limiting pod ${pod.metadata.name}: it has no process`);
    const nft = execFile("nsenter", [`--net=/proc/${pid}/ns/net`, "nft", "-f", "-"]);
    nft.stdin?.end(rulesOf(selecting, addresses));
    const [code] = await once(nft, "exit");
    if (code !== 0) throw new Error(`limiting pod ${pod.metadata.name}: nft ended with ${code}`);
  }
  return limited.length;
}

/** What the policies that select a pod let in and out. Answers always come back, and the pod's own node is never kept out, as Kubernetes says. */
function rulesOf(policies: readonly Policy[], addresses: (peer: Peer) => readonly string[]): string {
  const chain = (type: "Ingress" | "Egress", hook: "input" | "output", side: "saddr" | "daddr"): string => {
    const limiting = policies.filter(({ spec }) => spec.policyTypes.includes(type));
    if (limiting.length === 0) return "";
    const rules = limiting.flatMap(({ spec }) =>
      type === "Ingress"
        ? spec.ingress.map(({ ports, from }) => ({ ports, peers: from }))
        : spec.egress.map(({ ports, to }) => ({ ports, peers: to })),
    );
    const accepted = rules.flatMap(({ ports, peers }) => {
      const whom = peers === undefined ? [""] : peers.flatMap(addresses).map((address) => `ip ${side} ${address} `);
      const where = ports === undefined ? [""] : ports.map(({ port, protocol }) => `${protocol.toLowerCase()} dport ${port} `);
      return whom.flatMap((from) => where.map((at) => `${from}${at}accept`));
    });
    const always = [
      `${hook === "input" ? "iifname" : "oifname"} lo accept`,
      "ct state established,related accept",
      `ip ${side} { ${nodeAddresses} } accept`,
    ];
    const lines = [...(type === "Ingress" ? always : always.slice(0, 2)), ...accepted];
    return `chain ${hook} {\n type filter hook ${hook} priority 0; policy drop;\n ${lines.join("\n ")}\n}\n`;
  };
  return `table inet policies\ndelete table inet policies\ntable inet policies {\n${chain("Ingress", "input", "saddr")}${chain("Egress", "output", "daddr")}}\n`;
}

/** The node as its pods see it: its own address, and the one of the bridge that they are connected to. */
const nodeAddresses = [nodeNetwork.node, nodeNetwork.pods.replace(/\.0\/\d+$/, ".1")].join(", ");

interface Known {
  readonly pods: readonly Stored<Pod>[];
  readonly namespaces: readonly Stored<Namespace>[];
  /** Of the policy: where a `podSelector` alone looks. */
  readonly namespace: string;
}

function addressesOf({ pods, namespaces, namespace }: Known): (peer: Peer) => readonly string[] {
  return (peer) => {
    if ("ipBlock" in peer) return [peer.ipBlock.cidr];
    const { namespaceSelector, podSelector = { matchLabels: {} } } = peer;
    const chosen = namespaceSelector
      ? namespaces.filter(({ metadata }) => isSelected(metadata.labels, namespaceSelector)).map(({ metadata }) => metadata.name)
      : [namespace];
    return pods
      .filter(({ metadata }) => chosen.includes(metadata.namespace ?? "") && isSelected(metadata.labels, podSelector))
      .flatMap(({ status }) => status?.podIP ?? []);
  };
}

function isSelected(labels: Readonly<Record<string, string>> = {}, { matchLabels }: z.infer<typeof selectorSchema>): boolean {
  return Object.entries(matchLabels).every(([name, value]) => labels[name] === value);
}
