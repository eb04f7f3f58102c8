// Each weakness that was found in Tengine-Ingress's half of the protocol, and the tests that show that users of ours do not meet it.
import { type AccessRule, managerAccess, policyRules } from "@keyturn/runtime";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { agentAccess } from "../../packages/keyturn/src/agent/run-agent.ts";
import { checksumFeature } from "../../packages/keyturn/src/controllers/checksum/feature.ts";
import { type Defect, expectProven } from "../defect-proofs.ts";
import { soon, verifiedNamespace } from "./verified-namespace.ts";

const controlPlane = "packages/keyturn/src/controllers/checksum";
const agent = "packages/keyturn/src/agent";

const defects: readonly Defect[] = [
  {
    number: 1,
    defect: "when all objects are gone, or all checksums, protection is off without an alarm",
    proofs: [
      { file: "test/checksum/objects.test.ts", test: "when no object counts any more the last checksum stays and says so" },
      { file: "test/checksum/objects.test.ts", test: "one that is deleted is published anew" },
      { file: "test/agent/policies.test.ts", test: "%s: what was served stays served, with an alarm" },
    ],
  },
  {
    number: 2,
    defect: "a roll-back to stale data passes for ever",
    proofs: [
      { file: "test/checksum/publication.test.ts", test: "old checksums go by age, so that a stale state does not pass for ever" },
      { file: "test/checksum/publication.test.ts", test: "a state that comes back is published anew" },
      { file: `${agent}/decision.test.ts`, test: "a return to an earlier state" },
      { file: "test/agent/restart.test.ts", test: "a roll-back is noticed by an agent that was not there when it happened" },
    ],
  },
  {
    number: 3,
    defect: "a gateway that did not take the certificates is counted as one that did",
    proofs: [
      { file: `${agent}/gateway.test.ts`, test: "its exit code is told, and nothing that it writes" },
      { file: `${agent}/gateway.test.ts`, test: "a program that does not exist is a failure like any other" },
      { file: "test/agent/restart.test.ts", test: "a command that fails is tried again, also after a restart, until it succeeds" },
    ],
  },
  {
    number: 4,
    defect: "parts of a set are live before the set is checked",
    proofs: [
      { file: "test/agent/promotion.test.ts", test: "a half-written batch is not promoted; the rest of it is, as one" },
      { file: `${agent}/snapshots.test.ts`, test: "a promotion replaces the whole set at once" },
    ],
  },
  {
    number: 5,
    defect: "a mismatch freezes endpoints too, and a fresh pod never becomes ready",
    proofs: [
      { notHere: "the agent has certificates only; endpoints are the gateway's own and go on" },
      { file: "test/agent/nginx-outages.test.ts", test: "no handshake fails and no set is mixed, whatever happens to agent, API server and etcd" },
    ],
  },
  {
    number: 6,
    defect: "every change passes through a mismatch and an alarm",
    proofs: [
      { file: "test/checksum/announcement.test.ts", test: "a change that was announced never shows as a mismatch" },
      { file: `${agent}/decision.test.ts`, test: "a batch that was announced raises none while it is awaited" },
    ],
  },
  {
    number: 7,
    defect: "a changed checksum is ignored, and a deleted one stays trusted",
    proofs: [
      { file: "test/checksum/publication.test.ts", test: "what was published is never changed" },
      { file: "test/checksum/objects.test.ts", test: "one that is edited goes, once what holds is published anew" },
      { file: "test/watch/ways-in.test.ts", test: "deletes and recreations are seen as what they are" },
    ],
  },
  {
    number: 8,
    defect: "without the CRD, or a right, the start hangs for ever and says nothing",
    proofs: [
      {
        file: "test/checksum/original-defects.test.ts",
        test: "without its rights the operator says which one is missing, and goes on once it has them",
      },
      { file: "test/agent/policies.test.ts", test: "Unreachable: a right that is taken away is an alarm, and nothing is lost" },
      { file: `${agent}/decision.test.ts`, test: "nothing is adopted and nothing given up" },
    ],
  },
  {
    number: 9,
    defect: "chain, key, CA and name are not covered, and objects are ignored in silence",
    proofs: [
      { file: "test/checksum/publication.test.ts", test: "a chain that changes under the same version is another state" },
      { file: `${controlPlane}/ids.test.ts`, test: "covers the chain and the CA, which the id does not" },
      { file: "test/checksum/objects.test.ts", test: "are in the status and the metrics, each with its reason" },
      { file: "test/checksum/objects.test.ts", test: "alone do not make a checksum" },
      { file: `${agent}/decision.test.ts`, test: "in its ids but not in contents that the checksum covers does not match" },
    ],
  },
  {
    number: 10,
    defect: "MD5 and SHA-1 alone",
    proofs: [{ file: `${controlPlane}/members.test.ts`, test: "a changed content is another state even if the ids are the same" }],
  },
  {
    number: 11,
    defect: "beyond 28,000 certificates the checksum cannot be stored",
    proofs: [
      { file: `${controlPlane}/plan.test.ts`, test: "with more ids than fit into an object is published without them, and says so" },
      { file: "test/checksum/large.test.ts", test: "30,000 ids" },
      { file: `${agent}/decision.test.ts`, test: "a checksum that does not list its ids is said to differ, and nothing is made up" },
    ],
  },
  {
    number: 12,
    defect: "two threads write one flag, and the difference takes the square of the number of objects",
    proofs: [
      { notHere: "there is one thread" },
      { file: `${controlPlane}/difference.prop.test.ts`, test: "names each id as often as one list has it more than the other, in order" },
      { file: `${controlPlane}/difference.test.ts`, test: "200,000 ids" },
    ],
  },
];

