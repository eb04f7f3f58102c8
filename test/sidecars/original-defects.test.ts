// Each defect that was found in Fortsa, and the test that shows that users do not meet it here.
import { expect, test } from "vitest";
import { type Defect, expectProven } from "../defect-proofs.ts";

const source = "packages/keyturn/src/controllers/sidecars";
const here = "test/sidecars";

const defects: readonly Defect[] = [
  {
    number: 1,
    defect: "a namespace whose label changes, or pods that came in without a sidecar, are not restarted",
    proofs: [
      {
        file: `${here}/upgrades.test.ts`,
        test: "a namespace that names another revision gets that one's sidecars, also when their image is the same",
      },
      { file: `${here}/restarts.test.ts`, test: "pods that were let through without a sidecar while istiod was down get one" },
    ],
  },
  {
    number: 2,
    defect: "labels are read in another way than Istio reads them, and workloads are restarted for ever",
    proofs: [{ file: `${here}/agreement.test.ts`, test: "the sidecar and who is asked for it agree with the API server" }],
  },
  {
    number: 3,
    defect: "pods that ask for injection themselves, and injection everywhere, are not seen",
    proofs: [{ file: `${here}/agreement.test.ts`, test: "the sidecar and who is asked for it agree with the API server" }],
  },
  {
    number: 4,
    defect: "an evicted pod with an old sidecar restarts its workload at every scan",
    proofs: [
      { file: `${here}/left-alone.test.ts`, test: "pods that have failed, or are on their way out, do not count" },
      { file: `${source}/pods.test.ts`, test: "does not count, however it looks" },
    ],
  },
  {
    number: 5,
    defect: "a restart that fails, or falls into the cooldown, is forgotten",
    proofs: [
      { file: `${here}/restarts.test.ts`, test: "while the webhook fails, and when it refuses without saying why" },
      { file: `${here}/restarts.test.ts`, test: "when the API server does not take the restart, and others do not wait for it" },
      { file: `${here}/restarts.test.ts`, test: "a second change within the cooldown is made up for when it is over" },
      { file: `${source}/rollout-plan.prop.test.ts`, test: "every outdated workload is restarted exactly once" },
    ],
  },
  {
    number: 6,
    defect: "a webhook that refuses without a status crashes the program",
    proofs: [{ file: `${here}/restarts.test.ts`, test: "while the webhook fails, and when it refuses without saying why" }],
  },
  {
    number: 7,
    defect: "of a Deployment and a StatefulSet of one name only one is restarted",
    proofs: [
      { file: `${here}/restarts.test.ts`, test: "each workload is restarted once, with Fortsa's annotation" },
      { file: `${source}/rollout-plan.test.ts`, test: "a Deployment and a StatefulSet of one name are two" },
    ],
  },
  {
    number: 8,
    defect: "istiod is asked about every single pod, on a new connection each time",
    proofs: [
      { file: `${here}/questions.test.ts`, test: "one question per template and configuration, however many pods there are" },
      { file: `${source}/injection/webhook-caller.test.ts`, test: "is asked with another uid each time, over one connection" },
    ],
  },
  {
    number: 9,
    defect: "the only worker sleeps, so that many changes take many delays",
    proofs: [
      { file: `${source}/injector-configuration.test.ts`, test: "a change stabilizes for the delay, and another one begins it anew; nothing sleeps" },
      { file: `${source}/pod-selection.test.ts`, test: "each namespace stabilizes by itself" },
      { file: `${source}/injection/webhook-gate.test.ts`, test: "a webhook that does not answer holds up its own callers only" },
    ],
  },
  {
    number: 10,
    defect: "all workloads are restarted without a look at how the last one fares, paused ones and OnDelete included",
    proofs: [
      { file: `${here}/restarts.test.ts`, test: "no more workloads roll at a time than may" },
      { file: `${here}/restarts.test.ts`, test: "a rollout that does not get healthy stops all further ones, until it does" },
      { file: `${here}/left-alone.test.ts`, test: "a paused Deployment, until it is resumed; OnDelete and partitioned ones" },
      { file: `${source}/rollout-plan.test.ts`, test: "of somebody else's is waited for" },
    ],
  },
  {
    number: 11,
    defect: "another revision, other resources and a sidecar too many are not noticed",
    proofs: [
      { file: `${here}/questions.test.ts`, test: "the whole sidecar is compared if that is asked for" },
      { file: `${here}/upgrades.test.ts`, test: "injection that is switched off takes the sidecars away, and switched on again brings them back" },
      { file: `${source}/injection/sidecar.test.ts`, test: "a sidecar is outdated" },
    ],
  },
  {
    number: 12,
    defect: "images with a registry's port, with a digest or of Docker Hub are misread",
    proofs: [{ file: `${source}/injection/image-reference.test.ts`, test: "%s is read as container runtimes do" }],
  },
  {
    number: 13,
    defect: "Istio must be in istio-system, under its usual names",
    proofs: [
      // Every namespace of these tests has a control plane in a namespace of its own.
      { file: `${here}/restarts.test.ts`, test: "each workload is restarted once, with Fortsa's annotation" },
      { file: `${source}/injection/webhook-target.test.ts`, test: "a URL is called as it is, with the certificates of its caBundle" },
    ],
  },
  {
    number: 14,
    defect: "calls go through the environment's proxy, and answers of any size are read",
    proofs: [
      { file: `${source}/injection/webhook-caller.test.ts`, test: "proxies of the environment are not used" },
      { file: `${source}/injection/webhook-caller.test.ts`, test: "because it %s" },
    ],
  },
  {
    number: 15,
    defect: "every pod, ReplicaSet and ConfigMap is kept whole",
    proofs: [{ file: `${source}/pods.test.ts`, test: "of a workload's pod little is kept, and pods with equal sidecars share them" }],
  },
  {
    number: 16,
    defect: "any update of a namespace or ConfigMap starts a scan",
    proofs: [
      { file: `${here}/questions.test.ts`, test: "one question per template and configuration, however many pods there are" },
      { file: `${source}/injector-configuration.test.ts`, test: "what istiod does not read changes nothing" },
    ],
  },
  {
    number: 17,
    defect: "Argo Rollouts, Jobs and bare pods are passed over in silence, and owners known by their kind alone",
    proofs: [
      { file: `${here}/left-alone.test.ts`, test: "are restarted by spec.restartAt once their CRD is there" },
      { file: `${here}/left-alone.test.ts`, test: "a pod of its own, a Job's, and those of a kind that only looks like a Deployment" },
      { file: `${source}/pods.test.ts`, test: "a pod of %o, whose ReplicaSet is of %o, belongs to %s" },
    ],
  },
  {
    number: 18,
    defect: "there is no opting out, no window, no limit, no Event and no metric",
    proofs: [
      { file: `${here}/left-alone.test.ts`, test: "what has opted out, itself or by its namespace" },
      { file: `${here}/left-alone.test.ts`, test: "with opt-in, what nobody has opted in" },
      { file: `${here}/left-alone.test.ts`, test: "anything outside of the maintenance windows" },
      { file: `${here}/restarts.test.ts`, test: "each workload is restarted once, with Fortsa's annotation" },
    ],
  },
  {
    number: 19,
    defect: "a setting of 0 becomes another value on its way through the chart",
    proofs: [{ file: `${source}/feature.test.ts`, test: "0 stays 0, and no namespace is none" }],
  },
  {
    number: 20,
    defect: "it may write Leases everywhere, and reads ControllerRevisions for nothing",
    proofs: [
      {
        file: `${source}/feature.test.ts`,
        test: "are for reading, and for restarting by patch; none for ControllerRevisions, and none on Leases of the whole cluster",
      },
    ],
  },
];

test("the list is whole", () => {
  expect(defects.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
});

test.each(defects)("defect $number: $defect", expectProven);
