// Each defect that was found in rieset/jwks-operator, and the test that shows that users do not meet it here.
import { startFaultProxy } from "@keyturn/runtime/testing";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { policyRules } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { jwksAccess } from "../../packages/keyturn/src/controllers/jwks/controller.ts";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { type Defect, expectProven } from "../defect-proofs.ts";
import { publishingNamespace, soon } from "./publishing-namespace.ts";

const source = "packages/keyturn/src/controllers/jwks";

const defects: readonly Defect[] = [
  {
    number: 1,
    defect: "a changed Secret is noticed up to six hours later",
    proofs: [{ file: "test/jwks/publication.test.ts", test: "again within moments of a change of its Secret" }],
  },
  {
    number: 2,
    defect: "an object without nginx is written twenty times a second",
    proofs: [{ file: "test/jwks/quiet.test.ts", test: "an idle operator makes no requests but lease renewals and watches" }],
  },
  {
    number: 3,
    defect: "keepOldKeys: false has no effect and vanishes from the spec",
    proofs: [{ file: "test/jwks/rieset.test.ts", test: "keepOldKeys: false is honoured and stays in the spec" }],
  },
  {
    number: 4,
    defect: "errors are nowhere to be seen",
    proofs: [{ file: "test/jwks/bad-input.test.ts", test: "$reason in the condition and an Event" }],
  },
  {
    number: 5,
    defect: "after the first rotation Ready flaps for ever",
    proofs: [{ file: "test/jwks/original-defects.test.ts", test: "Ready stays as it is through rotations, and counts every key" }],
  },
  {
    number: 6,
    defect: "old keys are never removed, and a compromised one cannot be withdrawn",
    proofs: [
      { file: "test/jwks/publication.test.ts", test: "goes when its time is over, not before" },
      { file: "test/jwks/publication.test.ts", test: "withdraws a key at once, past every limit" },
      { file: `${source}/plan.test.ts`, test: "maxKeys is kept" },
      { file: `${source}/plan.test.ts`, test: "over 1 MiB the oldest retired keys go early" },
    ],
  },
  {
    number: 7,
    defect: "deleting the ConfigMap loses all old keys",
    proofs: [{ file: "test/jwks/self-healing.test.ts", test: "is rebuilt with all its keys after it was deleted" }],
  },
  {
    number: 8,
    defect: "keyCount is always 1, and every pass is a transition",
    proofs: [{ file: "test/jwks/original-defects.test.ts", test: "Ready stays as it is through rotations, and counts every key" }],
  },
  {
    number: 9,
    defect: "alg is RS512 whatever the signer uses, and use comes with key_ops",
    proofs: [
      { file: "test/jwks/tokens.test.ts", test: "a token of every algorithm verifies" },
      { file: "test/jwks/publication.test.ts", test: "its own kind of key and nothing private" },
    ],
  },
  {
    number: 10,
    defect: "a renewal with the same key makes a second entry",
    proofs: [
      { file: "test/jwks/publication.test.ts", test: "renewed for the same key updates its entry and makes no second one" },
      { file: `${source}/jwk.test.ts`, test: "the thumbprint is RFC 7638's for its example key" },
    ],
  },
  {
    number: 11,
    defect: "no chain, no text before the certificate, no EC, no Ed25519, one Secret only",
    proofs: [
      { file: "test/jwks/publication.test.ts", test: "is read with its chain" },
      { file: "test/jwks/publication.test.ts", test: "publish the next certificate before it signs" },
    ],
  },
  {
    number: 12,
    defect: "a changed image or number of replicas never reaches the Deployment",
    proofs: [{ file: "test/jwks/serving.test.ts", test: "image, replicas and resources reach the Deployment that exists" }],
  },
  {
    number: 13,
    defect: "pods are restarted for nothing",
    proofs: [{ file: "test/jwks/serving.test.ts", test: "a key change leaves the pods alone; a changed setting rolls them once" }],
  },
  {
    number: 14,
    defect: "security headers are lost, preflight fails, errors are cached for an hour",
    proofs: [
      { file: "test/jwks/nginx.test.ts", test: "serves the document at %s" },
      { file: "test/jwks/nginx.test.ts", test: "answers a preflight" },
      { file: "test/jwks/nginx.test.ts", test: "an error is in the same form and is not kept" },
    ],
  },
  {
    number: 15,
    defect: "a new key reaches clients only when pods restart",
    proofs: [
      { file: "test/jwks/nginx.test.ts", test: "serves a new document from the moment it is in place" },
      { file: `${source}/nginx.test.ts`, test: "mounts no single file" },
    ],
  },
  {
    number: 16,
    defect: "two objects with one configMapName mix their keys",
    proofs: [{ file: "test/jwks/names.test.ts", test: "exactly one has it, and never both keys" }],
  },
  {
    number: 17,
    defect: "Ready, with nothing being served",
    proofs: [{ file: "test/jwks/serving.test.ts", test: "without available pods: Published, not Served, not Ready" }],
  },
  { number: 18, defect: "svc.cluster.local is taken for granted", proofs: [{ notHere: "nothing is fetched from the Service" }] },
  {
    number: 19,
    defect: "the class of an error depends on words in its text",
    proofs: [{ file: "test/jwks/quiet.test.ts", test: "an API server that refuses writes: the object says so" }],
  },
  {
    number: 20,
    defect: "an answer of any size is read, and quoted in the status",
    proofs: [
      { notHere: "nothing is fetched from the Service" },
      { file: `${source}/certificates.test.ts`, test: "refuses to hold one beyond all measure" },
    ],
  },
  {
    number: 21,
    defect: "objects of others are overwritten and deleted",
    proofs: [
      { file: "test/jwks/names.test.ts", test: "$kind.kind $name is left alone" },
      { file: "test/jwks/deletion.test.ts", test: "nothing of others" },
    ],
  },
  {
    number: 22,
    defect: "all Secrets of the cluster are read and kept, private keys included",
    proofs: [
      { file: `${source}/certificates.test.ts`, test: "never keeps private key material" },
      { file: "test/jwks/bad-input.test.ts", test: "never gets its private key into a condition, an Event or the log" },
      { file: "test/operator/operator.test.ts", test: "limited to namespaces, needs no right elsewhere and sees nothing else" },
    ],
  },
  {
    number: 23,
    defect: "nginx runs as root and is refused under Pod Security restricted",
    proofs: [{ file: "test/jwks/serving.test.ts", test: "runs under Pod Security restricted" }],
  },
  {
    number: 24,
    defect: "the operator may make and delete objects that it never makes or deletes",
    proofs: [{ file: "test/jwks/original-defects.test.ts", test: "the operator may neither make nor delete the objects that users make" }],
  },
  {
    number: 25,
    defect: "metrics are not exposed",
    proofs: [{ file: "test/jwks/quiet.test.ts", test: "an idle operator makes no requests but lease renewals and watches" }],
  },
  {
    number: 26,
    defect: "a clone does not compile",
    proofs: [{ notHere: "the source runs unbuilt, and every run of the tests is a run of the clone" }],
  },
  {
    number: 27,
    defect: "two API groups, and documentation that is wrong",
    proofs: [{ file: "test/jwks/rieset.test.ts", test: "the guide's command copies objects of the group example.com" }],
  },
  { number: 28, defect: "the chart differs at each rendering and deletes every object", proofs: [{ notHere: "about the chart" }] },
  {
    number: 29,
    defect: "no Events, no cleanupOnDelete, orphans when the operator is down",
    proofs: [{ file: "test/jwks/deletion.test.ts", test: "asked for while the operator was down" }],
  },
  {
    number: 30,
    defect: "one slow object holds up all others",
    proofs: [{ file: "test/jwks/original-defects.test.ts", test: "an object whose writes hang holds up no other" }],
  },
];