test.each(defects)("defect $number: $defect", expectProven);

describe("in a running operator", () => {
  const cluster = useSharedCluster();

  test("without its rights the operator says which one is missing, and goes on once it has them", async () => {
    await using place = await verifiedNamespace(cluster(), "rights");
    const { namespace } = place;
    const serviceAccount = { namespace, name: "newcomer" };
    const manager = managerAccess({ operatorNamespace: namespace, controllerAccess: [] });
    const leases = policyRules(manager.accessIn[namespace] ?? []);
    const kubeconfig = await cluster().kubeconfigFor({ serviceAccount, namespacedRules: { [namespace]: leases } });
    const operator = await place.startOperator({ kubeconfig });
    await soon(async () => {
      const { status, text } = await operator.readyz();
      expect(status).toBe(503);
      expect(text).toContain("list secretchecksums.tengine.taobao.org");
    });
    const access = checksumFeature
      .controllers((flag) => flag.parse(flag.name === "checksum.namespaces" ? namespace : undefined))
      .flatMap((controller) => controller.access);
    await cluster().kubeconfigFor({ serviceAccount, namespacedRules: { [namespace]: [...leases, ...policyRules(access)] } });
    await place.putSecret("shop-7", 1);
    await soon(async () => expect(await place.checksums()).toHaveLength(1), 90_000);
  });
});

test("neither half may write a Secret or an Ingress, and the agent writes no checksum", () => {
  const access = checksumFeature.controllers((flag) => flag.parse(undefined)).flatMap((controller) => controller.access);
  const verbsOf = (rules: readonly AccessRule[], plural: string): readonly string[] => [
    ...new Set(rules.filter(({ kind }) => kind.plural === plural).flatMap(({ verbs }) => verbs)),
  ];
  expect(verbsOf(access, "secrets")).toEqual(["list", "watch"]);
  expect(verbsOf(access, "ingresses")).toEqual(["list", "watch"]);
  expect(verbsOf(access, "namespaces")).toEqual(["list", "watch"]);
  for (const plural of ["secrets", "secretchecksums"]) {
    expect(verbsOf(agentAccess, plural).filter((verb) => !["get", "list", "watch"].includes(verb))).toEqual([]);
  }
});