test.each(defects)("defect $number: $defect", expectProven);

describe("in a running operator", () => {
  const cluster = useSharedCluster();

  test("Ready stays as it is through rotations, and counts every key", async () => {
    await using place = await publishingNamespace(cluster(), "steady");
    await place.startOperator();
    const certificates = [makeCertificate(), makeCertificate(), makeCertificate()];
    const published: typeof certificates = [];
    let ready: unknown;
    for (const certificate of certificates) {
      await place.putSecret("signer", certificate);
      await place.putConfig("site", { nginxConfigMapName: "site-nginx" });
      published.unshift(certificate);
      await place.published("site-jwks", published);
      await place.conditionSays("site", "Ready", "True Ready");
      await soon(async () => expect((await place.status("site")).keyCount).toBe(published.length));
      const { lastTransitionTime, observedGeneration } = (await place.condition("site", "Ready")) ?? {};
      expect(observedGeneration).toBe(1);
      ready ??= lastTransitionTime;
      expect(lastTransitionTime).toBe(ready);
    }
  });

  test("an object whose writes hang holds up no other", async () => {
    await using place = await publishingNamespace(cluster(), "slow");
    await using proxy = await startFaultProxy(cluster());
    await place.startOperator({ kubeconfig: proxy.through(place.kubeconfig) });
    await place.putSecret("signer", makeCertificate());
    const stalled = proxy.stall({ path: /configmaps\/slow-jwks/ });
    await place.putConfig("slow");
    await soon(() => expect(proxy.underWay({ path: /configmaps\/slow-jwks/ })).toBe(1));
    const names = Array.from({ length: 10 }, (_, index) => `quick-${index}`);
    for (const name of names) await place.putConfig(name);
    for (const name of names) await place.conditionSays(name, "Ready", "True Ready");
    expect(await place.condition("slow", "Ready")).toBeUndefined();
    stalled.undo();
    await place.conditionSays("slow", "Ready", "True Ready");
  });
});

test("the operator may neither make nor delete the objects that users make", () => {
  const rules = policyRules(jwksAccess).filter(({ apiGroups }) => apiGroups.some((group) => group === "keyturn.io" || group === "rieset.io"));
  const verbs = new Set(rules.flatMap((rule) => rule.verbs));
  expect([...verbs].toSorted()).toEqual(["get", "list", "patch", "update", "watch"]);
  const updated = rules.filter((rule) => rule.verbs.includes("update")).flatMap(({ resources }) => resources);
  expect(updated).toEqual(["jwksconfigs/finalizers", "jwks/finalizers"]);
  expect(policyRules(jwksAccess).find(({ resources }) => resources.includes("secrets"))?.verbs).toEqual(["list", "watch"]);
});
